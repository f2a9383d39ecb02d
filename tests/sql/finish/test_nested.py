"""The numbers in lists, maps and structs have the intervals that they have by themselves."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import Any

import pytest
from tests import inside
from tests.sql.fuzz import bench

from discreet.release.answer import Release
from discreet.sql.finish.answered import AnswerColumns
from discreet.sql.finish.nested import spread
from discreet.sql.intervals.simultaneous import numbers
from discreet.sql.plan.planner import plan
from discreet.sql.syntax.parse import parse

COUNTS = "COUNT(*) AS n, SUM(x) AS s, MIN(d) AS d"
GROUPED = "FROM t GROUP BY city ORDER BY city"


def answered(sql: str) -> AnswerColumns:
    return bench.answered(sql, epsilon=Fraction(1))


def ends(found: AnswerColumns, name: str) -> list[tuple[Any, Any]]:
    return list(zip(*(found.ends(end)[name].to_pylist() for end in (0, 1)), strict=True))


@pytest.mark.parametrize(
    ("nested", "places"),
    [
        (f"SELECT city, [COUNT(*), SUM(y)] AS v {GROUPED}", [0, 1]),
        (f"SELECT city, {{'n': COUNT(*), 's': SUM(y)}} AS v {GROUPED}", ["n", "s"]),
        (f"SELECT city, v FROM (SELECT city, [COUNT(*), SUM(y)] AS v {GROUPED}) AS q", [0, 1]),
        (f"WITH q AS (SELECT city AS k, {{'n': COUNT(*), 's': SUM(y)}} AS w {GROUPED}), r AS (SELECT k, w FROM q) "
         "SELECT k AS city, w AS v FROM r WHERE k <> 'Z'", ["n", "s"]),
    ],
)  # fmt: skip
def test_each_number_has_the_interval_that_it_has_alone(nested: str, places: list[Any]) -> None:
    nested = nested.replace("SUM(y)", "SUM(clamp(y, -20, 20))")
    one = answered(nested)
    apart = answered(f"SELECT city, COUNT(*) AS n, SUM(clamp(y, -20, 20)) AS s {GROUPED}")
    assert one.values.column_names == ["city", "v"]
    assert one.without == ()
    for place, name in zip(places, "ns", strict=True):
        for (low, high), alone in zip(ends(one, "v"), ends(apart, name), strict=True):
            assert (low[place], high[place]) == pytest.approx(alone, rel=0.5)  # those of a CTE are drawn
            assert low[place] < high[place]
    assert [dict(enumerate(v)) if isinstance(v, list) else v for v in one.values["v"].to_pylist()] == [
        dict(zip(places, both, strict=True))
        for both in zip(apart.values["n"].to_pylist(), apart.values["s"].to_pylist(), strict=True)
    ]


def test_a_list_of_any_length_has_no_interval_and_says_so() -> None:
    assert answered(f"SELECT LIST(n) AS v FROM (SELECT COUNT(*) AS n {GROUPED}) AS q").without == ("v",)


def test_no_statement_without_lists_is_changed() -> None:
    asked = [
        "SELECT a FROM t",
        "SELECT [1, 2] AS v FROM s UNION ALL SELECT v FROM t",
        "SELECT LIST(a) AS v FROM t",
    ]
    assert [spread(parse(sql)) for sql in asked] == [None] * len(asked)


def test_together_each_number_of_a_list_counts() -> None:
    catalog = inside.catalog_of(bench.bench().session)
    lists, apart = (
        plan(f"SELECT city, {items} {GROUPED}", catalog, Fraction(1))
        for items in ("[COUNT(*), SUM(x)] AS v", "COUNT(*) AS n, SUM(x) AS s")
    )
    found = spread(lists.post)
    assert found is not None
    assert numbers(lists, 2 + 2) == numbers(apart, 3)


def test_a_release_keeps_and_shows_them() -> None:
    answer = answered("SELECT [COUNT(*), 3.5] AS v, {'n': COUNT(*)} AS s FROM t")
    made = dt.datetime(2024, 1, 1)
    release = Release("q", answer.values, answer.ends(0), answer.ends(1), 0.95, Fraction(1), (), made)
    assert Release.from_bytes(release.to_bytes()).to_dict() == release.to_dict()
    (n, _), (low, _) = release["v"][0], release["v_low"][0]
    assert low < n
    assert f"[{n:,.0f} ± {n - low:,.0f}, 3.5" in repr(release)
    assert "{n: " in release._repr_html_()
