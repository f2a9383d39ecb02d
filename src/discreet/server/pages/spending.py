"""The budget of a data set as its gauge shows it: answered, held, left; and how long the rest lasts at this pace."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from fractions import Fraction

from discreet.records import dataclass
from discreet.server.history import HistoryEntry
from discreet.session.budget import BudgetState

WINDOW = 30
"""Days of which the pace is taken."""
FAR = 3650
"""A forecast looks no further than so many days."""


@dataclass(frozen=True)
class Spending:
    """The parts of a budget.

    Attributes:
        budget: of the data set.
        held: the part of the loss spent that has no answer: questions at work, and charges that bought nothing.
        pace: the loss of a day, over the last WINDOW days or since the first charge.
        lasts: days after which nothing is left at that pace; None where that is never, or very far.
    """

    budget: BudgetState
    held: Fraction
    pace: Fraction
    lasts: int | None

    @property
    def answered(self) -> Fraction:
        """The part of the loss spent that was answered."""
        return self.budget.spent - self.held


def spending(
    budget: BudgetState,
    version: str,
    lines: Sequence[HistoryEntry],
    answered: Callable[[str], bool],
    now: dt.datetime,
) -> Spending:
    """The parts of a budget.

    Args:
        budget: of the data set.
        version: of the data, as the policy names it; charges for other versions do not count.
        lines: the charges of the last WINDOW days, and the earlier ones without an answer.
        answered: whether the ledger keeps the answer of a key.
        now: the present time.
    """
    paid = [line for line in lines if line.whole and line.version == version]
    held = sum((line.epsilon for line in paid if not answered(line.key)), Fraction(0))
    late = [line for line in paid if now - line.made <= dt.timedelta(WINDOW)]
    days = max([1, *((now - line.made).days + 1 for line in late)])
    pace = sum((line.epsilon for line in late), Fraction(0)) / days
    lasts = int(budget.left / pace) if pace else None
    return Spending(budget, min(held, budget.spent), pace, None if lasts is None or lasts > FAR else lasts)
