"""Sub-queries that use each other's columns twice: no engine is asked to write them out, however many there are."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from tests import servers, shared
from tests.inside import plan_of

import discreet as dp
from discreet.errors import QueryRefused
from discreet.sql.lower.compile import compile_part
from discreet.sql.lower.texts import written_out

ROWS = pa.table({"id": [1, 2, 3], "c": ["q", "b", "a"]})
UNIT: dict[str, Any] = {"table": "t", "privacy_unit": "id", "max_rows": 1, "budget": 1000}


def doubled(levels: int) -> str:
    """A text that is twice as long at each level, behind a condition on it."""
    tables = ["x0 AS (SELECT id, c FROM t)"]
    tables += [
        f"x{level} AS (SELECT id, c || c AS c FROM x{level - 1} WHERE c < 'z' || c)"
        for level in range(1, levels + 1)
    ]
    return f"WITH {', '.join(tables)} SELECT COUNT(*) AS n FROM x{levels} WHERE c || c <> 'z'"


def fences(levels: int) -> int:
    """How many fences PostgreSQL's SQL of a question has."""
    session = shared.protect(ROWS, **UNIT)
    (release,) = plan_of(session, doubled(levels), Fraction(1)).releases
    return compile_part(release, 0, "postgres", 7).sql.count("OFFSET 0")


def test_a_column_grows_up_to_a_fence() -> None:
    usual = fences(3)
    assert fences(4) == usual  # some hundred parts are few
    assert usual < fences(30) < usual + 30


def test_a_lost_fence_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    session = shared.protect(ROWS, **UNIT)
    usual = fences(3)
    most = 10**30
    monkeypatch.setattr(written_out, "MOST_PARTS", most)
    (release,) = plan_of(session, doubled(30), Fraction(1)).releases
    assert max(written_out.weights(release.parts[0].rows.relation, most).values(), default=0) > 2**30
    assert fences(30) == usual


@pytest.mark.parametrize(
    ("rows", "weighs"),
    [
        ("{long} AS s", 13),
        ("{long} AS s JOIN (SELECT id FROM t) AS o ON s.id = o.id", 13),
        ("(SELECT * FROM {long} AS a UNION ALL SELECT id, c FROM t) AS s", 13),
        ("(SELECT id, MAX(c) AS c FROM {long} AS a GROUP BY id) AS s", 1),
    ],
)
def test_columns_are_written_out_through_joins_and_unions_and_not_through_groups(
    rows: str, weighs: int
) -> None:
    session = shared.protect(ROWS, **UNIT)
    long = "(SELECT id, c || c || c || c AS c FROM t)"
    question = f"SELECT COUNT(*) AS n FROM {rows.format(long=long)} WHERE s.c < 'z'"
    (release,) = plan_of(session, question, Fraction(1)).releases
    most = written_out.MOST_PARTS
    assert max(written_out.weights(release.parts[0].rows.relation, most).values(), default=1) == weighs


def see_answered(session: dp.Session, levels: int) -> None:
    assert session.sql(doubled(levels), epsilon=200).to_dict()["n"] == [3]


def test_postgres_answers_many_levels() -> None:
    places = servers.load(servers.postgres(), "written_out", {"t": ROWS})
    with dp.protect(places["t"], **UNIT, ledger=":memory:") as session:
        see_answered(session, 40)  # not fenced, its planner takes all memory


@pytest.mark.parametrize(("name", "levels"), [("clickhouse", 14), ("spark", 9)])
def test_an_engine_without_a_fence_refuses_what_it_would_write_out_for_ever(name: str, levels: int) -> None:
    session = shared.protect(ROWS, **UNIT)

    def compiled(levels: int) -> str:
        (release,) = plan_of(session, doubled(levels), Fraction(1)).releases
        return compile_part(release, 0, name, 7).sql

    assert compiled(levels)
    for more in (levels + 5, 60):
        with pytest.raises(QueryRefused, match=r"A value has more than [\d,]+ parts"):
            compiled(more)


def test_clickhouse_is_asked_for_no_names_of_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        written_out, "weights", lambda *_: {}
    )  # it need not refuse, as nothing here is a condition
    with servers.within_clickhouse("written_out", {"t": ROWS}) as database:
        session = dp.protect(database, **{**UNIT, "table": "written_out.t"})
        tables = ["x0 AS (SELECT id, c FROM t)"]
        tables += [f"x{level} AS (SELECT id, c || c AS c FROM x{level - 1})" for level in range(1, 21)]
        asked = f"WITH {', '.join(tables)} SELECT COUNT(*) AS n FROM x20 WHERE c <> 'z'"
        # EXPLAIN PLAN would answer with gigabytes.
        assert session.sql(asked, epsilon=200).to_dict()["n"] == [3]
