"""A sampled sensitivity covers what it says, for any query, norm and population, and is refused where it must be."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from scipy.stats import binom, laplace, norm
from tests import shared

import discreet as dp
from discreet.errors import EngineError, InvalidParameter, PolicyError
from discreet.mechanisms import Laplace
from discreet.policy import Policy
from discreet.sensitivity import HEIGHTS, Empirical, SampledSensitivity, admit, sample

RUNS, MOST = 300, 20
# With rho = .0071 for the samples, more than 20 of 300 runs that cover too little have a probability of 5e-14.


def _mean(data: npt.NDArray[Any]) -> Any:
    return data.mean(axis=1)


def _too_low(rank: int | None) -> bool:
    """Whether many runs cover less than a fraction 1 - phi of pairs; `rank` plants a wrong order statistic."""
    bad = runs = 0
    while runs < RUNS and bad <= MOST:
        runs += 1
        found = sample(_mean, HEIGHTS, 4, 0.05, vectorised=True)
        value = found.value
        if rank is not None:
            gaps = np.abs(HEIGHTS.sample(found.m) - HEIGHTS.sample(found.m)) / 4
            value = np.sort(gaps)[rank - 1]
        bad += HEIGHTS.gap_above(4 * value) > found.gamma - found.rho
    return bad > MOST


def test_it_covers_as_often_as_it_says_and_a_wrong_rank_is_seen() -> None:
    assert binom.sf(MOST, RUNS, 0.0071) < 1e-9
    assert not _too_low(None)
    assert _too_low(107)  # the 95 % quantile of 113 gaps, which is too low half of the time


class Standard:
    """A population of somebody else's: anything with `sample`."""

    def sample(self, size: int) -> npt.NDArray[Any]:
        return np.random.default_rng().normal(size=size)


def test_of_many_pairs_the_quantile_is_where_it_should_be() -> None:
    # |x - y| of normal records is sqrt(2) |N(0, 1)|; the 1 - gamma quantile of it is 2.772, and the k-th of 50,000
    # sampled ones is a little above. Its sd is .011; the tolerance of .1 is 9 of them.
    found = sample(lambda x: x.sum(axis=1), Standard(), 1, 0.05, m=50_000, vectorised=True)
    assert found.value == pytest.approx(np.sqrt(2) * norm.ppf(found.k / (2 * found.m) + 0.5), abs=0.1)


def test_norms_and_neighbours() -> None:
    dice = Empirical([0, 1])

    def histogram(data: npt.NDArray[Any]) -> Any:
        return np.stack([(data == at).sum(axis=1) for at in (0, 1)], axis=1)

    counts: dict[str, Any] = {"query": histogram, "population": dice, "records": 5, "vectorised": True}
    # A histogram moves by 2 in L1 and sqrt(2) in L2 when a record is replaced, by 1 when one is removed.
    assert sample(**counts).value == 2
    assert sample(**counts, norm=2).value == pytest.approx(np.sqrt(2))
    assert sample(**counts, neighbours="add_remove").value == 1
    # One data set at a time gives the same; a query that looks at places sees one place change.
    assert sample(lambda x: np.array([(x == 0).sum(), (x == 1).sum()]), dice, 5).value == 2
    assert sample(lambda x: x, dice, 5).value == 1
    assert sample(lambda x: x, Empirical(np.arange(6).reshape(3, 2)), 2).value == 8


def test_progress_counts_the_pairs() -> None:
    seen: list[tuple[int, int]] = []
    sample(_mean, HEIGHTS, 10_000, vectorised=True, progress=lambda done, of: seen.append((done, of)))
    assert seen[-1] == (113, 113)
    assert len(seen) > 1


@pytest.mark.parametrize(
    "more",
    [{"records": 0}, {"norm": 3}, {"norm": True}, {"neighbours": "some"}, {"population": object()},
     {"query": lambda x: x.mean()}, {"query": lambda x: x.mean(axis=1) / 0}, {"query": lambda _: "text"},
     {"vectorised": False, "query": lambda x: np.unique(np.round(x))}],
)  # fmt: skip
def test_bad_parameters_are_refused(more: dict[str, object]) -> None:
    given: dict[str, Any] = {"query": _mean, "population": HEIGHTS, "records": 50, "vectorised": True, **more}
    with pytest.raises(InvalidParameter), np.errstate(all="ignore"):
        sample(**given)


@pytest.fixture
def found() -> SampledSensitivity:
    return sample(_mean, HEIGHTS, 500, vectorised=True)


