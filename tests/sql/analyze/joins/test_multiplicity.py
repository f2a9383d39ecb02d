"""How many rows of a unit are kept behind a join, by what its conditions read."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
import pytest
from sqlglot import exp
from tests import inside, shared

import discreet as dp
from discreet.sql.analyze.joins import multiplicity as join_multiplicity
from discreet.sql.plan.planner import plan

VISITS = pa.table({"who": [1, 1, 2], "cost": [1, 2, 3]})
TESTS = pa.table({"who": [1, 2, 2], "p": [1, 5, 6]})
MEMBERS = (
    "t.who IN (SELECT who FROM tests WHERE p > 4)",
    "t.who NOT IN (SELECT who FROM tests WHERE p > 4)",
    "t.who IN (SELECT who FROM tests WHERE p > 4) AND s.p > 2",
)


def cap(where: str) -> int:
    tables = {
        "visits": {"privacy_unit": "who", "max_rows": 4},
        "tests": {"privacy_unit": "who", "max_rows": 3},
    }
    policy = dp.Policy(budget=1, tables=tables)  # type: ignore[arg-type]
    session = shared.protect({"visits": VISITS, "tests": TESTS}, policy=policy)
    right = "SELECT who AS sid, p FROM tests"
    sql = f"SELECT COUNT(*) AS n FROM visits AS t JOIN ({right}) AS s ON t.who = s.sid WHERE {where}"
    (release,) = plan(sql, inside.catalog_of(session), Fraction(1)).releases
    return release.parts[0].cap


@pytest.mark.parametrize("where", MEMBERS)
def test_a_sub_query_compares_nothing_of_the_join(where: str) -> None:
    """Its columns are those of other tables, whatever their names: 12 pairs of a unit are kept, not 4."""
    assert cap(where) == 12


def test_names_in_sub_queries_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the columns of a sub-query count as columns of the join."""
    monkeypatch.setattr(join_multiplicity, "_own_columns", lambda node: list(node.find_all(exp.Column)))
    assert any(cap(where) < 12 for where in MEMBERS)
