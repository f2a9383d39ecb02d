"""The terms of an analyst's budget, seen within the transaction of each charge."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction

from discreet.accounting.loss import Loss, at_least, at_most
from discreet.errors import BudgetExceeded
from discreet.records import dataclass


@dataclass(frozen=True)
class Terms:
    """The most that an analyst may spend, in all and in one question, and until when.

    Attributes:
        epsilon: in all.
        most: in one question; None for no cap of its own.
        until: seconds since 1970, after which nothing more is charged; None for no end.
        clock: seconds since 1970.
    """

    epsilon: Fraction
    most: Fraction | None = None
    until: int | None = None
    clock: Callable[[], float] = time.time

    def see(self, name: str, loss: Loss) -> None:
        """See that a question may be charged.

        Args:
            name: of the account.
            loss: of the question.

        Raises:
            BudgetExceeded: it costs more than one question may, or the budget has ended. Nothing was charged.

        Example:
            >>> Terms(Fraction(1), most=Fraction(1, 10)).see("analyst ana", Loss("1/2"))
            Traceback (most recent call last):
            ...
            discreet.errors.BudgetExceeded: The budget of one question of analyst ana has epsilon 0.1 left, and \
this asks for 0.5. Ask with epsilon 0.1 at most, all that one question may cost, or ask the steward for more.
        """
        if self.most is not None and loss.epsilon > self.most:
            most = at_most(self.most)
            raise BudgetExceeded(
                f"one question of {name}", at_least(loss.epsilon), most,
                f"Ask with epsilon {most} at most, all that one question may cost, or ask the steward for more.",
            )  # fmt: skip
        if self.ended:
            raise BudgetExceeded(
                name, at_least(loss.epsilon), "0", "It has ended; ask the steward for a later end."
            )

    @property
    def ended(self) -> bool:
        """Whether nothing more is charged."""
        return self.until is not None and self.clock() >= self.until