def test_every_result_says_what_it_is(found: SampledSensitivity) -> None:
    for text in (found.warning, str(found)):
        assert "random differential privacy with gamma 0.05" in text
        assert "weaker" in text


def test_a_mechanism_takes_no_sampled_sensitivity(found: SampledSensitivity) -> None:
    with pytest.raises(InvalidParameter, match="not a number"):
        Laplace(1, found, 2**-20)  # type: ignore[arg-type]


def _policy(**more: object) -> Policy:
    declared: dict[str, Any] = {"budget": 1, "tables": {"data": {"privacy_unit": "row"}}, **more}
    return Policy(**declared)


def _session(**more: object) -> dp.Session:
    table = pa.table({"height": [170.0] * 500})
    return shared.protect(table, policy=_policy(neighbours="replace_one", **more))


def test_a_session_refuses_it_unless_the_policy_allows_it(found: SampledSensitivity) -> None:
    called: list[int] = []
    with _session() as session:
        with pytest.raises(PolicyError, match="random_dp = true"):
            session.release(lambda: called.append(1), found, 0.5, what="mean height")
        assert session.budget.spent == 0
        assert not called
    with _session(random_dp=True) as session:
        release = session.release(lambda: 170.0, found, 0.5, what="mean height")
        assert session.budget.spent == release.epsilon == 0.5
        assert "random differential privacy with gamma 0.05" in release.card()
        low, high = release.low["value"][0].as_py(), release.high["value"][0].as_py()
        assert (high - low) / 2 == pytest.approx(np.log(20) * found.value / 0.5, rel=1e-4)
        other = dataclasses.replace(found, norm=2)
        with pytest.raises(InvalidParameter, match="L1"):
            session.release(lambda: 170.0, other, 0.1, what="mean height")


def test_what_is_vouched_for_says_so_and_is_charged_before_it_is_computed() -> None:
    with _session() as session:
        spent: list[object] = []

        def compute() -> list[float]:
            spent.append(session.budget.spent)
            return [1.0, 2.0]

        release = session.release(compute, 1, 0.25, what="two numbers")
        assert spent == [0.25]
        assert release.columns == ["at", "value"]
        assert "vouched for by the caller" in release.card()
        failing: list[Callable[[], Any]] = [lambda: 1 / 0, lambda: float("nan"), lambda: [[1.0]], lambda: "a"]
        for fail in failing:
            with pytest.raises(EngineError) as caught:
                session.release(fail, 1, 0.125, what="nothing")
            assert caught.value.__context__ is None
        assert session.budget.spent == 0.75
        with pytest.raises(dp.errors.BudgetExceeded):
            session.release(lambda: 1.0, 1, 0.5, what="too much")
        assert session.ledger.verify() == 6


def test_what_is_vouched_for_gets_the_noise_of_its_sensitivity() -> None:
    # 4,000 numbers: no frequency is off by more than .0518 but with probability 1e-9 (Dvoretzky, Kiefer, Wolfowitz);
    # no noise at all, or that of half or twice the sensitivity, is off by .1 and more.
    with _session() as session:
        release = session.release(lambda: np.zeros(4000), 3, 0.5, what="nothing, 4,000 times")
    noise = np.array(release.to_dict()["value"])
    at = np.linspace(-24, 24, 97)
    for scale, fits in ((6, True), (3, False), (12, False)):
        worst = np.abs((noise[:, None] <= at).mean(axis=0) - laplace.cdf(at, scale=scale)).max()
        assert (worst < 0.0518) == fits


def test_it_is_refused_for_other_neighbours_than_those_of_the_policy(found: SampledSensitivity) -> None:
    table = pa.table({"height": [170.0] * 500})
    policy = _policy(random_dp=True, neighbours="add_remove")
    assert found.neighbours == "replace_one"
    with shared.protect(table, policy=policy) as session:
        with pytest.raises(InvalidParameter, match="one record replaced"):
            session.release(lambda: 170.0, found, 0.5, what="mean height")
        assert session.budget.spent == 0
        other = dataclasses.replace(found, neighbours="add_remove")
        assert len(session.release(lambda: 170.0, other, 0.5, what="mean height")) == 1


def test_random_dp_is_written_and_read(tmp_path: Path) -> None:
    policy = _policy(random_dp=True)
    path = tmp_path / "policy.toml"
    path.write_text(policy.to_toml())
    assert Policy.from_toml(path).random_dp
    with pytest.raises(PolicyError, match="neither true nor false"):
        _policy(random_dp="yes")
    assert admit("1/3", False)[0] == admit("1/3", True)[0]
