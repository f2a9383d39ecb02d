"""Rows of small files that stay in memory while their files are the same.

To read a small file takes DuckDB longer than to count its rows. A file is the same where device, inode, size, time of
writing and time of change are, which are looked at for each query. Times have steps, so that two writes within one step
look alike: rows are kept only of a file that has looked the same here for some seconds, both before and after it was
read. A later write then has a later time.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Final, TypeAlias

from discreet.records import dataclass, field

if TYPE_CHECKING:
    import pyarrow as pa

SETTLED = 3.0
"""Seconds for which a file must have looked the same; the coarsest steps of file systems are of two."""
MOST_BYTES = 1 << 24
"""The most that all kept rows of an engine may take in memory."""

State: TypeAlias = tuple[tuple[int, ...], ...]
"""Of the files of a table, the facts by which a change is told."""


@dataclass
class _KeptTable:
    """A table in one state of its files.

    Attributes:
        state: of the files.
        since: when this state was first seen.
        rows: by the columns that were read.
    """

    state: State
    since: float
    rows: dict[tuple[str, ...], pa.Table] = field(default_factory=dict)


class KeptRows:
    """The rows that the connections of one engine keep. It may be asked from several threads.

    Args:
        files: of each table, by its name in lower case; empty for one whose rows are never kept.
        clock: seconds that never go back.
    """

    def __init__(self, files: Mapping[str, Sequence[str]], clock: Callable[[], float] = monotonic) -> None:
        self._files: Final = files
        self._clock: Final = clock
        self._lock: Final = threading.Lock()
        self._known: dict[str, _KeptTable] = {}

    def state(self, table: str) -> State | None:
        """The present state of the files of a table; None where there are none, or one has gone."""
        found = []
        try:
            for path in self._files.get(table, ()):
                status = os.stat(path)
                found.append(
                    (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
                )
        except OSError:
            return None
        return tuple(found) or None

    def find(self, table: str, state: State | None, columns: Sequence[str]) -> pa.Table | None:
        """The rows of a table in some columns and this state of its files; None where they are not kept."""
        if state is None:
            return None
        with self._lock:
            known = self._known.get(table)
            if known is None or known.state != state:
                self._known[table] = _KeptTable(state, self._clock())
                return None
            return known.rows.get(tuple(columns))

    def settled(self, table: str, state: State | None) -> bool:
        """Whether the files have been in a state for so long that a later write has a later time."""
        with self._lock:
            known = self._known.get(table)
            return known is not None and known.state == state and self._clock() - known.since >= SETTLED

    def keep(self, table: str, state: State | None, columns: Sequence[str], rows: pa.Table) -> None:
        """Keep rows that were read after the files were seen in a state, if they still are in it.

        Args:
            table: whose they are.
            state: the one before they were read, for which `find` was asked, and which was `settled` then.
            columns: that were read.
            rows: of them.
        """
        if state is None or self.state(table) != state:
            return
        with self._lock:
            known = self._known.get(table)
            if known is None or known.state != state:
                return
            taken = sum(entry.nbytes for each in self._known.values() for entry in each.rows.values())
            if taken + rows.nbytes <= MOST_BYTES:
                known.rows[tuple(columns)] = rows
