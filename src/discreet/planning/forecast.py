"""How long a budget lasts: releases of one epsilon, day after day, under each accountant."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from discreet.accounting.loss import Loss
from discreet.accounting.tally import RULES, Rule, Tally, admits, price
from discreet.errors import InvalidParameter
from discreet.records import dataclass

MOST_FORESEEN_RELEASES: Final = 100_000
"""More releases are not looked at."""


@dataclass(frozen=True)
class Forecast:
    """The releases that a budget has room for, under one accountant.

    Attributes:
        rule: the accountant: `pure`, `zcdp` or `pld`.
        spent: the epsilon spent after each release that fits, of those that were asked about.
        most: the largest epsilon of a release with which all of them fit, rounded down to a few digits; 0 for none.
    """

    rule: Rule
    spent: Sequence[Fraction]
    most: Fraction


def forecast(limit: Loss, past: Tally, epsilon: Fraction, releases: int) -> list[Forecast]:
    """Look ahead at a budget under every accountant that it allows; without a delta that is the sum alone.

    Args:
        limit: of the budget.
        past: the charges so far.
        epsilon: of each release to come.
        releases: how many are wanted.

    Raises:
        InvalidParameter: releases is out of range.

    Example:
        >>> for prediction in forecast(Loss(3, "1e-6"), Tally(), Fraction(1, 10), 60):
        ...     print(prediction.rule, len(prediction.spent), float(prediction.most))
        pure 30 0.05
        zcdp 35 0.07653
        pld 42 0.08188
    """
    if not 1 <= releases <= MOST_FORESEEN_RELEASES:
        raise InvalidParameter(
            "The number of releases is out of range.", f"Write from 1 to {MOST_FORESEEN_RELEASES:,}."
        )
    found = []
    for rule in RULES if limit.delta else RULES[:1]:
        spent = _spent(rule, limit, past, epsilon, releases)
        found.append(Forecast(rule, spent, _most(rule, limit, past, releases)))
    return found


def _after(past: Tally, epsilon: Fraction, count: int) -> Tally:
    """The tally after so many more releases."""
    loss = Loss(count * epsilon) + past.loss
    return Tally(loss, past.squares + count * epsilon**2, past.count + count)


def _fits(rule: Rule, limit: Loss, past: Tally, epsilon: Fraction, count: int) -> bool:
    return admits(rule, _after(past, epsilon, count), limit)


def _spent(rule: Rule, limit: Loss, past: Tally, epsilon: Fraction, releases: int) -> list[Fraction]:
    low, high = 0, releases + 1  # as the price rises with each release, those that fit are the first ones
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _fits(rule, limit, past, epsilon, middle) else (low, middle)
    return [price(rule, _after(past, epsilon, count), limit.delta).epsilon for count in range(1, low + 1)]


def _most(rule: Rule, limit: Loss, past: Tally, releases: int) -> Fraction:
    if limit.epsilon <= 0:
        return Fraction(0)
    step = Fraction(10) ** (len(str(int(limit.epsilon))) - 4 - len(str(releases)))
    low, high = 0, int(limit.epsilon / step) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _fits(rule, limit, past, middle * step, releases) else (low, middle)
    return low * step
