"""Randomised response, two coins, unary encoding and local Laplace noise."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from discreet.errors import InvalidParameter
from discreet.mechanisms import (
    Frequencies,
    HadamardResponse,
    LocalLaplace,
    RandomizedResponse,
    TwoCoins,
    UnaryEncoding,
)
from discreet.mechanisms.laplace_sum import equal as laplace_sum
from discreet.mechanisms.local import randomized_response
from discreet.mechanisms.local.frequencies import _binomial
from tests.depth import DEEP
from tests.mechanisms.chances import Chances, Found, ceiling, leak, stand_in
from tests.noise.fit import ALARM, alarm, laplace_alarms
from tests.noise.tape import agrees, exp

SLACK = 1e-9  # laws of coins are whole: next to nothing is undecided


def law(chances: Chances, mechanism: Any, value: Any) -> Found[Any]:
    return chances.every(lambda: tuple(np.ravel(mechanism.release([value])).tolist()), 0)


def widest(chances: Chances, mechanism: Any, values: list[Any]) -> tuple[float, float]:
    """The largest loss over all pairs of values: proven, and possible."""
    laws = [law(chances, mechanism, value) for value in values]
    pairs = list(itertools.combinations(laws, 2))
    return max(leak(*pair) for pair in pairs), max(ceiling(*pair) for pair in pairs)


# The guarantee, by every value of every coin.


@pytest.mark.parametrize("epsilon", [0.1, 1, 4])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_randomized_response_loses_exactly_epsilon(chances: Chances, epsilon: float, k: int) -> None:
    low, high = widest(chances, RandomizedResponse(epsilon, k), list(range(k)))
    assert low == pytest.approx(epsilon, abs=SLACK)
    assert high == pytest.approx(epsilon, abs=SLACK)


def test_randomized_response_has_the_law_on_paper(chances: Chances) -> None:
    mechanism = RandomizedResponse("1/2", ["a", "b", "c"])
    e = exp(Fraction(1, 2))
    found, undecided = law(chances, mechanism, "b")
    assert agrees(found, undecided + Fraction(1, 2**100), lambda r: (e if r == ("b",) else 1) / (e + 2))


@pytest.mark.parametrize("epsilon", [0.2, 1, 3])
def test_unary_encoding_loses_exactly_epsilon(chances: Chances, epsilon: float) -> None:
    low, high = widest(chances, UnaryEncoding(epsilon, 3), [0, 1, 2])
    assert low == pytest.approx(epsilon, abs=SLACK)
    assert high == pytest.approx(epsilon, abs=SLACK)


@pytest.mark.parametrize("epsilon", [0.2, 1, 3])
@pytest.mark.parametrize("k", [2, 3, 4])
def test_hadamard_response_loses_exactly_epsilon(chances: Chances, epsilon: float, k: int) -> None:
    mechanism = HadamardResponse(epsilon, k)
    low, high = widest(chances, mechanism, list(range(k)))
    assert low == pytest.approx(epsilon, abs=SLACK)
    assert high == pytest.approx(epsilon, abs=SLACK)
    # A report supports its own category with probability p, any other with exactly one half.
    for value in range(k):
        found, _ = law(chances, mechanism, value)
        for category in range(k):
            support = sum(
                float(mass) * int(mechanism.estimate(np.array(report)).support[category])
                for report, mass in found.items()
            )
            assert support == pytest.approx(mechanism.truth if category == value else 0.5, abs=1e-12)


@pytest.mark.parametrize(("truth", "yes"), [(0.5, 0.5), (0.9, 0.5), (0.5, 0.1), ("1/3", "6/7")])
def test_two_coins_lose_what_they_say(chances: Chances, truth: Any, yes: Any) -> None:
    coins = TwoCoins(truth, yes)
    low, high = widest(chances, coins, [False, True])
    assert float(coins.loss) >= high - SLACK
    assert float(coins.loss) == pytest.approx(low, abs=SLACK)


def test_the_same_epsilon_whatever_the_coins_is_seen(
    chances: Chances, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Planted fault: ln 3 is claimed for other coins than two fair ones.
    low, _ = widest(chances, TwoCoins(truth=0.9), [False, True])
    assert low > math.log(3) + 1
    # Planted fault: for three categories, the coin that is right for two.
    fair = chances.bernoulli_odds
    monkeypatch.setattr(
        randomized_response, "bernoulli_odds", lambda x, size, weight: fair(x, size, weight=1)
    )
    low, _ = widest(chances, RandomizedResponse(1, 3), [0, 1, 2])
    assert low > 1.6


def test_lies_that_may_be_true_are_seen(chances: Chances, monkeypatch: pytest.MonkeyPatch) -> None:
    # Planted fault: a lie is uniform among all but the first category, so that some truths are never told.
    monkeypatch.setattr(randomized_response, "uniform", lambda n, size: np.zeros(size, np.int64))
    low, _ = widest(chances, RandomizedResponse(1, 3), [0, 1, 2])
    assert low > 20


def test_an_own_bit_that_is_too_sure_is_seen(chances: Chances) -> None:
    # Planted fault: the own bit is 1 with probability 1 - q instead of 1/2: epsilon twice.
    class Sure(UnaryEncoding):
        def release(self, values: Any) -> Any:
            bits = chances.bernoulli_odds(self.epsilon, (1, 3))
            bits[0, values[0]] = not chances.bernoulli_odds(self.epsilon)
            return np.packbits(bits, axis=1)

    low, _ = widest(chances, Sure(1, 3), [0, 1, 2])
    assert low > 1.9


def test_local_laplace_by_every_value(monkeypatch: pytest.MonkeyPatch) -> None:
    chances = stand_in(monkeypatch, 1e-7)
    monkeypatch.setattr(LocalLaplace, "granularity", property(lambda self: Fraction(1)))
    mechanism = LocalLaplace(2, 0, 3)
    assert mechanism.scale == Fraction(3, 2)
    values = [0, 1, 3, 50, -7]  # what lies outside is clamped
    low, _ = widest(chances, mechanism, values)
    assert low == pytest.approx(2, abs=0.01)
    assert leak(law(chances, mechanism, 3), law(chances, mechanism, 50)) < 0.01

    class Believing(LocalLaplace):  # planted fault: bounds are believed, not enforced
        def release(self, values: Any) -> Any:
            return np.array(values) + chances.laplace(self.scale, 1)

    low, _ = widest(chances, Believing(2, 0, 3), values)
    assert low > 4


# Real coins.


def test_goodness_of_fit_of_randomized_response() -> None:
    # 200,000 reports for each of 4 values; false alarm 1e-11; a probability of .2 wrong by 3.5 % is caught.
    mechanism = RandomizedResponse("1/2", 4)
    for value in range(4):
        reports = mechanism.release(np.full(200_000, value))
        paper = np.full(4, mechanism.lie)
        paper[value] = mechanism.truth
        assert alarm(np.bincount(reports, minlength=4), paper) > ALARM
        assert alarm(np.bincount(reports, minlength=4), np.roll(paper, 1)) < ALARM


def test_goodness_of_fit_of_unary_encoding() -> None:
    # 200,000 reports of 20 bits; false alarm 2e-10 in all; a bit's probability wrong by 1.6 % is caught.
    mechanism = UnaryEncoding(1, 20)
    support = mechanism.estimate(mechanism.release(np.full(200_000, 7))).support
    for place in range(20):
        p = 0.5 if place == 7 else 1 / (1 + math.e)
        assert stats.binomtest(int(support[place]), 200_000, p).pvalue > ALARM


def test_goodness_of_fit_of_two_coins_and_local_laplace() -> None:
    # 200,000 reports each; false alarm 1e-11 a check.
    yes = TwoCoins(0.7, 0.2).release(np.ones(200_000, bool))
    assert stats.binomtest(int(yes.sum()), 200_000, 0.76).pvalue > ALARM
    mechanism = LocalLaplace(1, 0, 1)
    reports = mechanism.release(np.full(200_000, 0.25))
    steps = np.rint((reports - 0.25) / float(mechanism.granularity)).astype(np.int64)
    alarms = laplace_alarms(steps, float(mechanism.scale / mechanism.granularity))
    assert min(alarms.values()) > ALARM, alarms


def test_each_person_has_coins_of_their_own() -> None:
    reports = RandomizedResponse(1).release(np.zeros(1000, int))
    assert 100 < reports.sum() < 450  # one coin for all would give 0 or 1,000; false alarm below 1e-20
    assert len(set(LocalLaplace(1, 0, 1).release(np.zeros(100)).tolist())) > 90


# Estimates.


@pytest.mark.parametrize(
    "mechanism",
    [
        RandomizedResponse(1, 4),
        UnaryEncoding(1, 4),
        *[RandomizedResponse(3, 4)] * DEEP,
        HadamardResponse(1, 4),
    ],
)
def test_estimates_are_unbiased_and_have_the_error_they_say(mechanism: Any) -> None:
    # 1,000 surveys of 500 people: the mean is within 7 deviations (false alarm 3e-12), the rms within 15 %,
    # which is 6.7 of its own. A deep run makes 2,000, whose rms is within 12 %, 7.6 of its own.
    surveys, most = (2000, 0.12) if DEEP else (1000, 0.15)
    people = np.repeat(np.arange(4), [250, 150, 100, 0])
    counts = np.array([mechanism.estimate(mechanism.release(people)).counts for _ in range(surveys)])
    truth = np.array([250, 150, 100, 0])
    sd = mechanism.estimate(mechanism.release(people)).sd
    assert np.abs(counts.mean(axis=0) - truth).max() < 7 * sd.max() / math.sqrt(surveys)
    assert counts.std(axis=0) == pytest.approx(exact_sd(mechanism, truth, 500), rel=most)
    assert (counts.std(axis=0) / 500 <= (1 + most) * mechanism.rms(500)).all() or isinstance(
        mechanism, UnaryEncoding
    )


def exact_sd(mechanism: Any, truth: Any, n: int) -> Any:
    p = 0.5 if isinstance(mechanism, UnaryEncoding) else mechanism.truth
    q = getattr(mechanism, "false", getattr(mechanism, "lie", 0.5))
    return np.sqrt(truth * p * (1 - p) + (n - truth) * q * (1 - q)) / (p - q)


@pytest.mark.parametrize(("have", "n"), [(0, 5), (3, 10), (40, 100), (900, 1000)])
def test_intervals_hold_exactly(have: int, n: int) -> None:
    # The coverage is summed over every number of reports, not sampled.
    for p, q in ((0.75, 0.25), (0.5, 0.1)):
        one, other = (stats.binom(m, x).pmf(np.arange(n + 1)) for m, x in ((have, p), (n - have, q)))
        support = np.convolve(one, other)[: n + 1]
        covered = 0.0
        for seen in np.flatnonzero(support > 1e-7):
            low, high = Frequencies((0,), n, np.array([seen]), p, q).interval(0, 0.9)
            assert 0 <= low <= high <= n or seen in (0, n)
            covered += support[seen] * (low <= have <= high)
        assert 0.9 <= covered <= 0.995 or have == 0


def test_intervals_of_large_surveys_are_those_of_the_normal_law() -> None:
    seen = Frequencies((0,), 1_000_000, np.array([400_000]), 0.6, 0.3)
    low, high = seen.interval(0)
    assert (low + high) / 2 == pytest.approx(seen.counts[0], abs=5)
    assert (high - low) / 2 == pytest.approx(1.96 * seen.sd[0], rel=0.01)


def test_a_binomial_law() -> None:
    for n, p in ((0, 0.3), (1, 0.2), (50, 0.6), (100_000, 0.01)):
        start, weights = _binomial(n, p)
        paper = stats.binom(n, p).pmf(np.arange(start, start + weights.size))
        assert weights == pytest.approx(paper, rel=1e-6, abs=1e-15)


def test_checklist_sample_sizes() -> None:
    # rms .01: epsilon .1 -> 999,167 (.08 of a person more), epsilon 1 -> 9,207; half the error, four times.
    for epsilon, people in ((0.1, 999_167), (1, 9_207)):
        mechanism = RandomizedResponse(epsilon)
        e = math.exp(epsilon)
        exactly = e / (0.01**2 * (e - 1) ** 2)
        assert round(exactly) == people
        assert mechanism.sample_size(0.01) == math.ceil(exactly)
        assert mechanism.sample_size(0.005) == math.ceil(4 * exactly)
        assert mechanism.rms(people) == pytest.approx(0.01, rel=1e-4)
        # With a trusted curator: sqrt(2)/(alpha epsilon), twice for half the error.
        assert round(math.sqrt(2) / (0.01 * epsilon)) == (1414 if epsilon == 0.1 else 141)


def test_unary_encoding_is_better_for_many_categories() -> None:
    for epsilon in (0.5, 1, 2):
        turning = 3 * math.exp(epsilon) + 2
        for k, better in ((math.ceil(turning) + 1, True), (math.floor(turning) - 1, False)):
            direct = RandomizedResponse(epsilon, k)
            rare = direct.lie * (1 - direct.lie) / (direct.truth - direct.lie) ** 2
            assert (UnaryEncoding(epsilon, k)._variance < rare) == better
    assert UnaryEncoding(1, 10**6).sample_size(0.01) == math.ceil(4 * math.e / (0.01 * (math.e - 1)) ** 2)


@pytest.mark.parametrize(
    "mechanism",
    [RandomizedResponse(1), RandomizedResponse(1, 9), UnaryEncoding(1, 9), HadamardResponse(1, 9)],
)
def test_the_error_before_asking_holds(mechanism: Any) -> None:
    # 300 surveys of 200 people at 90 %: Hoeffding's bound fails in far fewer than 30; 70 is 7 deviations above 30.
    half = mechanism.error(200, 0.9)
    misses = 0
    for _ in range(300):
        shares = mechanism.estimate(mechanism.release(np.ones(200, int))).shares
        misses += abs(shares[1] - 1) > half
    assert misses < 70


def test_a_million_categories() -> None:
    # 20,000 people; the interval misses with probability 1e-9 at most.
    mechanism = HadamardResponse(1, 1_000_000)
    estimate = mechanism.estimate(mechanism.release(np.repeat([0, 999_999], [12_000, 8_000])))
    for category, have in ((0, 12_000), (999_999, 8_000), (5, 0)):
        low, high = estimate.interval(category, "0.9999999999")
        assert low <= have <= high
    assert mechanism.sample_size(0.01) == math.ceil(10**4 / math.tanh(0.5) ** 2)
    assert mechanism.rms(100) == pytest.approx(0.1 / math.tanh(0.5))
    assert mechanism.loss == 1


# Local Laplace.


def test_a_sum_of_laplace_variables() -> None:
    for x in (0.1, 1.0, 7.0):
        assert laplace_sum.tail(1, x) == pytest.approx(math.exp(-x), rel=1e-12)
        assert laplace_sum.tail(2, x) == pytest.approx(math.exp(-x) * (1 + x / 2), rel=1e-12)
        assert laplace_sum.tail(3, x) == pytest.approx(math.exp(-x) * (1 + 5 * x / 8 + x * x / 8), rel=1e-12)
    assert laplace_sum.reach(1, Fraction(19, 20)) == pytest.approx(math.log(20), rel=1e-9)
    assert laplace_sum.reach(10**6, Fraction(19, 20)) == pytest.approx(1.95996 * math.sqrt(2e6), rel=1e-4)
    assert laplace_sum.tail(5, 0) == 1
    # n = 7 by the convolution of densities on a fine grid.
    place = np.arange(-60, 60, 0.01)
    density = np.exp(-np.abs(place)) / 2
    transform = np.fft.fft(np.fft.ifftshift(density)) * 0.01
    total = np.fft.fftshift(np.fft.ifft(transform**7).real) / 0.01
    beyond = total[np.abs(place) > 6].sum() * 0.01
    assert laplace_sum.tail(7, 6.0) == pytest.approx(beyond, rel=0.005)


def test_local_means() -> None:
    # 600 surveys of 30 people at 90 %: binomial, false alarm 1e-11; a cover off by 8 % is caught. A deep run
    # makes 1,000 and catches 6 %.
    surveys = 1000 if DEEP else 600
    mechanism = LocalLaplace(2, -1, 3)
    values = np.linspace(-1, 3, 30)
    means = [mechanism.estimate(mechanism.release(values)) for _ in range(surveys)]
    inside = sum(low <= 1 <= high for low, high in (mean.interval(0.9) for mean in means))
    assert stats.binomtest(inside, surveys, 0.9).pvalue > ALARM
    assert np.std([mean.value for mean in means]) == pytest.approx(mechanism.rms(30), rel=0.2)
    assert mechanism.rms(30) == means[0].sd
    low, high = means[0].interval(0.9)
    assert (high - low) / 2 == pytest.approx(mechanism.error(30, 0.9))
    assert mechanism.sample_size(0.1) == math.ceil(2 * 4 / 0.01)


def test_bounds_are_enforced() -> None:
    mechanism = LocalLaplace(1000, 0, 1)
    reports = mechanism.release([0.0, 1.0, 0.5, 77.0, -3.0, 1e9])
    assert reports == pytest.approx([0, 1, 0.5, 1, 0, 1], abs=0.1)
    assert (reports / float(mechanism.granularity) % 1 == 0).all()
    assert mechanism.granularity * 2**20 <= mechanism.scale
    assert LocalLaplace("1/3", "0.1", "0.7").loss == Fraction(1, 3)


# Misuse.


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), True, "x", [1]])
def test_bad_epsilons(epsilon: Any) -> None:
    kinds: list[Any] = [RandomizedResponse, lambda e: UnaryEncoding(e, 3), lambda e: HadamardResponse(e, 3)]
    for make in (*kinds, lambda e: LocalLaplace(e, 0, 1)):
        with pytest.raises(InvalidParameter, match="epsilon"):
            make(epsilon)


@pytest.mark.parametrize("epsilon", [33, "1/2147483648", 1e9])
def test_epsilons_without_use(epsilon: Any) -> None:
    for make in (RandomizedResponse, UnaryEncoding, HadamardResponse):
        with pytest.raises(InvalidParameter, match="outside"):
            make(epsilon, 3)


@pytest.mark.parametrize("epsilon", [32, "1/1073741824"])
def test_the_ends_of_the_range_work(epsilon: Any) -> None:
    for make in (RandomizedResponse, UnaryEncoding, HadamardResponse):
        mechanism: Any = make(epsilon, 5)
        estimate = mechanism.estimate(mechanism.release([0, 1, 1]))
        assert np.isfinite(estimate.counts).all()
        assert 0 <= estimate.interval(1)[0] <= estimate.interval(1)[1] <= 3
        assert mechanism.rms(10) > 0
        assert mechanism.sample_size(1) >= 0
        assert mechanism.error(10) > 0


@pytest.mark.parametrize("categories", [0, 1, -3, ["a"], ["a", "a"], "ab", 2.5, None, [[1], [2]], True])
def test_bad_categories(categories: Any) -> None:
    for kind in (RandomizedResponse, UnaryEncoding, HadamardResponse):
        with pytest.raises(InvalidParameter, match="categories"):
            kind(1, categories)


@pytest.mark.parametrize("values", [[3], [-1], ["a"], [float("nan")], 1, [[0]], "01", [None], [[1], [2]]])
def test_bad_values(values: Any) -> None:
    kinds: list[Any] = [RandomizedResponse(1), RandomizedResponse(1, 3), UnaryEncoding(1, 3), TwoCoins()]
    for mechanism in (*kinds, HadamardResponse(1, 3)):
        with pytest.raises(InvalidParameter):
            mechanism.release(values)
    with pytest.raises(InvalidParameter):
        RandomizedResponse(1, 3).release(np.array([0, 3]))


@pytest.mark.parametrize("values", [["a"], [float("nan")], [float("inf")], 1, [[0]], [True], [1e300]])
def test_bad_values_of_local_laplace(values: Any) -> None:
    with pytest.raises(InvalidParameter):
        LocalLaplace(1, 0, 1).release(values)


@pytest.mark.parametrize(
    "bounds", [(1, 1), (2, 1), (0, float("inf")), (float("nan"), 1), (10**30, 10**30 + 1)]
)
def test_bad_bounds(bounds: Any) -> None:
    with pytest.raises(InvalidParameter):
        LocalLaplace(1, *bounds)


@pytest.mark.parametrize("p", [0, 1, -1, 2, float("nan"), True, "x"])
def test_bad_coins(p: Any) -> None:
    for parameters in ({"truth": p}, {"yes": p}):
        with pytest.raises(InvalidParameter, match=next(iter(parameters))):
            TwoCoins(**parameters)


def test_bad_reports_and_numbers() -> None:
    everything: list[Any] = [RandomizedResponse(1), TwoCoins(), LocalLaplace(1, 0, 1), UnaryEncoding(1, 3)]
    everything.append(HadamardResponse(1, 3))
    for mechanism in everything:
        with pytest.raises(InvalidParameter):
            mechanism.estimate([])
    shapes: list[Any] = [(3, 2), (3,), (0, 1)]
    wrong: list[Any] = [np.zeros((3, 1)), *(np.zeros(shape, np.uint8) for shape in shapes)]
    for reports in wrong:
        with pytest.raises(InvalidParameter):
            UnaryEncoding(1, 3).estimate(reports)
    for reports in ([-1], [8], [0.5], [[1]]):
        with pytest.raises(InvalidParameter):
            HadamardResponse(1, 3).estimate(reports)
    with pytest.raises(InvalidParameter, match="categories"):
        HadamardResponse(1, 2**30)
    for mechanism in everything:
        if not isinstance(mechanism, TwoCoins):
            for bad in (0, -1, 2.5):
                with pytest.raises(InvalidParameter):
                    mechanism.rms(bad)
            with pytest.raises(InvalidParameter, match="error"):
                mechanism.sample_size(0)
    answers = RandomizedResponse(1).estimate([0, 1])
    with pytest.raises(InvalidParameter, match="category"):
        answers.interval(2)
    with pytest.raises(InvalidParameter, match="confidence"):
        answers.interval(1, 1)


def test_a_million_categories_are_short_to_write() -> None:
    mechanism = HadamardResponse(1, 1_000_000)
    assert repr(mechanism) == "HadamardResponse(epsilon=Fraction(1, 1), categories=range(0, 1000000))"
    assert mechanism == HadamardResponse(1, 1_000_000)
    assert hash(mechanism) == hash(HadamardResponse(1, 1_000_000))


def test_names_go_in_and_out() -> None:
    survey = RandomizedResponse(30, ["bus", "bicycle", "car"])
    assert survey.release(["car", "bus"]) == ["car", "bus"]
    assert survey.estimate(["car", "bus"]).support.tolist() == [1, 0, 1]
    assert survey.loss == 30
    assert RandomizedResponse(1).release([]).shape == (0,)
    assert RandomizedResponse(30).release([True, False]).tolist() == [1, 0]
