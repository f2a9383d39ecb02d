from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from discreet.errors import InvalidParameter
from discreet.mechanisms import NoisyMax, PermuteAndFlip
from discreet.mechanisms.selection import noisy_max
from discreet.mechanisms.selection.noisy_max import Noise
from discreet.noise import geometric, laplace, unbounded
from discreet.noise.distribution import DiscreteLaplace
from tests.depth import DEEP, in_turn
from tests.mechanisms.chances import Chances, Found, ceiling, leak, stand_in
from tests.noise.fit import ALARM, alarm

VOTES = {"Aquila": 31, "Orion": 27, "Lyra": 12, "Cetus": 3}
KINDS: list[Noise] = ["exponential", "laplace"]
RELEASES = 4000 if DEEP else 2500


def law(chances: Chances, mechanism: NoisyMax, scores: list[int]) -> Found[Any]:
    def run() -> Any:
        names = mechanism.release(scores)
        return tuple(names) if isinstance(names, list) else names

    return chances.every(run)


def first_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ties go to the first candidate: the least fair of the orders, and no less private."""
    monkeypatch.setattr(noisy_max, "uniform", lambda n, size: np.arange(size))


PAIRS = [([1, 0], [0, 1]), ([0, 0], [1, -1]), ([0, 0], [-1, 1]), ([0, 0], [0, 1])]


# A deep run asks each pair with both kinds of noise and both ways of ties.
@pytest.mark.parametrize(
    ("pair", "how"), in_turn(PAIRS, [(noise, ties) for ties in ("random", "first") for noise in KINDS])
)
def test_neighbours_differ_by_at_most_epsilon(
    monkeypatch: pytest.MonkeyPatch, pair: tuple[list[int], list[int]], how: tuple[Noise, str]
) -> None:
    (one, other), (noise, ties) = pair, how
    chances = stand_in(monkeypatch, 1e-5)
    if ties == "first":
        first_wins(monkeypatch)
    mechanism = NoisyMax(3, noise=noise)
    laws = [law(chances, mechanism, scores) for scores in (one, other)]
    # At scale 2/3 ties are common: what breaking them costs would be seen, as the next test shows.
    assert ceiling(laws[0], laws[1]) <= 3.01


def test_ties_broken_by_the_data_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    # Planted fault: of equal noisy scores, the one whose true score is higher wins.
    chances = stand_in(monkeypatch, 1e-5)

    def faulty(scores: list[int]) -> int:
        noisy = np.array(scores) + chances.geometric(Fraction(2, 3), 2)
        return int(np.lexsort((-np.array(scores), -noisy))[0])

    laws = [chances.every(lambda u=u: faulty(u)) for u in ([0, 1], [1, 0])]  # type: ignore[misc]
    assert leak(*laws) > 3.1


# A deep run asks both kinds of all three.
@pytest.mark.parametrize(
    ("scores", "noise"),
    in_turn([([0, 0, 0], [1, -1, 0]), ([1, 0, 0], [0, 1, 1]), ([0, 1, 2], [1, 0, 1])], KINDS[::-1]),
)
def test_a_podium_of_two_costs_epsilon_in_all(
    monkeypatch: pytest.MonkeyPatch, noise: Noise, scores: tuple[list[int], list[int]]
) -> None:
    one, other = scores
    chances = stand_in(monkeypatch, 1e-5)
    first_wins(monkeypatch)
    laws = [law(chances, NoisyMax(8, k=2, noise=noise), some) for some in (one, other)]
    assert len(laws[0][0]) == 6  # ordered pairs
    assert leak(*laws) <= 8
    if noise == "exponential":  # planted fault: the noise of one name for a list of two
        monkeypatch.setattr(NoisyMax, "scale", property(lambda self: 2 / self.epsilon))
        faulty = [law(chances, NoisyMax(4, k=2), some) for some in (one, other)]
        assert leak(*faulty) > 4.3 or one == [0, 0, 0]


def test_monotonic_scores_need_half_the_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    chances = stand_in(monkeypatch, 1e-5)
    first_wins(monkeypatch)
    for noise in KINDS:
        half = NoisyMax(2, noise=noise, monotonic=True)
        for one, other in (([0, 0], [0, 1]), ([0, 0], [1, 0]), ([2, 3], [3, 4]), ([3, 0], [3, 1])):
            assert ceiling(law(chances, half, one), law(chances, half, other)) <= 2.01
        # Planted fault: promised of scores that move in opposite directions.
        assert leak(law(chances, half, [3, 0]), law(chances, half, [2, 1])) > 2.3


@pytest.mark.parametrize(("noise", "factor"), [("exponential", Fraction(19, 10)), ("laplace", Fraction(1))])
def test_too_little_noise_is_seen(monkeypatch: pytest.MonkeyPatch, noise: Noise, factor: Fraction) -> None:
    chances = stand_in(monkeypatch, 1e-7)
    first_wins(monkeypatch)
    monkeypatch.setattr(NoisyMax, "scale", property(lambda self: factor / self.epsilon))
    faulty = [law(chances, NoisyMax(3, noise=noise), scores) for scores in ([0, 2], [1, 1])]
    assert leak(*faulty) > 3.1


# Real draws.


@pytest.mark.parametrize("noise", KINDS)
def test_goodness_of_fit(noise: Noise) -> None:
    # 2,500 releases against the sum over the grid, ties split evenly; a probability of 0.4 wrong by 0.07 is caught. A
    # deep run draws 4,000 and catches 0.055.
    mechanism = NoisyMax("1/2", noise=noise, k=1)
    scores = np.array([5, 3, 0])
    z = np.arange(-120, 200)
    pmf = (
        -math.expm1(-0.25) * np.exp(-0.25 * z) * (z >= 0)
        if noise == "exponential"
        else DiscreteLaplace(Fraction(4)).pmf(z)
    )
    place = {int(k): i for i, k in enumerate(z)}
    paper = np.zeros(3)
    masses = np.array(
        [[pmf[place[int(v - u)]] if v - u in place else 0 for v in range(-100, 180)] for u in scores]
    )
    below = np.cumsum(masses, axis=1) - masses
    for i in range(3):
        j, k = [x for x in range(3) if x != i]
        alone = below[j] * below[k]
        shared = (masses[j] * below[k] + below[j] * masses[k]) / 2 + masses[j] * masses[k] / 3
        paper[i] = (masses[i] * (alone + shared)).sum()
    counts = np.bincount([mechanism.release(scores) for _ in range(RELEASES)], minlength=3)
    assert alarm(counts, paper / paper.sum()) > ALARM
    assert alarm(counts, paper[[1, 0, 2]] / paper.sum()) < ALARM


def test_exponential_noise_on_a_fine_grid_is_permute_and_flip() -> None:
    # 2,500 releases, in a deep run 4,000; the grid of 2^-20 is far below the scale, so ties do not matter.
    counts = np.bincount(
        [NoisyMax(1, granularity=2**-20).release([2.0, 1, 0]) for _ in range(RELEASES)], minlength=3
    )
    assert alarm(counts, PermuteAndFlip(1).probabilities([2, 1, 0])) > ALARM


def test_names_places_and_lists() -> None:
    assert NoisyMax(200).release(VOTES) == "Aquila"
    assert NoisyMax(200, k=3).release(VOTES) == ["Aquila", "Orion", "Lyra"]
    assert NoisyMax(400, k=2, noise="laplace").release([0, 50, 9]) == [1, 2]
    assert NoisyMax(300, granularity=0.5).release(np.array([0.2, 9.7])) == 1
    everyone = NoisyMax(0.001, k=4).release(VOTES)
    assert sorted(everyone) == sorted(VOTES)
    million = NoisyMax(1, k=3).release(np.arange(1_000_000))
    assert len(set(million)) == 3
    assert min(million) > 999_000


def test_draws_at_the_end_of_int64_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    # All three draws stop at 2^63 - 1; what follows decides, not the end.
    end = 2**63 - 1
    further = iter([3, end, 4, 9])
    monkeypatch.setattr(noisy_max, "geometric", lambda scale, size: np.full(size, end))
    monkeypatch.setattr(unbounded, "geometric", lambda scale: next(further))
    assert NoisyMax(1, k=3).release([0, 0, 0]) == [1, 2, 0]
    monkeypatch.setattr(noisy_max, "laplace", lambda scale, size: np.array([-end, 5, -end]))
    further = iter([8, 2])
    assert NoisyMax(1, k=3, noise="laplace").release([0, 0, 0]) == [1, 2, 0]


def test_scale_and_the_price_of_k() -> None:
    assert NoisyMax(0.1).scale == 20
    assert NoisyMax(0.1, monotonic=True).scale == 10
    assert NoisyMax(0.1, 3, k=5).scale == 300
    assert NoisyMax(1, 0.3, granularity=0.25).scale == 1
    assert NoisyMax("1/3", k=7).loss == Fraction(1, 3)
    assert NoisyMax(1, k=3).error(100) > 2.5 * NoisyMax(1).error(100)


@pytest.mark.parametrize("noise", KINDS)
@pytest.mark.parametrize("scale", [1, 10])
def test_error_rests_on_the_law_of_a_difference(noise: Noise, scale: int) -> None:
    # 400,000 differences; false alarm 1e-11; a tail wrong by 1.5 % at 1/4 is caught. The bound is their union.
    mechanism = NoisyMax(Fraction(2, scale), noise=noise)
    draw: Any = geometric if noise == "exponential" else laplace
    differences = draw(scale, 400_000) - draw(scale, 400_000)
    for m in (1, 2 * scale, 5 * scale):
        p = mechanism._overtakes(m)
        assert stats.binomtest(int((differences >= m).sum()), differences.size, p).pvalue > ALARM
    least = int(mechanism.error(50, 0.9))
    assert 50 * mechanism._overtakes(least) <= 0.1 < 50 * mechanism._overtakes(least - 1)


def test_exponential_noise_errs_less() -> None:
    for epsilon in (0.1, 1, 3):
        assert NoisyMax(epsilon).error(20) <= NoisyMax(epsilon, noise="laplace").error(20)
    grid = NoisyMax(1, noise="laplace", granularity=2**-10)
    assert grid.error(20) == pytest.approx(NoisyMax(1, noise="laplace").error(20), abs=1)


@pytest.mark.parametrize(
    "bad", [[], [1, float("nan")], [0.5, 1.0], [Fraction(1, 2), 1], [True, 1], [2**62, 0], 3, [[1, 2]]]
)
def test_bad_scores(bad: Any) -> None:
    with pytest.raises(InvalidParameter):
        NoisyMax(1).release(bad)


@pytest.mark.parametrize("name", ["epsilon", "sensitivity", "k", "noise", "monotonic", "granularity"])
@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), "x", [1], 0.3j])
def test_bad_parameters(name: str, bad: Any) -> None:
    with pytest.raises(InvalidParameter, match=name):
        NoisyMax(**{"epsilon": 1, name: bad})


def test_more_names_than_candidates() -> None:
    with pytest.raises(InvalidParameter, match="fewer"):
        NoisyMax(1, k=3).release([1, 2])
    with pytest.raises(InvalidParameter, match="candidates"):
        NoisyMax(1, k=3).error(2)
