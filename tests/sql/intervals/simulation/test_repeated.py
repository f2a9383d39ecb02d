"""Statements that are run again draw by draw: every form has intervals, and rows are told apart by what stays.

Power: an end of an interval from 400 draws of noise of scale 2 is a percentile of a Laplace variable at 97.5 %; that
share of the draws has a standard error of 0.8 points, so the end lies between the percentiles at 92 % and 99.9999 %,
3.7 and 26, but once in 10^9. What shows for sure is an interval without noise, or one made of another row's draws.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from tests import shared
from tests.depth import few

import discreet as dp
from discreet.sql.intervals.simulation import repeated as redrawn

ROWS = 4000
COUNTIES = ["a", "b", "c", "d"]
BY = "(SELECT county, COUNT(*) AS n FROM t GROUP BY county)"
FORMS = {
    "names of columns": f"WITH c(k, m) AS {BY} SELECT k, m FROM c",
    "right join": f"SELECT c.county, n, pop FROM pub RIGHT JOIN {BY} AS c ON c.county = pub.county",
    "full join": f"SELECT pub.county AS k, n FROM {BY} AS c FULL JOIN pub ON c.county = pub.county",
    "exclude": f"SELECT * EXCLUDE (county), county FROM {BY} AS c",
    "named window": f"SELECT county, SUM(n) OVER w AS s FROM {BY} AS c WINDOW w AS (PARTITION BY county)",
    "distinct on": f"SELECT DISTINCT ON (county) county, n FROM {BY} AS c ORDER BY county",
    "rows of a list": f"SELECT v, county, n + v AS n FROM {BY} AS c, UNNEST([0, 1]) AS u(v)",
    "recursion": f"WITH RECURSIVE c AS {BY}, f AS (SELECT 1 AS i, (SELECT SUM(n) FROM c) AS s UNION ALL "
    "SELECT i + 1, s FROM f WHERE i < 3) SELECT i, s FROM f",
}  # fmt: skip


@pytest.fixture(scope="module")
def session() -> dp.Session:
    t = pa.table({"county": [COUNTIES[at % 4] for at in range(ROWS)]})
    pub = pa.table({"county": COUNTIES, "pop": [10, 20, 30, 40]})
    return shared.protect({"t": t, "pub": pub}, table="t", public=["pub"], privacy_unit="row",
                      keys={"county": "pub.county"}, budget=10**6)  # fmt: skip


@pytest.mark.parametrize("form", few(FORMS, 2))  # a deep run: every form
def test_any_form_has_intervals(session: dp.Session, form: str) -> None:
    release = session.sql(FORMS[form], epsilon=0.5)
    noisy = {"names of columns": "m", "named window": "s", "recursion": "s"}.get(form, "n")
    assert set(release.low) == {noisy}
    assert not [note for note in release.notes if "no interval" in note]
    found = release.to_dict()
    for value, low, high in zip(*(found[noisy + end] for end in ("", "_low", "_high")), strict=True):
        most = 26 * (4 if form == "recursion" else 1)
        assert 3.6 <= value - low <= most
        assert 3.6 <= high - value <= most


def test_the_order_and_the_limit_do_not_hide_rows_of_a_draw(session: dp.Session) -> None:
    release = session.sql(f"{FORMS['names of columns']} ORDER BY m DESC LIMIT 1", epsilon=0.5)
    assert len(release) == 1
    assert np.isfinite([release.low["m"][0].as_py(), release.high["m"][0].as_py()]).all()


def test_rows_that_nothing_visible_names_have_intervals_of_their_own(session: dp.Session) -> None:
    release = session.sql(f"WITH c(k, m) AS {BY} SELECT m FROM c", epsilon=0.5)
    for value, low, high in zip(
        *(release.to_dict()["m" + end] for end in ("", "_low", "_high")), strict=True
    ):
        assert low < value < high
        assert high - low < 60, "that of one county; the counties lie 1,000 apart"


@pytest.mark.parametrize("sql", [
    f"SELECT DISTINCT n FROM {BY} AS c",
    f"SELECT n FROM {BY} AS c EXCEPT ALL SELECT 7",
    f"SELECT n // 10 AS k, MAX(n) AS n FROM {BY} AS c GROUP BY k",
])  # fmt: skip
def test_rows_without_an_identity_have_no_interval(session: dp.Session, sql: str) -> None:
    release = session.sql(sql, epsilon=0.5)
    assert "n" not in release.low
    assert "n" in release.without


def _drawn(draws: int = redrawn.DRAWS) -> tuple[pa.Table, list[pa.Table]]:
    """An answer with a noisy number, its rank and the hidden number of its group; and many draws, in any order."""
    rng = np.random.default_rng(1)

    def table(noise: np.ndarray[tuple[int], np.dtype[np.float64]]) -> pa.Table:
        n = np.array([100.0, 110.0, 120.0]) + noise
        order = rng.permutation(3)
        return pa.table(
            {"place": (np.argsort(np.argsort(-n)) + 1)[order], "n": n[order], "hidden": np.arange(3)[order]}
        )

    return table(np.zeros(3)), [table(rng.laplace(0, 10, 3)) for _ in range(draws)]


def test_rows_are_recognised_by_their_identity() -> None:
    answer, draws = _drawn()
    rows = answer.select(["hidden"])
    found = redrawn.intervals(answer, rows, ["place", "n"], draws.__getitem__, len(draws), 0.95)
    assert set(found) == {"place", "n"}
    for at, (key, value) in enumerate(
        zip(answer["hidden"].to_pylist(), answer["n"].to_pylist(), strict=True)
    ):
        own = np.sort([table["n"][table["hidden"].to_pylist().index(key)].as_py() for table in draws])
        assert (found["n"][0][at], found["n"][1][at]) == (own[9], own[-10])
        assert found["n"][0][at] < value < found["n"][1][at]


def test_rows_that_are_mixed_up_are_found() -> None:
    """The fault: rows told apart by their rank, which noise moves, so that each interval is that of a rank."""
    answer, draws = _drawn()
    right = redrawn.intervals(answer, answer.select(["hidden"]), ["n"], draws.__getitem__, len(draws), 0.95)
    wrong = redrawn.intervals(answer, answer.select(["place"]), ["n"], draws.__getitem__, len(draws), 0.95)
    assert not np.allclose(right["n"], wrong["n"], rtol=0.02)


def test_a_row_that_draws_miss_may_lie_anywhere() -> None:
    answer = pa.table({"k": ["x", "y"], "n": [1.0, 2.0]})
    draws = [answer.slice(0, 1 if draw % 20 == 0 else 2) for draw in range(400)]
    moved = [
        table.set_column(1, "n", pa.array(np.asarray(table["n"]) + at)) for at, table in enumerate(draws)
    ]
    found = redrawn.intervals(answer, answer.select(["k"]), ["n"], moved.__getitem__, 400, 0.95)
    assert [tuple(end[at] for end in found["n"]) for at in (0, 1)] == [(10.0, 391.0), (-np.inf, np.inf)]


def test_few_draws_are_none() -> None:
    most = redrawn.MOST_ROWS // redrawn.DRAWS
    assert {redrawn.draws_for(rows) for rows in (0, 10, most - 1, most)} == {redrawn.DRAWS}
    assert redrawn.draws_for(most + 1) == 0
    assert redrawn.draws_for(10, redrawn.MOST_DRAWS) == redrawn.MOST_DRAWS
    assert redrawn.draws_for(10, redrawn.MOST_DRAWS + 1) == 0
