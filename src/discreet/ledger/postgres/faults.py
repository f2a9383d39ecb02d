"""The words for the errors of PostgreSQL; its own words are withheld, for they may quote an answer."""

from __future__ import annotations

from discreet.errors import LedgerError
from discreet.ledger.faults import DiskFullError, busy


def explain(error: Exception, where: str) -> LedgerError:
    """Translate an error of the database."""
    code = str(getattr(error, "sqlstate", None) or "")
    if code == "55P03":
        return busy(where)
    for prefix, kind, cause, fix in _CAUSES:
        if code.startswith(prefix):
            return kind(f"The ledger at {where} {cause}.", fix)
    return LedgerError(
        f"The ledger at {where} cannot be read or written ({code or type(error).__name__}).",
        "Check the server and its log.",
    )


_CAUSES: tuple[tuple[str, type[LedgerError], str, str], ...] = (
    ("53100", DiskFullError, "cannot grow: the disk of the server is full", "Free some space and ask again."),
    ("53", LedgerError, "finds its server without connections or memory", "Ask again later."),
    (
        "25006",
        LedgerError,
        "is read-only: the server is a standby, or the user may only read",
        "Name the primary server.",
    ),
    (
        "42501",
        LedgerError,
        "may not be written by this user, or not made",
        "Grant INSERT on its tables and UPDATE on its head; the first start and each new version need the owner.",
    ),
    ("42P01", LedgerError, "is not there", "Check the database and the schema behind #."),
    ("23", LedgerError, "refused a row that would change or skip an earlier one", "Open the ledger again."),
)
