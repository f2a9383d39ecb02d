from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.mechanisms import ThresholdedCounts
from discreet.mechanisms.numeric import threshold
from tests.depth import DEEP, few, in_turn
from tests.noise.tape import exp, law_of_laplace

Law = dict[frozenset[tuple[str, int]], Fraction]
REACH = 14
"""Noise beyond it is left undecided; less is enough where the scale is small."""


def law(
    mechanism: ThresholdedCounts, data: Mapping[str, int], monkeypatch: pytest.MonkeyPatch, reach: int = REACH
) -> tuple[Law, Fraction]:
    """The exact law of what is shown of a data set, by running the mechanism on every noise there is.

    The noise itself is enumerated from every tape of bits in tests/noise.
    """
    names = list(data)
    counts = np.array([data[name] for name in names], np.int64)
    mass = {k: law_of_laplace(mechanism.scale, k) for k in range(-reach, reach + 1)}
    found: defaultdict[frozenset[tuple[str, int]], Fraction] = defaultdict(Fraction)
    drawn = np.zeros(len(names), np.int64)
    monkeypatch.setattr(threshold, "add_laplace", lambda n, scale: n + drawn)
    for noise in itertools.product(mass, repeat=len(names)):
        drawn[:] = noise
        shown, noisy = mechanism.release(counts)
        outcome = frozenset(
            (names[at], min(int(n), mechanism.threshold + 20)) for at, n in zip(shown, noisy, strict=True)
        )
        product = Fraction(1)
        for k in noise:
            product *= mass[k]
        found[outcome] += product
    monkeypatch.undo()
    return dict(found), 1 - sum(found.values(), Fraction(0))


def excess(one: Law, other: Law, bound: Fraction) -> Fraction:
    """The delta at which `one` is within e^epsilon of `other`, over every set of outcomes."""
    return sum((max(Fraction(0), p - bound * other.get(y, Fraction(0))) for y, p in one.items()), Fraction(0))


NEIGHBOURS = [
    (1, "add_remove", {"a": 2}, {"a": 2, "c": 1}),
    (1, "add_remove", {"a": 2}, {"a": 3}),
    (1, "add_remove", {}, {"c": 1}),
    (2, "add_remove", {"a": 2}, {"a": 3, "c": 1}),
    (2, "add_remove", {"a": 3}, {"a": 3, "c": 1, "d": 1}),
    (2, "add_remove", {"a": 2, "b": 1}, {"a": 3, "b": 2}),
    (1, "replace_one", {"a": 2, "c": 1}, {"a": 2, "d": 1}),
    (1, "replace_one", {"a": 2, "c": 1}, {"a": 3}),
]


