"""What holds for every question to a session: it is asked where the session was opened, and its error says its cost."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from types import TracebackType
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, Self, TypeVar, cast

from discreet.errors import BudgetExceeded, InvalidParameter, SessionError, tell
from discreet.ledger import Charge, Ledger, Loss

if TYPE_CHECKING:
    from discreet.sql.plan.plan import Plan

P = ParamSpec("P")
R = TypeVar("R")
RECENT = 256
"""Among so many of the newest entries a charge is looked for that was interrupted."""


SLACK = 1 << 18
"""Bytes for what is kept beside the integers of an answer."""


def size_of(plan: Plan) -> int:
    """About how many bytes the ledger keeps of an answer: its integers, and the answer with its intervals."""
    integers = sum(one.cells * sum(m.entries for m in one.measures) for one in plan.releases)
    shown = sum(one.cells * (len(one.keys) + 3 * len(one.aggregates)) for one in plan.releases)
    return SLACK + 8 * integers + 16 * shown


class Opened(Protocol):
    """What belongs to one process."""

    _process: int


S = TypeVar("S", bound=Opened)


class Bill:
    """What one question has cost so far.

    Attributes:
        loss: what was charged, exact; None before the charge.
    """

    def __init__(self) -> None:
        self.loss: Loss | None = None
        self._unsure: tuple[Ledger, str, Loss, dt.datetime] | None = None

    def charge(self, ledger: Ledger, question: str, loss: Loss, charge: Callable[[], Charge]) -> Charge:
        """Charge, and note it; whatever interrupts it, the bill is known afterwards."""
        self._unsure = ledger, question, loss.rounded_up(), dt.datetime.now(dt.UTC)
        receipt = charge()
        self.loss, self._unsure = receipt.loss, None
        return receipt

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            return
        if self.loss is None and not isinstance(error, BudgetExceeded | InvalidParameter):
            self.loss = self._looked_up()
        tell(error, self.loss)

    def _looked_up(self) -> Loss | None:
        """What an interrupted charge has charged: the ledger knows it; where it cannot be read, it counts."""
        if self._unsure is None:
            return None
        ledger, question, loss, since = self._unsure
        try:
            newest = ledger.newest(RECENT)
        except Exception:
            return loss
        mine = (e for e in newest if e.kind == "charge" and e.question == question and e.time >= since)
        return loss if next(mine, None) is not None else None


_bill: ContextVar[Bill | None] = ContextVar("discreet_bill", default=None)


def bill() -> Bill:
    """The bill of the question that is being asked."""
    found = _bill.get()
    assert found is not None, "a charge outside of a question"
    return found


def asked(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Make a method of a session a question: refused in another process, and an error of it says what was charged."""

    @wraps(method)
    def asking(self: S, *args: P.args, **kwargs: P.kwargs) -> R:
        with Bill() as own:
            see_process(self._process)
            token = _bill.set(own)
            try:
                return method(self, *args, **kwargs)
            finally:
                _bill.reset(token)

    return cast("Callable[Concatenate[S, P], R]", asking)


def see_process(process: int) -> None:
    """See that this is the process that opened the session.

    A fork copies the engine without its threads, so a query would never end; and a server's connection would be
    used by two.

    Raises:
        SessionError: it is another one. Nothing is touched.
    """
    if os.getpid() != process:
        raise SessionError(
            "This session was opened in another process, and cannot be used after a fork.",
            "Call protect(…) in this process, with the same ledger: the budget is shared through it.",
        )


def no_pickle() -> SessionError:
    """The error for a session that is pickled or copied."""
    return SessionError(
        "A session cannot be pickled, copied or sent to another process.",
        "Call protect(…) where it is needed, with the same ledger: the budget is shared through it.",
    )
