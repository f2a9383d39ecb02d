"""Adaptive rounds take no more than their loss, and what each part buys is exact."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from discreet.accounting import GDP, gdp_of, zcdp_of
from discreet.accounting.events import Concentrated, GaussianPrivate
from discreet.accounting.gaussian.curve import delta_of
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


AMOUNT = Fraction(1, 2)


def mu_square(mechanism: AdaptiveRounds, monkeypatch: pytest.MonkeyPatch) -> float:
    """The sum of mu^2 of all that was really drawn in one run: of a choice that of its worst coins."""
    drawn: list[Any] = []
    kinds: list[Any] = [Exponential, GaussianVector]
    for kind in kinds:
        original = kind.release

        def noted(self: Any, exact: Any, original: Any = original) -> Any:
            drawn.append(self)
            return original(self, exact)

        monkeypatch.setattr(kind, "release", noted)
    mechanism.release(greedy)
    return sum(
        worst_mu(float(one.epsilon)) ** 2
        if isinstance(one, Exponential)
        else float(gdp_of(one.event("add_remove")).square)
        for one in drawn
    )


def worst_mu(epsilon: float) -> float:
    """Of a loss with a range of epsilon: over all pairs of coins whose logits are so far apart."""
    normal = NormalDist()

    def logistic(u: float) -> float:
        return 1 / (1 + math.exp(-u))

    return max(
        normal.inv_cdf(logistic(u + epsilon)) - normal.inv_cdf(logistic(u))
        for u in np.linspace(-5 - epsilon / 2, 5 - epsilon / 2, 201).tolist()
    )


def test_all_parts_together_are_within_the_square(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = AdaptiveRounds(AMOUNT, 2, 4, concentrated=True, draws=21)
    assert 0.99 < mu_square(mechanism, monkeypatch) / (2 * AMOUNT) <= 1
    # The planted faults: a choice at the price of zCDP, and a table without the smoothing.
    monkeypatch.setattr("discreet.mechanisms.adaptive.rounds.ABOVE_PI", Fraction(2))
    assert mu_square(mechanism, monkeypatch) > 2 * AMOUNT


def test_a_table_without_the_smoothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = AdaptiveRounds(AMOUNT, 2, 4, concentrated=True, draws=21)
    monkeypatch.setattr("discreet.accounting.gaussian.gdp.smoothing", lambda square: Fraction(square) / 50)
    drawn = mechanism.noise(AMOUNT)
    monkeypatch.undo()
    assert gdp_of(drawn.event("add_remove")).square > 2 * AMOUNT


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1, 4, 20])
def test_a_choice_is_as_private_as_its_proof_says(epsilon: float) -> None:
    """The slope is largest at even chances, so that mu is at most epsilon root(2 pi)/4: no chance is in it."""
    assert worst_mu(epsilon) <= epsilon * math.sqrt(2 * math.pi) / 4 * (1 + 1e-9)
    if epsilon < 1:  # and not much less
        assert worst_mu(epsilon) > epsilon * math.sqrt(2 * math.pi) / 4 * 0.98


def above_curve(mechanism: AdaptiveRounds, square: Fraction) -> float:
    """A choice with half of the loss, then the count of the chosen one: by how much delta passes the curve, at worst.

    All answers with their chances, of neighbours: a row leaves one candidate and enters the other.
    """
    half = mechanism.amount / 2
    chances = mechanism.choice(half, 1)
    noise = mechanism.noise(half)
    assert isinstance(noise, GaussianVector)
    steps = np.arange(-80, 90)

    def law(counts: dict[str, int]) -> np.ndarray:
        found = []
        for name, chance in zip(counts, chances.probabilities(counts), strict=True):
            weights = np.exp(-((steps - counts[name]) ** 2) / (2 * float(noise.variance)))
            found.append(float(chance) * weights / weights.sum())
        return np.concatenate(found)

    one, other = law({"a": 3, "b": 4}), law({"a": 4, "b": 3})
    worst = -1.0
    for epsilon in (Fraction(k, 4) for k in range(1, 13)):
        for p, q in ((one, other), (other, one)):
            delta = float(np.maximum(p - math.exp(epsilon) * q, 0).sum())
            worst = max(worst, delta / float(delta_of(square, epsilon)) - 1)
    return worst


def test_the_chances_of_rounds_are_below_the_exact_curve() -> None:
    mechanism = AdaptiveRounds(AMOUNT, 1, 1, concentrated=True, draws=1)
    assert above_curve(mechanism, 2 * AMOUNT) <= 1e-6
    assert above_curve(mechanism, AMOUNT) > 0.05  # the planted fault: half of the price


def test_no_more_tables_are_drawn_than_were_said() -> None:
    def twice(rounds: Rounds) -> None:
        rounds.measure(COUNTS, rounds.left / 2)
        with pytest.raises(InvalidParameter, match="more tables"):
            rounds.measure(COUNTS, rounds.left)

    AdaptiveRounds(1, 1, 1, concentrated=True, draws=1).release(twice)
    with pytest.raises(InvalidParameter, match="no draws"):
        AdaptiveRounds(1, 1, 1, concentrated=False, draws=1)


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
    tight = AdaptiveRounds("1/50", 3, 9, concentrated=True, draws=7).event("add_remove")
    assert isinstance(tight, GaussianPrivate)
    assert zcdp_of(tight).rho == Fraction(1, 50)
    assert gdp_of(tight) == GDP(Fraction(1, 25), 7)


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