# A deep run asks each pair at both deltas, and noise of the whole reach.
@pytest.mark.parametrize(("pair", "delta"), in_turn(NEIGHBOURS, ["0.01", "0.2"]))
def test_delta_by_every_noise(
    pair: tuple[int, str, dict[str, int], dict[str, int]], delta: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups, neighbours, one, other = pair
    factor = 1 if neighbours == "add_remove" else 2
    mechanism = ThresholdedCounts(2 * groups * factor, delta, groups, neighbours)  # scale 1/2: a short tail
    reach = REACH if DEEP else 9
    a, missed_a = law(mechanism, one, monkeypatch, reach)
    b, missed_b = law(mechanism, other, monkeypatch, reach)
    bound = exp(mechanism.epsilon)
    slack = missed_a + bound * missed_b
    assert slack < Fraction(1, 10**4)
    assert excess(a, b, bound) <= mechanism.delta + slack
    assert excess(b, a, bound) <= mechanism.delta + bound * missed_a + missed_b


REPEATED = [
    (2, 2, "add_remove", {"a": 2}, {"a": 2, "c": 2}),
    (2, 2, "add_remove", {"a": 2}, {"a": 3, "c": 1}),
    (2, 2, "add_remove", {}, {"c": 1, "d": 1}),
    (2, 2, "add_remove", {"a": 3}, {"a": 5}),
    (3, 3, "add_remove", {}, {"c": 3}),
    (3, 3, "add_remove", {"a": 1}, {"a": 2, "c": 2}),
    (4, 2, "add_remove", {}, {"c": 2, "d": 2}),
    (4, 2, "add_remove", {"a": 2}, {"a": 3, "c": 2, "d": 1}),
    (2, 2, "replace_one", {"a": 2, "c": 2}, {"a": 2, "d": 2}),
    (2, 2, "replace_one", {"a": 2, "c": 2}, {"a": 3, "d": 1}),
]
"""Data sets of which one unit is counted so often in all and so often in one group, as UNION ALL does with a row."""


# A deep run asks each pair at both epsilons and both deltas, and noise of the whole reach.
@pytest.mark.parametrize(("pair", "epsilon", "delta"), few(in_turn(REPEATED, [5, 20], ["1e-6", "0.2"]), 5))
def test_delta_where_a_group_counts_a_unit_several_times(
    pair: tuple[int, int, str, dict[str, int], dict[str, int]],
    epsilon: int,
    delta: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    total, together, neighbours, one, other = pair
    mechanism = ThresholdedCounts(epsilon, delta, total, neighbours, together)
    reach = REACH if DEEP or epsilon == 5 else 10
    a, missed_a = law(mechanism, one, monkeypatch, reach)
    b, missed_b = law(mechanism, other, monkeypatch, reach)
    bound = exp(mechanism.epsilon)
    assert excess(a, b, bound) <= mechanism.delta + missed_a + bound * missed_b
    assert excess(b, a, bound) <= mechanism.delta + bound * missed_a + missed_b
    assert missed_a + bound * missed_b < Fraction(1, 10**3 if epsilon == 5 else 10**12)


@pytest.mark.parametrize(("epsilon", "times"), [(5, 3), (20, 10**6)])
def test_a_unit_that_counts_twice_where_once_was_assumed_is_caught(
    epsilon: int, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Planted fault: UNION ALL doubles a row, and the threshold is that of rows which count once. The fault is caught at
    # a delta at which it shows most.
    worst = Fraction(0)
    for digits in range(6, 13):
        wrong = ThresholdedCounts(epsilon, Fraction(1, 10**digits))
        right = ThresholdedCounts(epsilon, Fraction(1, 10**digits), 2, max_count=2)
        assert (
            excess(law(right, {"c": 2}, monkeypatch)[0], {frozenset(): Fraction(1)}, exp(epsilon))
            <= right.delta
        )
        found = excess(law(wrong, {"c": 2}, monkeypatch)[0], {frozenset(): Fraction(1)}, exp(epsilon))
        worst = max(worst, found / wrong.delta)
    assert worst > times


@pytest.mark.parametrize(("total", "together"), [(2, 2), (3, 3), (4, 2), (6, 1), (6, 6)])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "5", "20"])
@pytest.mark.parametrize("delta", ["1e-12", "1e-3", "0.5"])
def test_the_threshold_covers_every_split_of_a_unit_and_is_the_least(
    total: int, together: int, epsilon: str, delta: str
) -> None:
    mechanism = ThresholdedCounts(epsilon, delta, total, "add_remove", together)
    with mpmath.workdps(60):
        q = mpmath.exp(-mpmath.mpf(mechanism.scale.denominator) / mechanism.scale.numerator)
        splits = [
            one
            for groups in range(1, total + 1)
            for one in itertools.combinations_with_replacement(range(1, together + 1), groups)
            if sum(one) <= total
        ]

        def enough(at: int) -> bool:
            p = {n: q ** (at - n) / (1 + q) for n in range(1, together + 1)}
            return all(p[n] <= 1 - q**n for n in p) and all(
                1 - math.prod(1 - p[n] for n in one) <= mpmath.mpf(delta) for one in splits
            )

        assert enough(mechanism.threshold)
        assert mechanism.threshold == together or not enough(mechanism.threshold - 1)


# A deep run looks at two groups as well.
@pytest.mark.parametrize("groups", [1, 2] if DEEP else [1])
def test_delta_is_attained_and_one_less_exceeds_it(groups: int, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = ThresholdedCounts(2 * groups, "0.01", groups)
    new = {"c": 1, "d": 1} if groups == 2 else {"c": 1}
    q = exp(Fraction(-2))

    def delta_of(one: ThresholdedCounts) -> Fraction:
        base, _ = law(one, {"a": 3}, monkeypatch)
        more, _ = law(one, {"a": 3, **new}, monkeypatch)
        return excess(more, base, exp(one.epsilon))

    def formula(at: int) -> Fraction:
        return 1 - (1 - q ** (at - 1) / (1 + q)) ** groups

    assert delta_of(mechanism) == pytest.approx(float(formula(mechanism.threshold)), abs=1e-6)
    assert formula(mechanism.threshold) <= mechanism.delta < formula(mechanism.threshold - 1)
    # Planted fault: a threshold one too low.
    object.__setattr__(mechanism, "threshold", mechanism.threshold - 1)
    assert delta_of(mechanism) > mechanism.delta


def test_noise_for_one_group_where_two_may_move_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    # Planted fault: max_groups forgotten in the scale.
    wrong = ThresholdedCounts(4, "0.01", 1)
    a, _ = law(wrong, {"a": 6, "b": 6}, monkeypatch)
    b, _ = law(wrong, {"a": 7, "b": 7}, monkeypatch)
    assert excess(b, a, exp(4)) > wrong.delta


def test_a_group_without_units_must_not_be_asked_about() -> None:
    with pytest.raises(InvalidParameter, match="positive"):
        ThresholdedCounts(1, 1e-6).release([3, 0])


@pytest.mark.parametrize("groups", [1, 7, 1000])
@pytest.mark.parametrize("epsilon", ["0.001", "1", "20"])
@pytest.mark.parametrize("delta", ["1e-15", "1e-6", "0.5"])
def test_the_threshold_is_the_least(groups: int, epsilon: str, delta: str) -> None:
    mechanism = ThresholdedCounts(epsilon, delta, groups)

    def enough(at: int) -> bool:
        q = exp(-1 / mechanism.scale)
        p = exp(-(at - 1) / mechanism.scale) / (1 + q)
        return (1 - p) ** groups >= 1 - mechanism.delta and p <= 1 - q

    assert enough(mechanism.threshold)
    assert not enough(mechanism.threshold - 1)


def test_what_is_shown() -> None:
    mechanism = ThresholdedCounts(1, 1e-9)
    shown, noisy = mechanism.release([1000, 1, 2000])
    assert shown.tolist() == [0, 2]  # a wrong one of these three has a probability of 1e-9
    assert (noisy >= mechanism.threshold).all()
    assert (
        mechanism.suppressed(mechanism.surely(0.95))
        <= 0.05
        < mechanism.suppressed(mechanism.surely(0.95) - 1)
    )
    assert [len(part) for part in mechanism.release(np.empty(0, np.int64))] == [0, 0]


@pytest.mark.parametrize(
    ("parameters", "word"),
    [((1, 0), "delta"), ((1, 1), "delta"), ((0, 1e-9), "epsilon"), ((1, 1e-9, 0), "max_groups"),
     ((1, 1e-9, True), "max_groups"), ((1, 1e-9, 1, "all"), "neighbours"), ((1, 1e-9, 2, "add_remove", 3), "max_count"),
     ((1, 1e-9, 2, "add_remove", 0), "max_count"), ((1e-30, 1e-9), "2\\^")],
)  # fmt: skip
def test_parameters_out_of_range(parameters: tuple[object, ...], word: str) -> None:
    with pytest.raises(InvalidParameter, match=word):
        ThresholdedCounts(*parameters)  # type: ignore[arg-type]
