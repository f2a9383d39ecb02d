"""The errors of a connection: SQLSTATE of each, and the ends that a client brings about."""

from __future__ import annotations

from discreet.errors import (
    BudgetExceeded,
    Busy,
    DiscreetError,
    EngineError,
    InvalidParameter,
    LedgerError,
    NotAllowed,
    PolicyError,
    PostProcessingError,
    QueryRefused,
    SessionError,
    SourceError,
    TimedOut,
    Unavailable,
)

STATES: tuple[tuple[type[DiscreetError], str], ...] = (
    (BudgetExceeded, "53400"), (Busy, "53300"), (TimedOut, "57014"), (NotAllowed, "42501"), (InvalidParameter, "22023"),
    (Unavailable, "53000"), (QueryRefused, "42000"), (PostProcessingError, "22000"), (EngineError, "58000"),
    (LedgerError, "58030"), (SourceError, "58000"), (PolicyError, "55000"), (SessionError, "55000"),
    (DiscreetError, "XX000"),
)  # fmt: skip
"""SQLSTATE by the first class that an error is of."""


def state_of(error: DiscreetError) -> str:
    """SQLSTATE of an error.

    Example:
        >>> state_of(BudgetExceeded("the data set", "1", "0")), state_of(QueryRefused("No."))
        ('53400', '42000')
    """
    return next(code for kind, code in STATES if isinstance(error, kind))


class Ended(Exception):
    """The connection is over, without a word."""


class Refused(Exception):
    """The connection is over, for a reason that is told.

    Args:
        state: SQLSTATE.
        cause: the reason.
        hint: the remedy.
    """

    def __init__(self, state: str, cause: str, hint: str = "") -> None:
        super().__init__(cause)
        self.state, self.hint = state, hint
