"""Ratios of counts and sums: covered however near to zero the divisor is, and unbounded where it may be zero."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from sqlglot import parse_one
from tests import inside, shared
from tests.depth import DEEP, few

import discreet as dp
from discreet.mechanisms.laplace_sum.half_width import each as half_width
from discreet.noise import add_laplace
from discreet.sql.intervals import noise_widths, ratio
from discreet.sql.intervals.ratio import LinearCombination, Ratio, angle_ends, ratio_in
from discreet.sql.lower.run import NoisyIntegers, exact_integers

GROUPS, RUNS, CLAIMED = 100, 60, 0.95


def session() -> dp.Session:
    each = np.linspace(0, 100, 200)
    data = {"g": np.arange(200 * GROUPS) // 200, "x": np.tile(each, GROUPS), "y": np.tile(each[::-1], GROUPS)}
    return shared.protect(
        pa.table(data),
        privacy_unit="row",
        budget=1,
        bounds={"x": (0, 100), "y": (0, 100), "g": (0, GROUPS - 1)},
    )


@pytest.fixture(scope="module")
def opened() -> dp.Session:
    return session()


def covered(opened: dp.Session, item: str, runs: int = RUNS) -> tuple[float, float]:
    """How often the interval of a ratio holds the true one, and how often it has no ends."""
    plan = inside.plan_of(opened, f"SELECT g, {item} AS v FROM data GROUP BY g", Fraction(1, 2))
    (release,) = plan.releases
    exact = exact_integers(release, inside.engine_of(opened), 1)
    found = ratio_in(plan.post.selects[1].unalias(), release.name)
    assert found is not None
    tops = [ratio.weights(release, one) for one in (found.top, found.bottom)]
    assert tops[0] is not None
    assert tops[1] is not None
    truth = (exact @ tops[0]) / (exact @ tops[1])
    held = open_ = 0
    for _ in range(runs):
        noisy = exact.copy()
        for at, measure in enumerate(release.measures):
            start = sum(one.entries for one in release.measures[:at])
            own = slice(start, start + measure.entries)
            noisy[:, own] = add_laplace(np.ascontiguousarray(exact[:, own]), release.scale(at))
        low, high = ratio.ratio_ends(NoisyIntegers(release, noisy), found, slice(None), CLAIMED) or (
            truth,
            truth,
        )
        held += int(np.sum((low <= truth) & (truth <= high)))
        open_ += int(np.sum(~np.isfinite(low)))
    return held / (runs * GROUPS), open_ / (runs * GROUPS)


# A deep run: all.
@pytest.mark.parametrize("item", few([
    "SUM(x) / SUM(y)", "SUM(x) / SUM(y - 49)", "SUM(x - 49.5) / SUM(y - 49.5)", "SUM(x) / SUM(y - 45)",
    "100.0 * COUNT(*) FILTER (WHERE x > 50) / COUNT(*)", "SUM(x * (y - 49)) / SUM(y - 49)",
], 2))  # fmt: skip
def test_intervals_hold_as_often_as_they_say(opened: dp.Session, item: str) -> None:
    """6,000 intervals: at a true coverage of 95 % fewer than 93 % are held with a chance of 1e-11.

    A coverage of 89 %, as of ends that are a quarter too near, is found with a chance above 1 - 1e-9.
    """
    held, _ = covered(opened, item)
    assert held > 0.93


def test_a_divisor_that_may_be_zero_leaves_no_end(opened: dp.Session) -> None:
    runs = RUNS if DEEP else 10
    assert covered(opened, "SUM(x) / SUM(y - 49.99)", runs)[1] > 0.8
    assert covered(opened, "SUM(x) / SUM(y)", runs)[1] == 0


def test_ends_that_are_too_near_are_found(opened: dp.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        noise_widths, "half_width", lambda *args: 0.7 * half_width(*args)
    )  # the planted fault
    assert covered(opened, "SUM(x) / SUM(y)", RUNS if DEEP else 20)[0] < 0.93


def test_the_ends_are_those_of_the_test_itself() -> None:
    angles = np.linspace(-np.pi / 2, np.pi / 2, 1025)
    widths = np.full(1025, 3.0)
    n, d = np.array([10.0, -10.0, 10.0, 1e6, 0.0, 5.0]), np.array([20.0, 20.0, -20.0, 1e3, 40.0, 2.0])
    low, high = angle_ends(n, d, angles, widths)
    for top, bottom, *ends in zip(n, d, low, high, strict=True):
        if abs(bottom) <= 3:
            assert not np.isfinite(ends).any()
            continue
        for end in ends:  # the test just fails at each end
            assert abs(top - end * bottom) / np.hypot(1, end) == pytest.approx(3.0, rel=1e-5)
        assert all(a < b for a, b in pairwise((ends[0], top / bottom, ends[1])))


@pytest.mark.parametrize(("sql", "read"), [
    ("r.a0 / r.a1", Ratio(LinearCombination(((0, 1.0),)), LinearCombination(((1, 1.0),)))),
    ("100.0 * r.a0 / NULLIF(r.a1, 0)", Ratio(LinearCombination(((0, 100.0),)), LinearCombination(((1, 1.0),)))),
    ("(r.a0 - r.a1) / CAST(r.a2 AS DOUBLE)",
     Ratio(LinearCombination(((0, 1.0), (1, -1.0))), LinearCombination(((2, 1.0),)))),
    ("r.a0 / r.a1 / 4", Ratio(LinearCombination(((0, 0.25),)), LinearCombination(((1, 1.0),)))),
    ("-r.a0 / (2 * r.a1)", Ratio(LinearCombination(((0, -1.0),)), LinearCombination(((1, 2.0),)))),
    ("r.a0 // r.a1", None), ("r.a0 / r.k0", None), ("r.a0 / other.a1", None), ("r.a0 / (r.a1 + 1)", None),
    ("r.a0 * r.a1", None), ("ABS(r.a0) / r.a1", None),
])  # fmt: skip
def test_what_is_read_as_a_ratio(sql: str, read: Ratio | None) -> None:
    assert ratio_in(parse_one(sql, read="duckdb"), "r") == read


def test_an_answer_has_them(opened: dp.Session) -> None:
    plan = inside.plan_of(opened, "SELECT g, SUM(x) / SUM(y) AS v FROM data GROUP BY g", Fraction(1, 2))
    noisy = [NoisyIntegers(one, exact_integers(one, inside.engine_of(opened), 1)) for one in plan.releases]
    answer = inside.answer_of(opened, plan, noisy)
    low, high = (np.asarray(ends["v"]) for ends in (answer.low, answer.high))
    assert (low < 1).all()
    assert (high > 1).all()
