"""Every error a user can meet.

All derive from `DiscreetError`. A message names the cause and the fix, one sentence each, and never
holds a value of the data: an error may depend on the question and the policy only.

The cost of a question is part of its error: `charged` is the exact loss that stays charged, or None, and it is printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from discreet.escaping import prose


class Spent(Protocol):
    """A loss that stays charged: exact rationals, as text too (`accounting.Loss`)."""

    @property
    def epsilon(self) -> object:
        """The epsilon."""

    @property
    def delta(self) -> object:
        """The delta."""


NOTHING = "Nothing was charged."


def charged_words(spent: Spent | None) -> str:
    """Name the loss that stays charged.

    Example:
        >>> charged_words(None)
        'Nothing was charged.'
    """
    return NOTHING if spent is None else f"Charged: {spent}. It stays charged."


def tell(error: BaseException, spent: Spent | None) -> None:
    """Put the cost of its question on an error, ours or any other; the first call counts."""
    if getattr(error, "told", False):
        return
    error.told, error.charged = True, spent  # type: ignore[attr-defined]
    if not isinstance(error, DiscreetError):
        error.add_note(charged_words(spent))


class DiscreetError(Exception):
    """The root of every error that discreet raises on purpose.

    Attributes:
        cause: the fault, in one sentence.
        fix: the remedy, in one sentence; may be empty.
        charged: the loss that stays charged for the question that failed; None when nothing was charged.
        told: whether it comes from a question, so that the text names the charge.

    Example:
        >>> str(DiscreetError("The budget is not a number.", "Write budget = 3."))
        'The budget is not a number. Write budget = 3.'
    """

    def __init__(self, cause: str, fix: str = "") -> None:
        cause, fix = prose(cause), prose(fix)
        super().__init__(f"{cause} {fix}".strip())
        self.cause = cause
        self.fix = fix
        self.charged: Spent | None = None
        self.told = False

    @property
    def text(self) -> str:
        """Cause and fix, without the cost."""
        return str(self.args[0])

    def __str__(self) -> str:
        """Cause, fix and, of a question, the cost."""
        return f"{self.text} {charged_words(self.charged)}" if self.told else self.text

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel between processes with everything that is known, for a constructor with any arguments."""
        return _again, (type(self), self.args, self.__dict__)

    def _render_traceback_(self) -> list[str]:
        """The text that a notebook shows instead of a traceback: the words of the error and its notes."""
        said = [f"{type(self).__name__}: {self}", *getattr(self, "__notes__", ())]
        return prose("\n".join(said)).split("\n")


def _again(kind: type[DiscreetError], args: tuple[Any, ...], known: dict[str, Any]) -> DiscreetError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(known)
    return error


class InvalidParameter(DiscreetError, ValueError):
    """A parameter is of the wrong type or outside its range: epsilon 0, a NaN, a scale beyond 2^56."""


class NotInAnswer(InvalidParameter, KeyError, IndexError):
    """An answer has no such column or row."""


class Exhausted(DiscreetError):
    """A run of a mechanism has given all the answers that its epsilon buys. Nothing more was released."""


class UnsupportedEvent(DiscreetError, ValueError):
    """An accountant cannot price this release: it knows no bound for it, or not for these neighbours."""


class EntropyError(DiscreetError, RuntimeError):
    """The operating system gave no randomness. Nothing was released."""


class PolicyError(DiscreetError, ValueError):
    """The policy is incomplete or contradicts itself or the schema of the data.

    Attributes:
        key: the dotted key of the policy at fault, such as `tables.visits.max_rows`; may be empty.
    """

    def __init__(self, cause: str, fix: str = "", *, key: str = "") -> None:
        super().__init__(f"{key}: {cause}" if key else cause, fix)
        self.key = key


class MissingExtra(DiscreetError, ImportError):
    """A library of an optional extra is not installed."""


class SourceError(DiscreetError):
    """The data source cannot be opened, or is of a kind that is not supported."""


