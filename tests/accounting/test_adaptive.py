"""The rules of a ledger against the worst analyst: one who chooses each epsilon after seeing the answers before it.

Every release of epsilon e is at worst randomised response, whose loss is +-e. The worst analyst for a limit
(epsilon, delta) maximises delta = E[(1 - e^(epsilon - L))+] over all strategies that the rule admits, and dynamic
programming over (what was charged, the loss so far) finds that maximum, up to the rounding of floats: no strategy over
the menu does better. If it is at most delta, the rule holds for the menu; that is a proof by enumeration, not a sample.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache, lru_cache

import pytest

from discreet.accounting import RULES, Loss, Rule, Tally, admits

CASES = [
    ((Fraction(1, 8), Fraction(1, 4)), Loss("3/2", "1/100")),
    ((Fraction(1, 8), Fraction(1, 2)), Loss(2, "1/20")),
    ((Fraction(1, 4), Fraction(1)), Loss(1, "1/10")),
    ((Fraction(1, 5), Fraction(2, 5), Fraction(1)), Loss(1, "1/10")),
]
"""Menus of epsilons, multiples of the least, and limits: delta is large, so that few questions suffice."""


def _tally(counts: tuple[int, ...], menu: tuple[Fraction, ...]) -> Tally:
    pairs = list(zip(counts, menu, strict=True))
    total = sum((n * m for n, m in pairs), Fraction(0))
    return Tally(Loss(total), sum((n * m * m for n, m in pairs), Fraction(0)), sum(counts))


def _worst(
    admitted: Callable[[tuple[int, ...]], bool], menu: tuple[Fraction, ...], epsilon: Fraction
) -> float:
    unit, total = float(menu[0]), float(epsilon)
    allowed = lru_cache(maxsize=None)(admitted)

    @cache
    def best(counts: tuple[int, ...], loss: int) -> float:
        found = max(0.0, -math.expm1(total - loss * unit))  # stop here
        for at, each in enumerate(menu):
            after = (*counts[:at], counts[at] + 1, *counts[at + 1 :])
            if allowed(after):
                step, p = int(each / menu[0]), 1 / (1 + math.exp(-float(each)))
                found = max(found, p * best(after, loss + step) + (1 - p) * best(after, loss - step))
        return found

    return best((0,) * len(menu), 0)


@pytest.mark.parametrize(("menu", "limit"), CASES)
@pytest.mark.parametrize("rule", RULES)
def test_no_strategy_beats_a_rule(menu: tuple[Fraction, ...], limit: Loss, rule: Rule) -> None:
    assert (
        _worst(lambda counts: admits(rule, _tally(counts, menu), limit), menu, limit.epsilon) <= limit.delta
    )


def _tight(counts: tuple[int, ...], menu: tuple[Fraction, ...], epsilon: Fraction) -> float:
    """The exact delta of releases whose epsilons are fixed beforehand."""
    masses = {0: 1.0}
    for count, each in zip(counts, menu, strict=True):
        step, p = int(each / menu[0]), 1 / (1 + math.exp(-float(each)))
        for _ in range(count):
            after: dict[int, float] = {}
            for loss, mass in masses.items():
                after[loss + step] = after.get(loss + step, 0) + mass * p
                after[loss - step] = after.get(loss - step, 0) + mass * (1 - p)
            masses = after
    return sum(
        mass * max(0.0, -math.expm1(float(epsilon) - loss * float(menu[0]))) for loss, mass in masses.items()
    )


@pytest.mark.parametrize(("menu", "limit"), CASES)
def test_the_tight_price_of_what_was_asked_is_no_rule(menu: tuple[Fraction, ...], limit: Loss) -> None:
    """The planted fault, which a ledger by loss distributions would commit: it is overdrawn, and this is seen."""

    def naive(counts: tuple[int, ...]) -> bool:
        return _tight(counts, menu, limit.epsilon) <= limit.delta

    assert naive((2,) + (0,) * (len(menu) - 1))
    assert _worst(naive, menu, limit.epsilon) > 1.05 * float(limit.delta)


def test_equal_epsilons_are_tight() -> None:
    """With one epsilon on the menu there is nothing to choose but when to stop: then the tight price is a rule."""
    menu, limit = (Fraction(1, 4),), Loss(1, "1/10")
    worst = _worst(lambda counts: _tight(counts, menu, limit.epsilon) <= limit.delta, menu, limit.epsilon)
    assert 0.08 < worst <= limit.delta
