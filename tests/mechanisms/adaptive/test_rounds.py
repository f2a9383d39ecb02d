"""Adaptive rounds take no more than their loss, and what each part buys is exact."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.accounting import zcdp_of
from discreet.accounting.events import Concentrated
from discreet.errors import InvalidParameter
from discreet.mechanisms import (
    AdaptiveRounds,
    Exponential,
    GaussianVector,
    LaplaceVector,
    PermuteAndFlip,
    Rounds,
)
from discreet.mechanisms.adaptive.rounds import root_below

COUNTS = np.array([5, 0, 90])


def greedy(rounds: Rounds) -> int:
    """Takes a third of what is left until little is left, decided by noisy counts, and then all."""
    taken = 0
    while taken < 20:
        noisy = rounds.measure(COUNTS, rounds.left / 3)
        rounds.choose({"a": int(noisy[0]), "b": 3}, rounds.left / (3 if noisy[1] > 0 else 4), 1)
        taken += 1
    rounds.measure(COUNTS, rounds.left)
    return taken


def spent(mechanism: AdaptiveRounds, monkeypatch: pytest.MonkeyPatch) -> Fraction:
    """The sum of the losses of all that was really drawn in one run, each by the price of its own mechanism."""
    drawn: list[Any] = []
    kinds: list[Any] = [Exponential, GaussianVector, LaplaceVector, PermuteAndFlip]
    for kind in kinds:
        original = kind.release

        def noted(self: Any, exact: Any, original: Any = original) -> Any:
            drawn.append(self)
            return original(self, exact)

        monkeypatch.setattr(kind, "release", noted)
    mechanism.release(greedy)
    total = Fraction(0)
    for one in drawn:
        if isinstance(one, Exponential):
            total += one.epsilon**2 / 8
        else:
            loss = one.loss
            total += loss if isinstance(loss, Fraction) else loss.rho
    return total


@pytest.mark.parametrize("concentrated", [False, True])
def test_all_parts_together_cost_the_amount(concentrated: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = AdaptiveRounds("1/2", 2, 4, concentrated=concentrated)
    total = spent(mechanism, monkeypatch)
    assert total <= mechanism.amount
    assert total > mechanism.amount * Fraction(999_999, 10**6)


@pytest.mark.parametrize("concentrated", [False, True])
def test_planted_an_undercharged_round_is_found(concentrated: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    take = Rounds._take

    def half(self: Rounds, part: Fraction) -> Fraction:
        take(self, part / 2)
        return part

    monkeypatch.setattr(Rounds, "_take", half)
    mechanism = AdaptiveRounds("1/2", 2, 4, concentrated=concentrated)
    assert spent(mechanism, monkeypatch) > mechanism.amount


@pytest.mark.parametrize("concentrated", [False, True])
def test_nothing_is_drawn_beyond_the_amount(concentrated: bool) -> None:
    def twice(rounds: Rounds) -> None:
        rounds.measure(COUNTS, rounds.left)
        with pytest.raises(InvalidParameter, match="exceed"):
            rounds.measure(COUNTS, Fraction(1, 10**9))
        with pytest.raises(InvalidParameter, match="exceed"):
            rounds.choose({"a": 1}, Fraction(0), 1)

    AdaptiveRounds(1, 1, 1, concentrated=concentrated).release(twice)


@pytest.mark.parametrize(("part", "scale"), [(Fraction(1, 2), 4), (Fraction(2), 1)])
def test_the_chance_of_an_answer_changes_by_the_loss(part: Fraction, scale: int) -> None:
    # A choice and the count of the chosen one: all answers with their chances, of neighbours. Nothing is sampled.
    mechanism = AdaptiveRounds(2 * part, 2, 2, concentrated=False)
    limit = math.exp(2 * part) * (1 + 1e-9)

    def law(counts: dict[str, int], sensitivity: int) -> dict[tuple[str, int], float]:
        chances = mechanism.choice(part, sensitivity).probabilities(counts)
        noise = mechanism.noise(part)
        assert isinstance(noise, LaplaceVector)
        assert noise.scale == scale
        q = math.exp(-1 / float(noise.scale))
        return {
            (name, value): float(chance) * (1 - q) / (1 + q) * q ** abs(value - counts[name])
            for name, chance in zip(counts, chances, strict=True)
            for value in range(-30, 40)
        }

    def worst(sensitivity: int) -> float:
        one, other = law({"a": 3, "b": 4}, sensitivity), law({"a": 5, "b": 2}, sensitivity)
        return max(one[at] / other[at] for at in one)

    assert worst(2) <= limit
    assert worst(1) > limit  # a sensitivity that is too small is found


def test_the_event_is_the_loss() -> None:
    event = AdaptiveRounds("1/50", 3, 9, concentrated=True).event("add_remove")
    assert isinstance(event, Concentrated)
    assert zcdp_of(event).rho == Fraction(1, 50)


def test_noise_fits_the_sensitivities() -> None:
    noise = AdaptiveRounds(1, 6, 18, concentrated=True).noise(Fraction(1, 4))
    assert isinstance(noise, GaussianVector)
    assert noise.variance == 36
    assert noise.loss.rho == Fraction(1, 4)
    assert AdaptiveRounds(1, 6, 18, concentrated=True).deviation(Fraction(1, 4)) == 6
    pure = AdaptiveRounds(1, 6, 18, concentrated=False)
    assert pure.deviation(Fraction(1, 2)) == pytest.approx(12 * math.sqrt(2))
    assert pure.half_width() == LaplaceVector(6, 6).half_width()


@pytest.mark.parametrize("value", [Fraction(1, 10**30), Fraction(1, 7), Fraction(2), Fraction(10**12, 3)])
def test_roots_are_rounded_down(value: Fraction) -> None:
    assert root_below(value) ** 2 <= value < (root_below(value) * Fraction(1000001, 10**6)) ** 2


@pytest.mark.parametrize("given", [(0, 1, 1), (1, 0, 1), (1, 1, 0), (1, True, 1), ("x", 1, 1)])
def test_bad_parameters(given: tuple[Any, Any, Any]) -> None:
    with pytest.raises(InvalidParameter):
        AdaptiveRounds(*given, concentrated=False)