class StreamError(DiscreetError):
    """A stream cannot go on: its state or its input is not the one that it had."""


class QueryRefused(DiscreetError, ValueError):
    """The query cannot be answered with a privacy guarantee. It cost nothing and read no private data.

    Attributes:
        reason: the cause, under a second name.
        place: the part of the query that is at fault; may be empty.
        line: 1-based line of the place; 0 when unknown.
        column: 1-based column of the place; 0 when unknown.
        picture: the line of the query with a caret under the place; may be empty.
    """

    def __init__(
        self, cause: str, fix: str = "", *, place: str = "", line: int = 0, column: int = 0, picture: str = ""
    ) -> None:
        super().__init__(cause, fix)
        picture = prose(picture)
        if picture:
            self.args = (f"{self.cause}\n{picture}\n{self.fix}".rstrip(),)
        self.reason = self.cause
        self.place = place
        self.line = line
        self.column = column
        self.picture = picture


class NodeError(DiscreetError, RuntimeError):
    """A node of a federation could not answer, or refused, so there is no combined answer.

    Attributes:
        nodes: the errors of the nodes that failed, by name.
        paid: the losses that stay charged, by the name of the node; `charged` is the largest of them, as each person is
            in one node.
    """

    def __init__(
        self,
        cause: str,
        fix: str = "",
        *,
        nodes: Mapping[str, Exception] | None = None,
        paid: Mapping[str, Spent] | None = None,
    ) -> None:
        super().__init__(cause, fix)
        self.nodes = dict(nodes or {})
        self.paid = dict(paid or {})


class EngineError(DiscreetError, RuntimeError):
    """The engine failed or was interrupted after the charge. The charge stays; no answer was given.

    The engine's own message is withheld, because it may quote a data value.
    """


class PostProcessingError(DiscreetError, RuntimeError):
    """SQL above the noisy tables failed. The charge stays; the message speaks of released numbers only."""


class SessionError(DiscreetError, RuntimeError):
    """The session cannot be used here: in another process than the one that opened it. Nothing was charged."""


class ServerError(DiscreetError, RuntimeError):
    """A server could not be reached, or gave no answer that can be read.

    Where a question was on its way, `charged` is not known: ask the same again, and it is free if it was answered.
    """


class NotAllowed(ServerError):
    """A server refused the token, or the token does not allow this. Nothing was charged."""


class Busy(ServerError):
    """A server has too much to do, or was asked too often. Nothing was charged."""


class Unavailable(ServerError):
    """A server's machine gives it no further process, so that nothing above the noise can be evaluated.

    Where a question was charged before, its noisy numbers are kept: the same again is free.
    """


class TimedOut(ServerError):
    """A question took longer than the server allows. It goes on there, and its charge stays.

    Once its answer is there, the same question is answered for nothing.
    """


class LedgerError(DiscreetError, RuntimeError):
    """The ledger cannot be read or written, so nothing may be answered.

    Before the charge no data was touched. When the ledger fails as the answer is settled, the charge stays and the
    answer is lost; `charged` tells the two apart.

    Attributes:
        unwritten: whether it is certain that nothing was written by the transaction that failed.
    """

    unwritten = False


class LedgerCorrupt(LedgerError):
    """The chain of the ledger is broken: an entry was altered, removed or reordered."""


class BudgetExceeded(DiscreetError):
    """The charge would overdraw a budget. It was not charged, and no data was touched.

    Attributes:
        account: which budget refused, such as `data set` or `analyst ana`.
        asked: the loss that was asked for, as text.
        left: the loss that is left in that account, as text.
    """

    def __init__(self, account: str, asked: str, left: str, fix: str = "") -> None:
        super().__init__(
            f"The budget of {account} has epsilon {left} left, and this asks for {asked}.",
            fix or "Ask with a smaller epsilon, or ask the steward for a larger budget.",
        )
        self.account = account
        self.asked = asked
        self.left = left
