"""Sample sizes and order statistics, against the published numbers and an exact binomial tail."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from math import comb

import pytest
from tests.depth import DEEP

from discreet.errors import InvalidParameter
from discreet.sensitivity import SampleSize, plan


def _holds(found: SampleSize) -> bool:
    """P(Binomial(m, 1 - phi) >= k) <= rho, in exact arithmetic."""
    phi = Fraction(found.gamma) - Fraction(found.rho)
    above = range(found.m - found.k + 1)
    tail = sum(comb(found.m, j) * phi**j * (1 - phi) ** (found.m - j) for j in above)
    return tail <= Fraction(found.rho)


@pytest.mark.parametrize(("gamma", "exact", "published"), [(0.05, 113, 1305), (0.01, 761, 41_971)])
def test_the_numbers_of_the_checklist(gamma: float, exact: int, published: int) -> None:
    assert plan(gamma).m == plan(gamma).k == exact
    assert plan(gamma, bound="dkw").m == plan(gamma, bound="dkw").k == published
    # One pair fewer is not enough, whatever part of gamma is spent on the samples.
    for bound, m in (("binomial", exact), ("dkw", published)):
        with pytest.raises(InvalidParameter, match="too few"):
            plan(gamma, m=m - 1, bound=bound)  # type: ignore[arg-type]


# A deep run asks two sizes more.
@pytest.mark.parametrize("m", [113, 400, *[150, 1305] * DEEP])
def test_the_order_statistic_covers_by_the_exact_tail_and_the_next_lower_does_not(m: int) -> None:
    found = plan(0.05, m=m)
    assert _holds(found)
    if found.k > 1:
        assert not _holds(dataclasses.replace(found, k=found.k - 1))  # the fault of a rank that is off by one


def test_more_samples_give_a_lower_rank_and_the_exact_bound_is_never_above_the_published_one() -> None:
    shares = [plan(0.05, m=m).k / m for m in (113, 500, 5000, 50_000)]
    assert shares == sorted(shares, reverse=True)
    assert 0.95 < shares[-1] < 0.955
    assert all(plan(0.05, m=m).k <= plan(0.05, m=m, bound="dkw").k for m in (1305, 5000, 50_000))


def test_rho_may_be_chosen_and_the_best_needs_least() -> None:
    assert plan(0.05, rho=0.01).m >= 113
    assert plan(0.05, rho=0.01).rho == 0.01


@pytest.mark.parametrize(
    ("gamma", "more"),
    [(0, {}), (1, {}), (float("nan"), {}), ("x", {}), (0.05, {"rho": 0.05}), (0.05, {"rho": 0}), (0.05, {"m": 0}),
     (0.05, {"m": 113.0}), (0.05, {"m": True}), (0.05, {"bound": "chernoff"}), (1e-9, {})],
)  # fmt: skip
def test_bad_parameters_are_refused(gamma: object, more: dict[str, object]) -> None:
    with pytest.raises(InvalidParameter) as caught:
        plan(gamma, **more)  # type: ignore[arg-type]
    assert caught.value.fix
