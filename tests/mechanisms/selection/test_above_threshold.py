from __future__ import annotations

import copy
import math
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from discreet.errors import Exhausted, InvalidParameter
from discreet.mechanisms import AboveThreshold
from discreet.noise.distribution import DiscreteLaplace
from tests.depth import DEEP, in_turn
from tests.mechanisms.chances import Chances, Found, ceiling, leak, stand_in
from tests.noise.fit import ALARM


def law(
    chances: Chances, mechanism: AboveThreshold, values: list[int], least: float = 1e-7
) -> Found[tuple[bool, ...]]:
    return chances.every(lambda: tuple(mechanism.start(0).above_each(values).tolist()), least)


# Sensitivity 1: every value moves by at most one.
PAIRS = [([0, 0], [1, -1]), ([1, 1], [0, 0]), ([0, 1], [1, 0]), ([-1, 0], [0, 1])]


# A deep run asks each pair with all parameters, and leaves as little undecided with `resets`.
@pytest.mark.parametrize(
    ("pair", "parameters"), in_turn(PAIRS, [{"c": 1}, {"c": 2}, {"c": 2, "resets": True}])
)
def test_neighbours_differ_by_at_most_epsilon(
    monkeypatch: pytest.MonkeyPatch, pair: tuple[list[int], list[int]], parameters: dict[str, Any]
) -> None:
    resets = "resets" in parameters
    chances = stand_in(monkeypatch, 0.03 if resets else 1e-3)
    mechanism = AboveThreshold(6, **parameters)
    laws = [law(chances, mechanism, values, 1e-6 if resets and not DEEP else 1e-7) for values in pair]
    assert leak(*laws) <= 6
    assert resets or ceiling(*laws) <= 6.6  # the rarest outcomes have little more mass than what is undecided


def test_what_a_run_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    chances = stand_in(monkeypatch, 1e-3)
    found, _ = law(chances, AboveThreshold(6), [0, 0])
    assert set(found) == {
        (True,),
        (False, True),
        (False, False),
    }  # it ends at the first yes, and gives no number


@pytest.mark.parametrize(("one", "other"), [([0, 0], [1, 1]), ([0, 1], [0, 2]), ([-1, 0], [0, 0])])
def test_monotonic_values_need_half_the_noise(
    monkeypatch: pytest.MonkeyPatch, one: list[int], other: list[int]
) -> None:
    chances = stand_in(monkeypatch, 1e-3)
    for c in (1, 2):
        mechanism = AboveThreshold(6, c=c, monotonic=True)
        assert leak(law(chances, mechanism, one), law(chances, mechanism, other)) <= 6


# What was published and is wrong: each planted, each found out.


def exact(values: list[int], answers: list[bool], threshold: float, query: float | None) -> float:
    """ln P(answers), by the sum over the noise of the threshold; query None: questions have no noise."""
    z = np.arange(-400, 401)
    weight = DiscreteLaplace(Fraction(threshold)).pmf(z)
    for value, answer in zip(values, answers, strict=True):
        if query is None:
            yes = (value >= z).astype(float)
        else:
            yes = np.asarray(DiscreteLaplace(Fraction(query)).survival(z - value - 1))  # P(N >= z - value)
        weight = weight * (yes if answer else 1 - yes)
    return math.log(weight.sum()) if weight.sum() else -math.inf


def worst(
    values: list[int], other: list[int], answers: list[bool], threshold: float, query: float | None
) -> float:
    return exact(values, answers, threshold, query) - exact(other, answers, threshold, query)


