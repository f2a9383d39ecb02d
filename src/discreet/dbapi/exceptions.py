"""The exceptions of PEP 249. Each keeps the error of discreet that it stands for, with its fix and its charge."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from discreet import errors
from discreet.errors import DiscreetError, Spent


class Warning(Exception):  # noqa: A001 - the name that PEP 249 gives it
    """PEP 249 asks for it; nothing raises it."""


class Error(Exception):
    """The base of all errors here.

    Attributes:
        error: the error of discreet, or None where a cursor or a connection was used wrongly.
    """

    error: DiscreetError | None = None

    @property
    def charged(self) -> Spent | None:
        """The loss that stays charged for the question that failed; None when nothing was charged."""
        return None if self.error is None else self.error.charged


class InterfaceError(Error):
    """A connection or a cursor was used wrongly."""


class DatabaseError(Error):
    """The base of errors of questions."""


class DataError(DatabaseError):
    """The post-processing of the noisy tables failed; the charge stays."""


class OperationalError(DatabaseError):
    """The budget, the ledger, the engine, the source or the server does not allow an answer."""


class IntegrityError(DatabaseError):
    """PEP 249 asks for it; nothing raises it."""


class InternalError(DatabaseError):
    """An error that none of the others stands for."""


class ProgrammingError(DatabaseError):
    """The question, a parameter or the policy is wrong."""


class NotSupportedError(DatabaseError):
    """Something that PEP 249 has and a private answer has not."""


_KINDS: tuple[tuple[tuple[type[DiscreetError], ...], type[DatabaseError]], ...] = (
    ((errors.QueryRefused, errors.InvalidParameter, errors.PolicyError), ProgrammingError),
    ((errors.PostProcessingError,), DataError),
    (
        (errors.BudgetExceeded, errors.EngineError, errors.LedgerError, errors.NodeError, errors.ServerError,
         errors.SessionError, errors.SourceError),
        OperationalError,
    ),
)  # fmt: skip


def kind_of(error: DiscreetError) -> type[DatabaseError]:
    """The class of PEP 249 for an error.

    Example:
        >>> kind_of(errors.BudgetExceeded("the data set", "1", "0")).__name__
        'OperationalError'
    """
    return next((kind for ours, kind in _KINDS if isinstance(error, ours)), InternalError)


@contextmanager
def translated() -> Iterator[None]:
    """Raise the errors of discreet as those of PEP 249.

    Each holds ours as `error`. The way that ours came is left out of the traceback, but for faults of discreet itself:
    pandas and SQLAlchemy print all of it, sixty lines before the one that says the fix.
    """
    try:
        yield
    except DiscreetError as error:
        said = kind_of(error)(str(error))
        said.error = error
        raise said from (error if isinstance(said, InternalError) else None)
