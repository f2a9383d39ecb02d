"""The faults that every store of a ledger can meet."""

from __future__ import annotations

from discreet.errors import LedgerError


class DiskFullError(LedgerError):
    """Nothing was written, for the disk is full."""


def busy(where: str) -> LedgerError:
    """Make the error of a thread that waited too long for another one."""
    return LedgerError(f"The ledger at {where} is busy in another thread.", "Ask again later.")
