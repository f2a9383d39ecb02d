"""Where a table comes from, and whether it is still the same data."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

from discreet.engines.schema import Type
from discreet.records import dataclass, field

NO_TYPES: Mapping[str, Type] = MappingProxyType({})


@dataclass(frozen=True)
class Origin:
    """Where a table comes from.

    Attributes:
        relation: the SQL after FROM.
        version: returns a text that changes when the data may have changed; reads no data.
        paths: the files that queries read.
        keep: Python objects that the relation points into.
        twins: names, in lower case, that several columns of the source have but for case.
        files: where the data lies on disk, with the files that a database keeps beside itself.
        pattern: the pattern, or the folder with `**`, when more files of it would be read once they are there.
        csv: whether it was a CSV file or a frame of pandas, whose types are the policy's.
        parquet: the Parquet files that are the table.
        rows: how many rows it has, where it lies in memory and never changes; else None.
        required: the columns in which DuckDB stores no NULL.
    """

    relation: str
    version: Callable[[], str]
    paths: Sequence[str] = ()
    keep: tuple[object, ...] = field(default=(), repr=False)
    twins: frozenset[str] = frozenset()
    files: tuple[str, ...] = ()
    pattern: str = ""
    csv: bool = False
    parquet: Sequence[str] = ()
    rows: int | None = None
    required: frozenset[str] = frozenset()

    @property
    def may_collate(self) -> bool:
        """Whether it is of a database; files and frames have no collations, and opening them need not look."""
        return not (self.csv or self.parquet or self.rows is not None)


def frozen_version() -> Callable[[], str]:
    """Return the version of data that lives in memory: a random token, the same until it is opened again."""
    token = secrets.token_hex(16)
    return lambda: token


def file_version(paths: Sequence[str]) -> str:
    """Hash the place, size, time of change and inode of files; a file that is missing counts as such."""
    states = []
    for path in paths:
        try:
            stat = os.stat(path)
            states.append((path, stat.st_size, stat.st_mtime_ns, stat.st_ino))
        except OSError:
            states.append((path, -1, -1, -1))
    return _digest(tuple(states))


@lru_cache(64)
def _digest(states: tuple[tuple[str, int, int, int], ...]) -> str:
    digest = hashlib.sha256()
    for state in states:
        digest.update(repr(state).encode())
    return digest.hexdigest()
