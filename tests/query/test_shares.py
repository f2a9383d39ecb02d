"""How epsilon is shared: exactly, equally where columns are alike, and better than equally where they are not."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp
from discreet.query.plan import ReleasePlan

EPSILON = Fraction(1, 3)
DATA = pa.table({"a": [1, 2], "b": [1.0, 2.0], "k": ["x", "y"]})


def planned(sql: str) -> tuple[ReleasePlan, ...]:
    with dp.protect(DATA, privacy_unit="row", bounds={"a": (0, 9), "b": (-5, 5)}, keys={"k": ["x", "y"]},
                    budget=1) as session:  # fmt: skip
        return session._plan(sql, EPSILON).releases


@pytest.mark.parametrize("columns", [
    "COUNT(*)", "AVG(a), AVG(b)", "MEDIAN(a), COUNT(*)", "CORR(a, b), SUM(a), VAR_POP(b)", "SUM(a), MAX(b), MIN(b)",
    "COUNT(DISTINCT a), AVG(a), REGR_SLOPE(a, b)",
])  # fmt: skip
def test_shares_sum_to_epsilon_exactly(columns: str) -> None:
    releases = planned(f"SELECT k, {columns} FROM data GROUP BY k")
    assert sum(share for r in releases for share in r.shares) == EPSILON
    assert all(share > 0 for r in releases for share in r.shares)


def test_like_columns_get_like_shares() -> None:
    assert planned("SELECT AVG(a), AVG(b) FROM data")[0].shares == (EPSILON / 2, EPSILON / 2)
    assert planned("SELECT SUM(a), SUM(b) FROM data")[0].shares == (EPSILON / 2, EPSILON / 2)
    two = planned("SELECT (SELECT COUNT(*) FROM data) - (SELECT COUNT(*) FROM data WHERE a > 3) AS d")
    assert [r.shares for r in two] == [(EPSILON / 2,), (EPSILON / 2,)]


def test_the_summed_relative_variance_is_less_than_with_equal_shares() -> None:
    (release,) = planned("SELECT MEDIAN(b), COUNT(*), SUM(a) FROM data")
    losses = [
        sum(m.relative_variance(a.what) for a in release.aggregates if a.measure == at)
        for at, m in enumerate(release.measures)
    ]

    def total(shares: list[float]) -> float:
        return sum(loss / share**2 for loss, share in zip(losses, shares, strict=True))

    chosen = [float(share) for share in release.shares]
    assert total(chosen) < 0.8 * total([float(EPSILON) / len(losses)] * len(losses))
    for i in range(len(chosen)):  # and no small change of the shares makes it less
        moved = list(chosen)
        moved[i] += 0.01
        moved[i - 1] -= 0.01
        assert total(chosen) < total(moved)
