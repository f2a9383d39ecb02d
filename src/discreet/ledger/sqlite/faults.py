"""The words for the errors of a database; its own words are withheld, for they may quote an answer."""

from __future__ import annotations

import errno

from discreet.errors import LedgerCorrupt, LedgerError
from discreet.ledger.faults import DiskFullError


def explain(error: Exception, where: str) -> LedgerError:
    """Translate an error of the database or the operating system."""
    code = code_of(error)
    for prefix, kind, cause, fix in _CAUSES:
        if code.startswith(prefix):
            return kind(f"The ledger at {where} {cause}.", fix)
    return LedgerError(
        f"The ledger at {where} cannot be read or written ({code or type(error).__name__}).",
        "Check the file, its folder and its disk.",
    )


_CAUSES: tuple[tuple[str, type[LedgerError], str, str], ...] = (
    ("SQLITE_BUSY", LedgerError, "is busy: others have been writing to it for too long", "Ask again later."),
    ("SQLITE_FULL", DiskFullError, "cannot grow: the disk is full", "Free some space and ask again."),
    (
        "SQLITE_READONLY",
        LedgerError,
        "is read-only",
        "Allow writing to the file and to its folder, or choose another place.",
    ),
    (
        "SQLITE_CANTOPEN",
        LedgerError,
        "cannot be opened",
        "Give the path of a file in a folder that exists and may be written to.",
    ),
    (
        "SQLITE_NOTADB",
        LedgerError,
        "is a file of another kind",
        "Give the path of a ledger or of a new file.",
    ),
    ("SQLITE_CORRUPT", LedgerCorrupt, "is damaged as a file", "Restore it from a backup."),
    (
        "SQLITE_CONSTRAINT",
        LedgerError,
        "refused a row that would change or skip an earlier one",
        "Open the ledger again.",
    ),
    (
        "SQLITE_IOERR",
        LedgerError,
        "met an error of its disk or a quota",
        "Check the disk and its free space.",
    ),
)


def code_of(error: Exception) -> str:
    """SQLite's name for an error, such as SQLITE_BUSY; empty when it has none."""
    if isinstance(error, OSError):
        return {"EROFS": "SQLITE_READONLY", "ENOSPC": "SQLITE_FULL", "EDQUOT": "SQLITE_FULL"}.get(
            errno.errorcode.get(error.errno or 0, ""), "SQLITE_CANTOPEN"
        )
    if isinstance(error, UnicodeDecodeError):
        return "SQLITE_CORRUPT"
    return str(getattr(error, "sqlite_errorname", ""))
