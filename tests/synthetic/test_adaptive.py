"""Marginals are measured with the noise that they say, chosen by the loss that they pay, and all of it is spent.

Planted faults: a marginal without noise, and a choice that looks at the true scores.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.mechanisms import AdaptiveRounds, Rounds
from discreet.synthetic import adaptive
from discreet.synthetic.adaptive import (
    ReleasedMarginals,
    first_part,
    least_part,
    measure,
    most_draws,
    see_possible,
    workload_of,
)
from discreet.synthetic.counts import Counts
from discreet.synthetic.junction import Clique, junction_tree
from tests.synthetic.models import SIZES, rows

PAIRS: dict[Clique, int] = dict.fromkeys(itertools.combinations(range(5), 2), 1)
BOTH = pytest.mark.parametrize("concentrated", [False, True])


def found(
    amount: Any, concentrated: bool, weights: dict[Clique, int] | None = None, count: int = 5000
) -> tuple[ReleasedMarginals, Rounds]:
    counts, _ = rows(count=count)
    draws = most_draws(len(SIZES)) if concentrated else 0
    mechanism = AdaptiveRounds(amount, 1, 1, concentrated=concentrated, draws=draws)
    kept: list[Rounds] = []

    def procedure(rounds: Rounds) -> ReleasedMarginals:
        kept.append(rounds)
        return measure(rounds, mechanism, counts, workload_of(SIZES, PAIRS if weights is None else weights))

    return mechanism.release(procedure), kept[0]


def mean_square(concentrated: bool, monkeypatch: pytest.MonkeyPatch, numbers: int = 400) -> float:
    """The mean square of the noise of sets of columns, in units of what it says, over 400 numbers or more.

    With noise as it says the mean is 1. For numbers that are not negative, a mean of n below 1 - t has a chance of
    e^(-n t^2/2m) at most, m being the mean of their squares, 3 for Gaussian and 6 for Laplace noise: below 0.1 it
    has one of 1e-11. Above 4 a sum of 400 Laplace squares needs one of hundreds, e^-28, and Gaussian ones never are.
    So noise of less than 0.3 or more than twice its deviation is found.
    """
    monkeypatch.setattr(adaptive, "STEPS", 5)  # poor models are measured as well
    squares: list[Any] = []
    while sum(map(np.size, squares)) < numbers:
        counts, _ = rows()
        made, _ = found(2 if not concentrated else Fraction(1, 4), concentrated)
        squares += [
            ((one.counts - counts.marginal(one.columns)) / one.deviation).ravel() ** 2
            for one in made.measured
            if len(one.columns) > 1
        ]
    return float(np.concatenate(squares).mean())


@BOTH
def test_noise_is_as_it_says(concentrated: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    assert 0.1 < mean_square(concentrated, monkeypatch) < 4


@BOTH
def test_planted_a_marginal_without_noise_is_found(
    concentrated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = Rounds.measure

    def bare(self: Rounds, counts: Any, part: Fraction) -> Any:
        noisy = original(self, counts, part)
        return noisy if counts.ndim == 1 else counts

    monkeypatch.setattr(Rounds, "measure", bare)
    assert (
        mean_square(concentrated, monkeypatch, 1) < 0.1
    )  # each number is without noise, so that a few will do


def first_choices(concentrated: bool, monkeypatch: pytest.MonkeyPatch) -> int:
    """Of 40 first choices with scales far above all scores, how many fall on the largest score.

    Each does with a chance below 0.35, so that all do with one below 1e-18; a choice by the true scores always does.
    """
    seen: list[bool] = []
    original = Rounds.choose

    def noted(self: Rounds, scores: Any, part: Fraction, sensitivity: int) -> Any:
        chosen = original(self, scores, part, sensitivity)
        seen.append(scores[chosen] == max(scores.values()))
        return chosen

    monkeypatch.setattr(Rounds, "choose", noted)
    counts, _ = rows(count=200)
    amount = Fraction(1, 10) if not concentrated else Fraction(1, 1000)
    mechanism = AdaptiveRounds(amount, 1, 1, concentrated=concentrated)

    def once(rounds: Rounds) -> None:
        scores = {
            columns: int(counts.marginal(columns).max() + at)
            for at, columns in enumerate([(0, 1), (1, 2), (2, 3)])
        }
        rounds.choose(scores, amount / 100, 1)

    for _ in range(40):
        mechanism.release(once)
    return sum(seen)


@BOTH
def test_a_choice_is_as_random_as_its_loss(concentrated: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    assert first_choices(concentrated, monkeypatch) < 40


@BOTH
def test_planted_a_choice_by_true_scores_is_found(
    concentrated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        Rounds, "choose", lambda self, scores, part, moves: max(scores, key=scores.__getitem__)
    )
    assert first_choices(concentrated, monkeypatch) == 40


@BOTH
def test_dependent_columns_are_measured_together_and_nothing_is_left(concentrated: bool) -> None:
    # At an epsilon of 50 the gap of the scores is hundreds of scales: another choice has a chance below e^-40.
    made, left = found(50, concentrated, count=2000)
    together = {one.columns for one in made.measured}
    # c tells a; b and d depend on a, and so on c: each of them is told by either.
    assert (0, 2) in together
    assert together & {(0, 1), (1, 2)}
    assert together & {(0, 3), (2, 3)}
    assert left.left == 0


@BOTH
@pytest.mark.parametrize("count", [0, 1, 5])
def test_few_rows_and_much_noise_end(concentrated: bool, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adaptive, "STEPS", 10)
    for amount in (Fraction(1, 10**6), 1):
        made, left = found(amount, concentrated, count=count)
        assert left.left == 0
        assert {one.columns for one in made.measured} >= {(at,) for at in range(5)}


@BOTH
def test_rounds_are_fewer_where_noise_weighs_more(concentrated: bool) -> None:
    mechanism, workload = AdaptiveRounds(1, 1, 1, concentrated=concentrated), workload_of(SIZES, PAIRS)
    between = 80 if concentrated else 400
    few, some, many = (first_part(mechanism, workload, rows) for rows in (1, between, 10**6))
    assert few == mechanism.amount / len(SIZES)
    assert many == least_part(mechanism, workload)
    assert many < some < few


@BOTH
def test_where_all_pairs_would_be_noise_single_columns_get_all(
    concentrated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adaptive, "TOO_MUCH", 0)
    made, left = found(1, concentrated)
    assert [one.columns for one in made.measured] == [(at,) for at in range(5)] * 2
    assert left.left == 0


def test_without_pairs_single_columns_get_all() -> None:
    made, left = found(1, False, {})
    assert {one.columns for one in made.measured} == {(at,) for at in range(5)}
    assert left.left == 0
    assert made.last is None


def test_a_model_does_not_grow_beyond_its_limit() -> None:
    counts, _ = rows()
    mechanism = AdaptiveRounds(50, 1, 1, concentrated=False)
    limit = 26  # single columns have 14 numbers
    made = mechanism.release(
        lambda rounds: measure(rounds, mechanism, counts, workload_of(SIZES, PAIRS), limit)
    )
    assert junction_tree([one.columns for one in made.measured], SIZES).cells <= limit


def test_a_score_moves_by_no_more_than_its_sensitivity() -> None:
    # Every score of a run on one data set and on its neighbour, for the same model: |L1 - L1'| <= 1.
    counts, table = rows(count=400)
    more = np.ravel_multi_index(tuple(np.vstack([table, table[:1]]).T), SIZES)
    other = Counts([np.asarray(more, np.int64)], np.ones(401, np.int64), [SIZES])
    random = np.random.default_rng(1)
    for columns in PAIRS:
        told = random.integers(-50, 90, counts.marginal(columns).shape)
        here, there = (int(np.abs(one.marginal(columns) - told).sum()) for one in (counts, other))
        assert abs(here - there) <= 1


def test_noise_that_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(InvalidParameter):
        see_possible(AdaptiveRounds(Fraction(1, 10**18), 1, 1, concentrated=True), workload_of(SIZES, PAIRS))
