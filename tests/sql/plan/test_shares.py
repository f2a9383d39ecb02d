"""How epsilon is shared: exactly, equally where columns are alike, and better than equally where they are not."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
import pytest
from tests import inside, shared

import discreet as dp
from discreet.sql.plan.plan import PlannedRelease

EPSILON = Fraction(1, 3)
DATA = pa.table({"a": [1, 2], "b": [1.0, 2.0], "k": ["x", "y"]})


def planned(sql: str) -> tuple[PlannedRelease, ...]:
    with shared.protect(DATA, privacy_unit="row", bounds={"a": (0, 9), "b": (-5, 5)}, keys={"k": ["x", "y"]},
                    budget=1) as session:  # fmt: skip
        return inside.plan_of(session, sql, EPSILON).releases


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
    two = planned("SELECT (SELECT COUNT(*) FROM data) - (SELECT COUNT(*) FROM data WHERE a > b) AS d")
    assert [r.shares for r in two] == [(EPSILON / 2,), (EPSILON / 2,)]


def test_the_summed_relative_variance_is_less_than_with_equal_shares() -> None:
    (release,) = planned("SELECT MEDIAN(b), MAX(b), COUNT(*), SUM(a) FROM data")
    losses = [
        sum(m.relative_variance(a.quantity) for a in release.aggregates if a.measure == at)
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


def test_a_hint_gives_a_column_more_of_epsilon() -> None:
    with shared.protect(DATA, privacy_unit="row", bounds={"a": (0, 9), "b": (-5, 5)}, budget=9) as session:
        query = "SELECT AVG(a) AS a, AVG(b) AS b FROM data"
        even, more = (session.preview(query, epsilon=1, split=split) for split in (None, {"a": 3}))
        assert more.epsilon == even.epsilon == 1
        assert more.errors["a"] < even.errors["a"]
        assert more.errors["b"] > even.errors["b"]
        shares = inside.plan_of(session, query, Fraction(1), split=(("a", Fraction(3)),)).releases[0].shares
        assert shares == (Fraction(3, 4), Fraction(1, 4))
        session.sql(query, epsilon=1, split={"a": 3})
        assert session.sql(query, epsilon=1, split={"a": 3}).replayed
        assert not session.sql(query, epsilon=1).replayed
        assert session.budget.spent == 2


def test_a_hint_reaches_into_sub_queries() -> None:
    with shared.protect(DATA, privacy_unit="row", bounds={"a": (0, 9), "b": (-5, 5)}, budget=9) as session:
        query = "WITH t AS (SELECT COUNT(*) AS n FROM data) SELECT n, (SELECT SUM(a) FROM data) AS s FROM t"
        plan = inside.plan_of(session, query, Fraction(1), split=(("N", Fraction(2)),))
        before = inside.plan_of(session, query, Fraction(1))
        assert plan.releases[0].shares[0] > before.releases[0].shares[0]
        assert plan.epsilon == 1


@pytest.mark.parametrize(
    ("split", "word"), [({"c": 2}, "c is not a column"), ({"a": 0}, "split"), ({"a": -1}, "split")]
)
def test_hints_that_mean_nothing(split: dict[str, int], word: str) -> None:
    with (
        shared.protect(DATA, privacy_unit="row", bounds={"a": (0, 9)}, budget=1) as session,
        pytest.raises(dp.errors.InvalidParameter, match=word),
    ):
        session.preview("SELECT AVG(a) AS a FROM data", epsilon=1, split=split)
