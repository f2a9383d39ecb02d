"""Errors as answers: a status, and a body that says nothing that the caller may not know.

After the charge the body is fixed for each kind of error, and so is that of each error that could name a path or a
place of the steward's. Before the charge an error speaks of the question and the policy alone.
"""

from __future__ import annotations

from typing import Any

from discreet.client import wire
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
    ServerError,
    SessionError,
    SourceError,
    TimedOut,
    Unavailable,
    tell,
)


class NotSignedIn(NotAllowed):
    """There is no valid token."""


class NotThere(NotAllowed):
    """There is nothing at this address, or nothing for this caller."""


STATUS: tuple[tuple[type[DiscreetError], int], ...] = (
    (NotSignedIn, 401),
    (NotThere, 404),
    (NotAllowed, 403),
    (TimedOut, 504),
    (Busy, 429),
    (Unavailable, 503),
    (BudgetExceeded, 409),
    (PolicyError, 409),
    (QueryRefused, 422),
    (InvalidParameter, 422),
    (EngineError, 502),
    (PostProcessingError, 502),
    (LedgerError, 503),
    (SourceError, 503),
    (SessionError, 503),
    (ServerError, 500),
    (DiscreetError, 500),
)
"""The first class that an error is of decides its status."""
_FIXED: tuple[tuple[type[DiscreetError], type[DiscreetError], str, str], ...] = (
    (EngineError, EngineError, "The engine failed.", "Ask the same question again, or tell the steward."),
    (
        PostProcessingError,
        PostProcessingError,
        "The part of the question above its noisy tables failed.",
        "Write it more simply: the same aggregates for the same epsilon are answered again for nothing.",
    ),
    (
        Unavailable,
        Unavailable,
        "The service can begin no process that would evaluate the question.",
        "Ask the same again in a while, or tell the steward.",
    ),
    (LedgerError, LedgerError, "The ledger cannot be used.", "Tell the steward: nothing can be answered."),
    (SourceError, SourceError, "The data cannot be read.", "Tell the steward."),
    (
        PolicyError,
        PolicyError,
        "The policy has changed so that earlier charges cannot be counted under it.",
        "Tell the steward.",
    ),
)
UNEXPECTED = ServerError("The service failed.", "Tell the steward; its log names the kind of the error.")
"""The body of every error that nobody foresaw."""


def not_there() -> NotThere:
    """The error for an address, a data set or an answer that is not there, or not for this caller: one for all."""
    return NotThere("There is nothing here for you.", "Look at the list of your data sets.")


def told(error: BaseException) -> DiscreetError:
    """The error that a caller is told: of fixed words after the charge, and where it could name a place.

    Args:
        error: any, as a session raised it.
    """
    if isinstance(error, TimedOut):  # the service's own words
        return error
    charged = getattr(error, "charged", None)
    spoken = isinstance(error, BudgetExceeded | QueryRefused | InvalidParameter | ServerError)
    if isinstance(error, DiscreetError) and spoken and charged is None:
        return error
    fixed: DiscreetError = ServerError(UNEXPECTED.cause, UNEXPECTED.fix)
    for kind, shown, cause, fix in _FIXED:
        if isinstance(error, kind):
            fixed = shown(cause, fix)
            break
    tell(fixed, charged)
    return fixed


def status(error: DiscreetError) -> int:
    """The status of an answer that says this error.

    Example:
        >>> status(BudgetExceeded("the data set", "1", "0")), status(EngineError("The engine failed."))
        (409, 502)
    """
    return next(code for kind, code in STATUS if isinstance(error, kind))


def body(error: DiscreetError) -> dict[str, Any]:
    """The body of such an answer; the classes of the service go by the names that clients know."""
    said = wire.of_error(error)
    if isinstance(error, NotSignedIn | NotThere):
        said["error"] = "NotAllowed"
    return said
