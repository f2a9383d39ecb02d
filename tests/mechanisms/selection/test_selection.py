"""The exponential mechanism and permute-and-flip."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InvalidParameter
from discreet.mechanisms import Exponential, PermuteAndFlip
from discreet.mechanisms.selection.selection import Selection
from discreet.noise import choice
from tests.depth import DEEP, in_turn
from tests.mechanisms.chances import Chances, Found, ceiling, leak
from tests.noise.fit import ALARM, alarm
from tests.noise.tape import agrees, exp

BOTH = [Exponential, PermuteAndFlip]
VOTES = {"Aquila": 31, "Orion": 27, "Lyra": 12, "Cetus": 3}
LOOSE = 0.003  # what is undecided may hide this much of a loss


# The guarantee, by every value of every draw.


def law(chances: Chances, mechanism: Selection, scores: Any) -> Found[Any]:
    return chances.every(lambda: mechanism.release(scores), 1e-5)


# A deep run asks both kinds of all scores.
@pytest.mark.parametrize(
    ("scores", "kind"), in_turn([[0, 0], [2, 0], [1, 0, 3], [Fraction(1, 2), Fraction(1, 3)]], BOTH[::-1])
)
def test_the_law_is_the_one_on_paper(chances: Chances, kind: type[Selection], scores: list[Any]) -> None:
    mechanism = kind(2)
    found, undecided = law(chances, mechanism, scores)
    paper = exactly(mechanism, scores)
    assert undecided < 0.02
    assert agrees(found, undecided + Fraction(1, 2**100), lambda place: paper[place])
    assert mechanism.probabilities(scores) == pytest.approx([float(p) for p in paper], rel=1e-12)


def exactly(mechanism: Selection, scores: list[Any]) -> list[Fraction]:
    """The law in rationals: weights, or the integral of a polynomial."""
    p = [exp((Fraction(u) - max(map(Fraction, scores))) / mechanism.scale) for u in scores]
    if isinstance(mechanism, Exponential):
        return [w / sum(p) for w in p]
    out = []
    for i in range(len(p)):
        polynomial = [p[i]]
        for j in range(len(p)):
            if j != i:
                shifted = [Fraction(0), *(-p[j] * c for c in polynomial)]
                polynomial = [a + b for a, b in zip([*polynomial, Fraction(0)], shifted, strict=True)]
        out.append(sum((c / (n + 1) for n, c in enumerate(polynomial)), Fraction(0)))
    return out


NEIGHBOURS = [
    ([2, 0], [1, 1]),
    ([0, 0, 0], [1, -1, -1]),
    ([1, 0, 2], [0, 1, 1]),
    ([3, 0], [2, 1]),
]


# A deep run asks both kinds of all neighbours.
@pytest.mark.parametrize(("neighbours", "kind"), in_turn(NEIGHBOURS, BOTH))
def test_neighbours_differ_by_at_most_epsilon(
    chances: Chances, kind: type[Selection], neighbours: tuple[list[int], list[int]]
) -> None:
    mechanism, (one, other) = kind(1), neighbours
    assert ceiling(law(chances, mechanism, one), law(chances, mechanism, other)) <= 1 + LOOSE


@pytest.mark.parametrize("kind", BOTH)
def test_the_check_sees_half_the_noise(chances: Chances, kind: type[Selection]) -> None:
    # Planted fault: the scale of monotonic scores for scores that move in opposite directions.
    one, other = [3, 0], [2, 1]
    assert leak(*(law(chances, kind(1, monotonic=True), scores) for scores in (one, other))) > 1.3


@settings(deadline=None)
@given(
    st.lists(st.integers(-3, 3), min_size=2, max_size=4),
    st.data(),
    st.booleans(),
    st.sampled_from([0.1, 1, 3]),
)
def test_no_neighbours_differ_by_more(scores: list[int], data: Any, monotonic: bool, epsilon: float) -> None:
    low = 0 if monotonic else -1
    moves = data.draw(st.lists(st.integers(low, 1), min_size=len(scores), max_size=len(scores)))
    other = [u + move for u, move in zip(scores, moves, strict=True)]
    for kind in BOTH:
        mechanism = kind(epsilon, monotonic=monotonic)
        logs = [np.log(mechanism.probabilities(u)) for u in (scores, other)]
        assert np.abs(logs[0] - logs[1]).max() <= epsilon + 1e-9


def test_weights_without_the_exponential_are_seen(chances: Chances, monkeypatch: pytest.MonkeyPatch) -> None:
    # Planted fault: probability proportional to the score itself. One vote more or less, and Cetus can win or not.
    def proportional(scores: list[int]) -> int:
        ticket = chances.uniform(sum(scores))
        return next(i for i, total in enumerate(itertools.accumulate(scores)) if ticket < total)

    faulty = [chances.every(lambda u=u: proportional(u)) for u in ([3, 1], [3, 0])]  # type: ignore[misc]
    assert leak(*faulty) > 50


@pytest.mark.parametrize("kind", BOTH)
def test_a_coin_of_the_wrong_scale_is_seen(
    chances: Chances, kind: type[Selection], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Planted fault: e^(-gap epsilon) in the coin, the factor 2 S forgotten.
    fair = chances.bernoulli_exp
    monkeypatch.setattr(choice, "bernoulli_exp", lambda x, scale: fair(x, scale=scale / 2))
    assert leak(*(law(chances, kind(1), scores) for scores in ([3, 0], [2, 1]))) > 1.3


# Real draws.


@pytest.mark.parametrize("kind", BOTH)
def test_goodness_of_fit_of_the_vote(kind: type[Selection]) -> None:
    # 2,500 releases, false alarm 1e-11; a probability of 0.2 wrong by 0.06 is caught.
    # A deep run draws 5,000 and catches 0.04.
    mechanism = kind(0.2)
    names = [mechanism.release(VOTES) for _ in range(5000 if DEEP else 2500)]
    counts = [names.count(name) for name in VOTES]
    paper = mechanism.probabilities(VOTES)
    assert alarm(counts, paper) > ALARM
    assert alarm(counts, kind(0.4).probabilities(VOTES)) < ALARM


def test_permute_and_flip_is_told_apart_from_the_exponential_mechanism() -> None:
    # 5,500 releases: the chi-square statistic has noncentrality 207, so that the alarm is missed with
    # a probability below 10^-12. A deep run draws 12,000 at epsilon 0.2: noncentrality 309.
    epsilon, many = (0.2, 12_000) if DEEP else (0.5, 5_500)
    mechanism = PermuteAndFlip(epsilon)
    names = [mechanism.release(VOTES) for _ in range(many)]
    counts = [names.count(name) for name in VOTES]
    assert alarm(counts, Exponential(epsilon).probabilities(VOTES)) < ALARM


@pytest.mark.parametrize("kind", BOTH)
def test_huge_scores_do_not_overflow(kind: type[Selection]) -> None:
    # e^u overflows a float at 710; a naive softmax gives NaN.
    top = 2**62 - 1
    assert kind(1).release([top, top - 10_000, -top]) == 0
    assert kind(1).probabilities([top, -top]) == pytest.approx([1, 0])
    assert kind(1).release([10**6, 10**6 - 5000]) == 0
    assert kind(1).release([Fraction(10**30), Fraction(10**30, 3)]) == 0
    assert kind("1/1000000").release([-(10**12), 0]) == 1


@pytest.mark.parametrize("kind", BOTH)
def test_a_million_candidates(kind: type[Selection]) -> None:
    assert kind(1).release(np.arange(1_000_000)) > 999_900  # P(lower) < e^-49
    assert kind(1).probabilities(np.zeros(1_000_000, int))[7] == pytest.approx(1e-6)


# Error.


@given(st.lists(st.integers(0, 12), min_size=1, max_size=8), st.sampled_from([0.1, 1, 5]))
def test_permute_and_flip_is_never_worse(scores: list[int], epsilon: float) -> None:
    flip, exponential = PermuteAndFlip(epsilon), Exponential(epsilon)
    assert flip.expected_error(scores) <= exponential.expected_error(scores) * (1 + 1e-9)
    gaps = max(scores) - np.array(scores)
    for mechanism in (flip, exponential):
        for confidence in (0.5, 0.95):
            outside = gaps > mechanism.error(len(scores), confidence)
            assert mechanism.probabilities(scores)[outside].sum() <= 1 - confidence + 1e-12


def test_the_bound_needs_the_logarithm_of_the_candidates() -> None:
    # One candidate at 0 and 9,999 at -t scales: without ln|Y| the bound says at most 5 %.
    mechanism = Exponential(2)  # scale 1
    scores = np.full(10_000, -4)
    scores[0] = 0
    lost = float(mechanism.probabilities(scores)[1:].sum())
    assert math.log(20) < 4
    assert lost > 0.99
    assert mechanism.error(10_000, 0.95) == pytest.approx(math.log(10_000) + math.log(20))
    assert mechanism.error(10_000) == mechanism.error(10_000, 0.95) > 4


@pytest.mark.parametrize("n", [1, 2, 40])
def test_probabilities_of_permute_and_flip_at_high_precision(n: int) -> None:
    scores = [(7 * i * i) % 23 for i in range(n)]
    mechanism = PermuteAndFlip("1/3")
    with mpmath.workdps(30):
        scale = mpmath.mpf(6)
        p = [mpmath.exp((u - max(scores)) / scale) for u in scores]
        for i in {0, n // 2, n - 1}:
            others = [q for j, q in enumerate(p) if j != i]
            paper = p[i] * mpmath.quad(
                lambda x, others=others: mpmath.fprod(1 - q * x for q in others), [0, 0.05, 0.2, 1]
            )
            assert mechanism.probabilities(scores)[i] == pytest.approx(float(paper), rel=1e-12)


# Scale, scores, misuse.


@pytest.mark.parametrize("kind", BOTH)
def test_scale_and_loss(kind: type[Selection]) -> None:
    assert kind(0.1).scale == 20
    assert kind(0.1, monotonic=True).scale == 10
    assert kind(0.1, Fraction(1, 3)).scale == Fraction(20, 3)
    assert kind(1, 0.3, granularity=0.25).scale == 1  # ceil(0.3/0.25) = 2 steps, twice
    assert kind(0.1).loss == Fraction(1, 10)
    assert kind(0.1) == kind("1/10") != kind(0.1, monotonic=True)
    assert hash(kind(0.1)) == hash(kind("0.1"))
    assert kind(1) not in [other(1) for other in BOTH if other is not kind]


@given(st.floats(-5, 5), st.floats(-1, 1), st.integers(-3, 3))
def test_rounding_moves_a_score_by_no_more_than_stated(u: float, move: float, exponent: int) -> None:
    grid = Fraction(2) ** exponent
    moved = abs(Fraction(u + move) - Fraction(u))
    if moved:
        mechanism = Exponential(1, moved, granularity=grid)
        from discreet.mechanisms.selection import scores

        steps = [scores.read([x], grid, rationals=True).numbers[0] for x in (u, u + move)]
        assert 2 * abs(steps[0] - steps[1]) * grid <= mechanism.scale


@pytest.mark.parametrize("kind", BOTH)
def test_scores_of_every_kind(kind: type[Selection]) -> None:
    mechanism = kind(2000)
    for scores in ([3, 1], (3, 1), np.array([3, 1], np.int8), np.array([3.0, 1.0]), ["3", "1/2"],
                   [Decimal("3.5"), Fraction(1, 7)], np.array([Fraction(7, 2), 1], object)):  # fmt: skip
        assert mechanism.release(scores) == 0
        assert isinstance(mechanism.release(scores), int)
    assert mechanism.release({"a": 1, "b": Fraction(19, 2)}) == "b"
    assert kind(2000, granularity=0.5).release([0.1, 9.3]) == 1
    assert mechanism.release([7]) == 0


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(
    "bad",
    [
        [], {}, 3, [[1, 2]], [1, float("nan")], [1, float("inf")], [0.5, 1.0], [True, 1], ["x"], [None], "ab",
        [Fraction(1), 0.5], [2**62, 0], [2**70, 1], [1j], np.zeros((2, 2), int), {"a": float("nan")},
    ],
)  # fmt: skip
def test_bad_scores(kind: type[Selection], bad: Any) -> None:
    with pytest.raises(InvalidParameter):
        kind(1).release(bad)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("name", ["epsilon", "sensitivity", "granularity", "monotonic"])
@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), "x", [1, 1]])
def test_bad_parameters(kind: type[Selection], name: str, bad: Any) -> None:
    with pytest.raises(InvalidParameter, match=name):
        kind(**{"epsilon": 1, name: bad})


@pytest.mark.parametrize("kind", BOTH)
def test_there_is_no_price_for_many(kind: type[Selection]) -> None:
    # The fault of others: size=1000 draws for one epsilon. One release is one candidate.
    with pytest.raises(TypeError):
        kind(1).release([1, 2], 1000)  # type: ignore[call-arg]
    with pytest.raises(InvalidParameter):
        kind(1).error(0)
    with pytest.raises(InvalidParameter, match="confidence"):
        kind(1).error(3, 1)
