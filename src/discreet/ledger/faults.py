"""The faults that every store of a ledger can meet."""

from __future__ import annotations

from discreet.errors import LedgerError


class DiskFullError(LedgerError):
    """Nothing was written, for the disk is full."""


def busy(where: str) -> LedgerError:
    """Make the error of a thread that waited too long for another one, of this process or another."""
    return LedgerError(f"The ledger at {where} is busy in another thread or process.", "Ask again later.")


def read_only(where: str, fix: str) -> LedgerError:
    """Make the error of a charge on a ledger that can only be read; nothing of it was written.

    Args:
        where: the ledger, and for whom.
        fix: how one writes it.
    """
    return unwritten(
        f"The ledger at {where}: nothing new can be charged, and settled answers are given again.", fix
    )


def unwritten(cause: str, fix: str) -> LedgerError:
    """Make the error of work of which certainly nothing was written."""
    problem = LedgerError(cause, fix)
    problem.unwritten = True
    return problem


class SettledElsewhere(Exception):
    """A question that was to be charged has an answer already; nothing was charged. The gate shows that answer."""


class UnknownOutcome(LedgerError):
    """A commit was lost from sight: it may stand, and counts as if it did."""

    def __init__(self, where: str) -> None:
        super().__init__(
            f"The connection to the ledger at {where} was lost in the middle of a commit, and did not come back in "
            "time. Its entry may stand, and a charge counts.",
            "Ask the same question again later: a settled answer is free.",
        )
