"""Which files an answer may never replace: the data, the ledger, and the files beside them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from fnmatch import fnmatch
from glob import has_magic
from pathlib import Path

from discreet.engines.engine import Engine
from discreet.errors import InvalidParameter
from discreet.ledger import Ledger
from discreet.records import dataclass


@dataclass(frozen=True)
class ProtectedFiles:
    """The files of a session.

    Attributes:
        sources: the files of its tables, private and public.
        patterns: other files that would be read as data once they are there; `**` is a folder with all beneath it.
        ledgers: where its budget is kept; files of the same beginning in the same folder belong to it.
    """

    sources: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    ledgers: tuple[str, ...] = ()

    def see_free(self, path: str | os.PathLike[str]) -> None:
        """See that a file may be written there, by whichever name it is reached.

        Raises:
            InvalidParameter: it is a file of the data or of the ledger, also by a link, or would become one.
        """
        there = _real(path)
        if any(_same(path, other) for other in self.sources):
            raise InvalidParameter(
                f"{os.fspath(path)} is the data, or a link to it.", "Give the answer another name."
            )
        if any(_matches(there, pattern) for pattern in self.patterns):
            raise InvalidParameter(
                f"{os.fspath(path)} would become a part of the data, which is read by a pattern.",
                "Write the answer into another folder.",
            )
        if any(_beside(path, ledger) for ledger in self.ledgers):
            raise InvalidParameter(
                f"{os.fspath(path)} belongs to the ledger, or is a link to it.",
                "Give the answer another name.",
            )


def files_of(engine: Engine, ledger: Ledger) -> ProtectedFiles:
    """The files of an engine and a ledger; one in memory has none."""
    files, patterns = getattr(engine, "files", ()), getattr(engine, "patterns", ())
    return ProtectedFiles(
        tuple(files), tuple(patterns), (ledger.where,) if os.path.isabs(ledger.where) else ()
    )


def _real(path: str | os.PathLike[str]) -> Path:
    return Path(os.path.realpath(path))


def _same(path: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Whether two names are those of one file, by symbolic links, hard links or another case of letters."""
    try:
        return os.path.samefile(path, other)
    except OSError:
        return _real(path) == _real(other)


def _matches(path: Path, pattern: str) -> bool:
    """Whether a file would be read by a pattern of Parquet files."""
    fixed = Path(pattern)
    while has_magic(str(fixed)):
        fixed = fixed.parent
    if "**" in pattern:
        return path.is_relative_to(_real(fixed)) and path.suffix.lower() in (".parquet", ".pq")
    parts = Path(pattern).parts[len(fixed.parts) :]
    return len(path.parts) == len(_real(fixed).parts) + len(parts) and all(
        fnmatch(part, other) for part, other in zip(path.parts, (*_real(fixed).parts, *parts), strict=True)
    )


def _beside(path: str | os.PathLike[str], ledger: str) -> bool:
    """Whether a name is the ledger or a file that goes with it, such as its journal."""
    if _same(path, ledger):
        return True
    real, own = _real(path), _real(ledger)
    if real.parent == own.parent and real.name.startswith(own.name):
        return True
    return any(_same(path, sibling) for sibling in _siblings(own))


def _siblings(own: Path) -> Iterable[Path]:
    try:
        return [sibling for sibling in own.parent.iterdir() if sibling.name.startswith(own.name)]
    except OSError:
        return []
