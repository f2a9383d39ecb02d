"""Where the ledger of a data set lies when nobody says: one place for one data set, however its name is spelled.

A file is known by its real path, so that a symlink, `PARQUET:`, `./` and a trailing slash change nothing. A folder of
Parquet files is one data set, and so is a glob over several of its files; one of its files asked alone is charged to
the folder's ledger where there is one, as its people are in both. A database is known by the place that its engine
names. Hard links, copies, and a file that is renamed are other data sets to this rule.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from glob import glob
from pathlib import Path

from discreet.engines.engine import Engine
from discreet.errors import LedgerError

_SCHEME = re.compile(r"(?:parquet|csv|duckdb):(?://)?", re.IGNORECASE)
SUFFIX = ".ledger.db"


def beside_policy(path: Path) -> Path:
    """The ledger of a policy file."""
    return Path(os.path.realpath(path)).with_suffix(SUFFIX)


def beside(source: object, engine: Engine, private: Sequence[str]) -> Path | None:
    """The place of the ledger beside a data file; for a database in the user's own folder; None for data in memory.

    Args:
        source: the one given to `protect`.
        engine: that opened it.
        private: the names of the private tables, whose sources decide where several are given.

    Raises:
        LedgerError: ledgers of parts of this data set, or of an earlier spelling, are there, and none of the whole.
    """
    place = getattr(engine, "place", "")
    if place is None:
        return None
    if place:
        state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
        folder = state / "discreet"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{hashlib.sha256(place.encode()).hexdigest()[:32]}{SUFFIX}"
    if isinstance(source, Mapping):
        named = {str(name).lower() for name in private}
        own = [table for name, table in source.items() if str(name).lower() in named]
        places = sorted({p for table in own or source.values() if (p := _of_file(table)) is not None})
        return places[0] if places else None
    return _of_file(source)


def _of_file(source: object) -> Path | None:
    if not isinstance(source, str | os.PathLike):
        return None
    text = os.fspath(source)
    path = os.path.expanduser(_SCHEME.sub("", text, count=1) if isinstance(text, str) else text)
    if "#" in path and not os.path.exists(path):
        path = path.rpartition("#")[0]
    found = _whole(path)
    old = Path(f"{path.partition('#')[0].replace('*', 'all').rstrip('/')}{SUFFIX}")
    if not found.exists() and old.exists():
        raise LedgerError(
            f"There is a ledger {old} of another spelling of this data set, and none at {found}.",
            f"Name it: ledger={str(old)!r}.",
        )
    return found


def _whole(path: str) -> Path:
    """The ledger of a file, a folder or a glob."""
    files = (
        sorted({os.path.realpath(file) for file in glob(path, recursive=True)})
        if not os.path.exists(path)
        else []
    )
    if os.path.isdir(path):
        return _of_folder(os.path.realpath(path), None)
    if len(files) > 1:
        return _of_folder(os.path.commonpath([os.path.dirname(file) for file in files]), files)
    single = files[0] if files else os.path.realpath(path)
    if os.path.isdir(single):
        return _of_folder(single, None)
    folder = Path(f"{os.path.dirname(single)}{SUFFIX}")
    return folder if folder.exists() else Path(f"{single}{SUFFIX}")


def _of_folder(folder: str, files: Sequence[str] | None) -> Path:
    """The ledger of many files; one of a part of them would have to be counted too."""
    whole = Path(f"{folder}{SUFFIX}")
    if whole.exists():
        return whole
    if files is None:
        files = [os.path.join(parent, name) for parent, _, names in os.walk(folder) for name in names]
    parts = [
        f"{file}{SUFFIX}" for file in files if not file.endswith(SUFFIX) and os.path.exists(f"{file}{SUFFIX}")
    ]
    if parts:
        raise LedgerError(
            f"A part of this data set has a ledger of its own, {parts[0]}, and the whole has none.",
            f"Name it, so that its charges count: ledger={parts[0]!r}.",
        )
    return whole
