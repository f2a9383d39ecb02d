"""The cost of one question so far, so that its errors can say it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Self

from discreet.errors import BudgetExceeded, InvalidParameter, LedgerCorrupt, LedgerError, tell
from discreet.ledger import Charge, Ledger, Loss
from discreet.ledger.faults import SettledElsewhere, UnknownOutcome

RECENT = 256
"""Among so many of the newest entries a charge is looked for that was interrupted."""


class Bill:
    """The cost of one question so far.

    Attributes:
        loss: the loss charged, exact; None before the charge.
        charged: when it was charged last; None before.
    """

    def __init__(self) -> None:
        self.loss: Loss | None = None
        self.charged: dt.datetime | None = None
        self._unsure: tuple[Ledger, str, Loss, dt.datetime] | None = None

    def charge(self, ledger: Ledger, question: str, loss: Loss, charge: Callable[[], Charge]) -> Charge:
        """Charge, and note it; the bill is known afterwards, even if anything interrupts the charge."""
        self._unsure = ledger, question, loss.rounded_up(), dt.datetime.now(dt.UTC)
        try:
            receipt = charge()
        except LedgerError as error:
            if error.unwritten:
                self._unsure = None
            raise
        except SettledElsewhere:
            self._unsure = None
            raise
        self._unsure = None
        self.charged = dt.datetime.now(dt.UTC)
        self.add(receipt.loss)
        return receipt

    def add(self, loss: Loss) -> None:
        """Note the cost of a part of the question."""
        self.loss = loss if self.loss is None else self.loss + loss

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            return
        if self.loss is None and not isinstance(error, BudgetExceeded | InvalidParameter):
            self.loss = self._looked_up(error)
        tell(error, self.loss)

    def _looked_up(self, error: BaseException) -> Loss | None:
        """The loss that an interrupted charge has charged: the ledger knows it; where it cannot be read, it counts."""
        if self._unsure is None:
            return None
        ledger, question, loss, since = self._unsure
        if isinstance(error, UnknownOutcome):
            return loss
        if isinstance(error, LedgerCorrupt):
            return None  # found before the commit, and all of the charge's transaction is undone
        try:
            newest = ledger.newest(RECENT)
        except Exception:
            return loss
        mine = (e for e in newest if e.kind == "charge" and e.question == question and e.time >= since)
        return loss if next(mine, None) is not None else None


_bill: ContextVar[Bill | None] = ContextVar("discreet_bill", default=None)


@contextmanager
def billed(bill: Bill) -> Iterator[None]:
    """Put the charges made meanwhile on this bill, and its sum on that of the question that this one is a part of."""
    whole = _bill.get()
    token = _bill.set(bill)
    try:
        yield
    finally:
        _bill.reset(token)
        if whole is not None and bill.loss is not None:
            whole.add(bill.loss)


def charged_at() -> dt.datetime:
    """When this question was charged, in whole seconds, which its answer says; now where nothing was charged.

    The moment at which the work ended would tell how long it took, which hangs on the data.
    """
    return (bill().charged or dt.datetime.now(dt.UTC)).replace(microsecond=0)


def bill() -> Bill:
    """The bill of the question that is being asked; a new one where nobody opened one."""
    return _bill.get() or Bill()