def test_the_sum_over_thresholds_agrees_with_enumeration(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = AboveThreshold(6, c=2)
    scales = float(mechanism.threshold_scale), float(mechanism.scale)
    found, undecided = law(stand_in(monkeypatch, 1e-4), mechanism, [0, 1])
    assert undecided < 0.002
    for answers, mass in found.items():
        assert float(mass) == pytest.approx(math.exp(exact([0, 1], list(answers), *scales)), abs=0.002)


@pytest.mark.parametrize("c", [1, 2, 4])
@pytest.mark.parametrize("epsilon", [0.5, 1])
def test_long_runs_stay_below_epsilon(c: int, epsilon: float) -> None:
    mechanism = AboveThreshold(epsilon, c=c)
    scales = float(mechanism.threshold_scale), float(mechanism.scale)
    for yes in (2, 10):
        values, other = [0] * 40 + [0] * c, [1] * 40 + [-1] * c
        answers = [False] * 40 + [True] * c
        one, two = ([v + yes for v in w] for w in (values, other))
        assert abs(worst(one, two, answers, *scales)) <= epsilon


@pytest.mark.parametrize(
    ("fault", "scales"),
    [
        ("noise ignores c", (lambda m: m.threshold_scale, lambda m: m.scale / m.c)),
        (
            "half the noise for values that move both ways",
            (lambda m: m.threshold_scale, lambda m: m.scale / 4),
        ),
    ],
)
def test_faults_of_scale_are_seen(fault: str, scales: Any) -> None:
    mechanism = AboveThreshold(1, c=4)
    threshold, query = (float(scale(mechanism)) for scale in scales)
    answers = [False] * 40 + [True] * 4
    # The yeses lie far up, where their tails are exponential.
    values, other = [20] * 40 + [0] * 4, [21] * 40 + [-1] * 4
    assert abs(worst(values, other, answers, threshold, query)) > 1.2, fault


def test_questions_without_noise_are_seen() -> None:
    # Two questions, one no and one yes, tell of D and D' with certainty which it is not.
    assert worst([0, 1], [1, 0], [False, True], 1.0, None) == math.inf


def test_a_number_in_place_of_a_yes_is_seen() -> None:
    # Planted fault: the noisy value that was compared is released, and so is that the threshold is at most it.
    mechanism = AboveThreshold(1)
    threshold, query = (DiscreteLaplace(s) for s in (mechanism.threshold_scale, mechanism.scale))
    z = np.arange(-400, 401)

    def log_mass(value: int, noes: int, y: int) -> float:
        no = 1 - np.asarray(query.survival(z - value - 1))
        return math.log((threshold.pmf(z) * no**noes * (z <= y)).sum() * float(query.pmf(y - value)))

    assert log_mass(0, 40, -5) - log_mass(1, 40, -5) > 3


# Runs.


def test_a_run_ends_after_c_yeses() -> None:
    watch = AboveThreshold(50, c=2).start(100)
    assert watch.left == 2
    assert watch.above_each([0, 0, 1000, 0]).tolist() == [False, False, True, False]
    assert watch.left == 1
    assert watch.above_each([0, 2000, 0, 3000]).tolist() == [False, True]
    for ask in (lambda: watch.above(0), lambda: watch.above_each([1, 2])):
        with pytest.raises(Exhausted, match="another run"):
            ask()
    assert watch.above_each([]).tolist() == []


def test_noise_of_questions_is_fresh() -> None:
    # 400 questions at the threshold, whose noise is far below theirs: were one draw used for all, all answers of
    # a run would be alike; as it is, that has a probability below 10^-14.
    for _ in range(20):
        answers = AboveThreshold("1/10", c=400).start(0).above_each(np.zeros(400, int))
        assert 0 < answers.mean() < 1


def test_the_threshold_is_drawn_anew_only_with_resets(monkeypatch: pytest.MonkeyPatch) -> None:
    for resets, thresholds in ((False, 1), (True, 3)):
        mechanism = AboveThreshold(50, c=3, resets=resets)
        watch = mechanism.start(100)
        seen = []
        for _ in range(3):
            seen.append(watch._noisy)
            watch._noisy = len(seen)
            assert watch.above(10**6)
        assert sum(before not in (0, 1, 2, 3) for before in seen) == thresholds


def test_the_noisy_threshold_has_its_law() -> None:
    # 4,000 runs; false alarm 1e-11; a scale that is off by 15 % is caught.
    mechanism = AboveThreshold("1/10", c=1)
    noisy = np.array([mechanism.start(7)._noisy - 7 for _ in range(4000)])
    paper = DiscreteLaplace(mechanism.threshold_scale)
    m = int(paper.quantile(0.8))
    inside = 1 - 2 * float(paper.survival(m))
    assert stats.binomtest(int((abs(noisy) <= m).sum()), 4000, inside).pvalue > ALARM


def test_a_run_cannot_be_copied() -> None:
    watch = AboveThreshold(1).start(0)
    for twin in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="copied"):
            twin(watch)


