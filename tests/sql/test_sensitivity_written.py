"""Questions that are written out, each asked of random tables and their neighbours: no integer moves beyond the plan.

The random questions of `test_sensitivity` combine what is common; here each rarer construct stands by itself, so that
it is asked often. A violation is a pair of tables on which the guarantee is broken: there is no false alarm. Power: the
faults planted below are found by the same check.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.depth import examples, few
from tests.sql import harness

from discreet.sql.expressions.dialect import Dialect
from discreet.sql.lower import compile as compiling
from discreet.sql.lower.groups import group_numbers
from discreet.sql.measures import measure as measures

EXAMPLES = examples(3, 20)
"""Tables for each question; each has 8 neighbours."""
ANYONE = {
    "public rows are kept":
        "SELECT pub.name, COUNT(t.a) AS n, SUM(a) AS x FROM pub LEFT JOIN t ON t.c = pub.name GROUP BY 1",
    "two public tables are kept":
        "SELECT p.name, q.region, AVG(t.a) AS x FROM pub AS p CROSS JOIN pub AS q "
        "LEFT JOIN t ON t.c = p.name AND t.a >= q.weight GROUP BY ALL",
    "everything is kept":
        "SELECT region, COUNT(a) AS n, AVG(a) AS x FROM t FULL JOIN pub ON t.c = pub.name GROUP BY 1",
    "public rows are counted":
        "SELECT pub.name, COUNT(*) AS n FROM t RIGHT JOIN pub ON t.c = pub.name GROUP BY 1",
    "natural":
        "SELECT name, COUNT(*) AS n FROM (SELECT *, c AS name FROM t) AS t NATURAL JOIN pub GROUP BY name",
    "NULL is a group":
        "SELECT d, CASE WHEN b > 1 THEN c END AS k, COUNT(*) AS n, SUM(a) AS x FROM t GROUP BY ALL",
    "distinct values":
        "SELECT c, SUM(DISTINCT a) AS x, COUNT(DISTINCT (a, d)) AS n, AVG(DISTINCT a) AS m FROM t GROUP BY c",
    "a month of a sub-query":
        "SELECT m, d, COUNT(*) AS n FROM (SELECT date_trunc('month', f) AS m, d FROM t) AS t GROUP BY ALL",
}  # fmt: skip
UNITS = {
    "right":
        "SELECT d, COUNT(*) AS n, SUM(a) AS x FROM s RIGHT JOIN t ON s.u = t.u GROUP BY d",
    "full":
        "SELECT d, COUNT(*) AS n, SUM(a) AS x, AVG(p) AS y FROM t FULL JOIN s ON t.u = s.u AND t.a > s.p "
        "GROUP BY d",
    "full of all":
        "SELECT COUNT(*) AS n, SUM(p) AS x FROM t FULL JOIN s ON t.u = s.u",
    "in parentheses":
        "SELECT region, COUNT(*) AS n FROM t JOIN (s JOIN pub ON TRUE) ON t.u = s.u AND t.c = pub.name GROUP BY 1",
    "a lookup":
        "SELECT c, COUNT(*) AS n, SUM(a) AS x FROM t WHERE a >= ANY (SELECT p FROM s WHERE s.u = t.u) AND NOT EXISTS "
        "(SELECT 1 FROM t AS o WHERE o.u = t.u AND o.a > t.a + 5) GROUP BY c",
    "a union of units":
        "SELECT COUNT(*) AS n FROM (SELECT u FROM t WHERE a > 3 UNION SELECT u FROM s WHERE p > 1) AS c",
    "units of one side alone":
        "SELECT d, COUNT(*) AS n FROM (SELECT u, d FROM t EXCEPT SELECT u, d FROM t WHERE a > 3) AS c GROUP BY d",
    "units of both sides":
        "SELECT c, COUNT(*) AS n, SUM(a) AS x FROM (SELECT u, c, a FROM t INTERSECT SELECT u, c, a FROM t) AS c "
        "GROUP BY c",
    "the least month":
        "SELECT m, COUNT(*) AS n FROM (SELECT u, MIN(date_trunc('month', f)) AS m FROM t GROUP BY u) AS t "
        "GROUP BY m",
}  # fmt: skip
CASES = [
    *((name, sql, by_unit) for name, sql in ANYONE.items() for by_unit in (True, False)),
    *((name, sql, True) for name, sql in UNITS.items()),
]


@st.composite
def neighbouring(draw: st.DrawFn, sql: str, by_unit: bool) -> harness.Case:
    """A written question with a random table and 8 of its neighbours."""
    replace_one, rng = draw(st.booleans()), random.Random(draw(st.integers(0, 2**32)))
    policy = harness.make_policy(by_unit, draw(st.sampled_from([1, 2, 3])), replace_one)
    base = [(unit, harness.worst_rows(rng, 5 if by_unit else 1)) for unit in range(rng.randint(1, 4))]
    neighbours = []
    for _ in range(8):
        kept, rows = list(base), harness.worst_rows(rng, 6 if by_unit else 1)
        if replace_one:
            kept[rng.randrange(len(kept))] = (100, rows)
        elif rng.random() < 0.3:
            kept.pop(rng.randrange(len(kept)))
        else:
            kept.append((100, rows))
        neighbours.append(harness.flat(kept, rng))
    return harness.Case(policy, sql, harness.flat(base, rng), tuple(neighbours))


def broken(sql: str, by_unit: bool, examples: int = EXAMPLES) -> list[str]:
    """What random neighbours of a question show to be broken."""
    found: list[str] = []

    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(case=neighbouring(sql, by_unit))
    def look(case: harness.Case) -> None:
        found.extend([] if found else harness.violations(case))

    look()
    return found


# A deep run: every question.
@pytest.mark.parametrize(("name", "sql", "by_unit"), few(CASES, 5))
def test_no_integer_moves_further_than_the_plan_says(name: str, sql: str, by_unit: bool) -> None:
    assert broken(sql, by_unit) == []


def _every_row(rows: str, keep: str, *_: object) -> str:
    """All rows of a unit are kept, as where a join is thought never to multiply them."""
    return f"SELECT * FROM ({rows}) AS q WHERE {keep}"


def _in_two_groups(release: Any, axis: tuple[int, ...], of: str, name: str) -> str:
    """A row of the group of NULL is in every group."""
    return " AND ".join(f"({of}k{at} IS NULL OR {of}k{at} = {name}.key{at})" for at in axis)


def _every_value(measure: measures.Moments, name: str, dialect: Dialect) -> list[str]:
    """A sum of distinct values that adds each to all that are greater."""
    return [f"COALESCE(SUM(DISTINCT {name}), 0) * COUNT(DISTINCT {name})"]


def test_a_sum_of_distinct_values_that_moves_further_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures.Moments, "group_items", _every_value)
    assert broken("SELECT SUM(DISTINCT a) AS x FROM t", True, 40) != []


def test_a_full_join_whose_rows_are_not_bounded_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "kept_sql", _every_row)
    assert broken(UNITS["full of all"], True, 40) != []


def test_a_group_of_null_that_is_every_group_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_numbers, "alike_in", _in_two_groups)
    assert broken(ANYONE["NULL is a group"], True, 40) != []