FORK = """
import os
from discreet.errors import Exhausted
from discreet.mechanisms import AboveThreshold

watch = AboveThreshold(100, c=1).start(0)
child = os.fork()
try:
    said = str(watch.above(10**6))
except Exhausted as error:
    said = error.cause
os.write(1, said.encode() + b";")
if not child:
    os._exit(0)
os.waitpid(child, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_does_not_double_the_yeses() -> None:
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, encoding="utf-8", check=True)
    assert sorted(done.stdout.split(";")) == ["", "The run belongs to another process.", "True"]


def test_threads_share_the_yeses() -> None:
    for _ in range(20):
        watch = AboveThreshold(100, c=3).start(0)

        def ask(_: int, watch: Any = watch) -> bool:
            try:
                return bool(watch.above(10**6))
            except Exhausted:
                return False

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(ask, range(24))) == 3


# Scales and error.


def test_scales_add_up_to_epsilon() -> None:
    for parameters in ({}, {"c": 5}, {"c": 5, "monotonic": True}, {"sensitivity": 3, "c": 2}):
        mechanism = AboveThreshold("7/10", **parameters)  # type: ignore[arg-type]
        times = (1 if mechanism.monotonic else 2) * mechanism.c
        spent = (
            mechanism.sensitivity / mechanism.threshold_scale
            + times * mechanism.sensitivity / mechanism.scale
        )
        assert spent == mechanism.loss == Fraction(7, 10)
    resets = AboveThreshold(1, c=4, resets=True)
    assert 4 * (1 / resets.threshold_scale + 2 / resets.scale) == 1
    assert AboveThreshold(1, 0.3, granularity=0.25).scale == AboveThreshold(1, 0.5).scale


@pytest.mark.parametrize("parameters", [{}, {"c": 3}, {"c": 3, "resets": True}, {"granularity": 0.25}])
def test_error_covers(parameters: dict[str, Any]) -> None:
    # 500 runs of 20 questions well below and one well above: at 90 % at most 50 may fail; false alarm of 95
    # failures is below 1e-9. The bound is a union bound, and holds with room. A deep run makes 1,000: at most 100 may
    # fail, and 190 do with a chance far below 1e-9.
    runs = 1000 if DEEP else 500
    mechanism = AboveThreshold(1, **parameters)
    margin = mechanism.error(21, 0.9)
    values = [100 - math.ceil(margin) - 1] * 20 + [100 + math.ceil(margin) + 1]
    good = [mechanism.start(100).above_each(values).tolist() == [False] * 20 + [True] for _ in range(runs)]
    assert sum(good) > 0.81 * runs
    assert mechanism.error(1000) > mechanism.error(10)
    assert isinstance(margin, float)


def test_large_numbers_do_not_wrap() -> None:
    watch = AboveThreshold(Fraction(1, 10**16), c=2).start(2**62 - 1)
    assert watch.above_each([-(2**62) + 1, 2**62 - 1]).size in (1, 2)
    assert AboveThreshold(1, granularity=2**-20).start(0.5).above(2.0**30)
    many = AboveThreshold(10, c=1).start(10**6).above_each(np.zeros(200_000, int))
    assert many.size == 200_000
    assert not many.any()


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 0.5, True, "x", None, [1], 2**62, 2**80])
def test_bad_values(bad: Any) -> None:
    mechanism = AboveThreshold(1)
    with pytest.raises(InvalidParameter):
        mechanism.start(0).above(bad)
    if bad != [1]:
        with pytest.raises(InvalidParameter):
            mechanism.start(bad)
    with pytest.raises(InvalidParameter):
        mechanism.start(0).above_each([[1, 2]])


@pytest.mark.parametrize("name", ["epsilon", "sensitivity", "c", "resets", "monotonic", "granularity"])
@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), "x", [1], 0.3j])
def test_bad_parameters(name: str, bad: Any) -> None:
    with pytest.raises(InvalidParameter, match=name):
        AboveThreshold(**{"epsilon": 1, name: bad})
    with pytest.raises(InvalidParameter, match="questions"):
        AboveThreshold(1).error(0)
