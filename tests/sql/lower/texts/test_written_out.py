"""Sub-queries that use each other's columns twice: no engine is asked to write them out, however many there are."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, get_args

import pyarrow as pa
import pytest
from sqlglot import exp, parse_one
from tests import servers, shared
from tests.depth import few
from tests.inside import plan_of

import discreet as dp
from discreet.engines.clickhouse import engine as clickhouse
from discreet.errors import QueryRefused
from discreet.sql.algebra import relation as rel
from discreet.sql.dialects import named
from discreet.sql.expressions.expression import weight
from discreet.sql.lower import relation_sql
from discreet.sql.lower.compile import compile_part
from discreet.sql.lower.texts import written_out

ROWS = pa.table({"id": [1, 2, 3], "c": ["q", "b", "a"], "k": [1, 2, 3]})
UNIT: dict[str, Any] = {
    "table": "t",
    "privacy_unit": "id",
    "max_rows": 1,
    "budget": 5000,
    "bounds": {"k": (0, 10)},
}


def doubled(levels: int) -> str:
    """A text that is twice as long at each level, behind a condition on it."""
    tables = ["x0 AS (SELECT id, c FROM t)"]
    tables += [
        f"x{level} AS (SELECT id, c || c AS c FROM x{level - 1} WHERE c < 'z' || c)"
        for level in range(1, levels + 1)
    ]
    return f"WITH {', '.join(tables)} SELECT COUNT(*) AS n FROM x{levels} WHERE c || c <> 'z'"


STEPS: dict[type, str] = {
    rel.Select: "SELECT id, k + k AS k FROM {0} WHERE k < 3 + k",
    rel.Join: "SELECT a.id, a.k + a.k AS k FROM {0} AS a JOIN (SELECT id, c FROM t) AS b ON a.id = b.id",
    rel.PublicJoin: "SELECT a.id, a.k + a.k AS k FROM {0} AS a JOIN (VALUES (1)) AS v(d) ON a.k <> v.d",
    rel.Matching: "SELECT id, k + k AS k FROM {0} AS a WHERE EXISTS "
    "(SELECT 1 FROM t AS b WHERE b.id = a.id AND b.k <= a.k + a.k)",
    rel.Union: "SELECT id, k + k AS k FROM (SELECT * FROM {0} UNION ALL SELECT id, k FROM t) AS u",
    rel.PerUnit: "SELECT DISTINCT id, k + k AS k FROM {0} WHERE k < 3 + k",
    rel.Windowed: "SELECT id, k + k AS k, ROW_NUMBER() OVER (PARTITION BY id ORDER BY k) AS r FROM {0} WHERE k < 3 + k",
}
"""A query that reads a column of the one before it twice, through each relation."""
ALSO = {
    "GROUP BY": "SELECT id, k + k AS k FROM {0} WHERE k < 3 + k GROUP BY id, k + k",
    "HAVING": "SELECT id, k + k AS k FROM {0} GROUP BY id, k + k HAVING k + k < 3 + (k + k)",
    "an aggregate": "SELECT id, MAX(k + k) AS k FROM {0} WHERE k < 3 + k GROUP BY id",
    "its window is read": "SELECT id, k + k AS k FROM {0} QUALIFY ROW_NUMBER() OVER (PARTITION BY id, k) < 9",
    "a window beside it is read": "SELECT id, k + k AS k FROM {0} "
    "QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY k) < 9",
    "UNION": "SELECT id, k + k AS k FROM {0} WHERE k < 3 + k UNION SELECT id, k FROM t",
    "EXCEPT": "SELECT id, k + k AS k FROM {0} WHERE k < 3 + k EXCEPT SELECT id, k FROM t",
    "a guarded product": "SELECT id, 0.5 * k AS k FROM {0} WHERE k < 3 + k",
    "CASE": "SELECT DISTINCT id, CASE WHEN k > 5 THEN k - 1 ELSE k END AS k FROM {0}",
}


def chained(step: str, levels: int) -> str:
    """A question over many queries, each of which reads the one before."""
    tables = ["x0 AS (SELECT id, k FROM t)"]
    tables += [f"x{level} AS ({step.format(f'x{level - 1}')})" for level in range(1, levels + 1)]
    return f"WITH {', '.join(tables)} SELECT COUNT(*) AS n FROM x{levels} WHERE k <> 7"


def compiled(question: str, dialect: str = "postgres") -> str:
    session = shared.protect(ROWS, **UNIT)
    (release,) = plan_of(session, question, Fraction(1)).releases
    return compile_part(release, 0, dialect, 7).sql


def fences(levels: int) -> int:
    """How many fences PostgreSQL's SQL of a question has."""
    return compiled(doubled(levels)).count("OFFSET 0")


def largest(sql: str) -> int:
    """The columns of the largest expression of SQL for PostgreSQL once all its sub-queries are written out.

    It reads SQL alone, and knows a planner as its worst: a column is a name behind OFFSET, an aggregate, a window, and
    beside a window whose PARTITION BY does not name it; everywhere else it is written out.
    """
    found = [0]

    def columns(query: exp.Expr) -> dict[str, int]:
        if isinstance(query, exp.SetOperation):
            sides = [columns(query.left), columns(query.right)]
            out = {name: max(side.get(name, 1) for side in sides) for side in sides for name in side}
            return {} if query.args.get("offset") else out
        assert isinstance(query, exp.Select)
        known: dict[str, int] = {}
        for source in (query.args["from_"], *query.args.get("joins", ())):
            if isinstance(source.this, exp.Subquery):
                known.update(columns(source.this.this))

        def size(node: exp.Expr) -> int:
            parts = [known.get(each.name, 1) for each in node.find_all(exp.Column)]
            found[0] = max(found[0], sum(parts))
            return sum(parts)

        for condition in (query.args.get("where"), *query.args.get("joins", ())):
            if condition is not None:
                size(condition)
        out = {e.alias_or_name: 1 if e.find(exp.AggFunc, exp.Window) else size(e) for e in query.selects}
        windows = [window for e in query.selects for window in e.find_all(exp.Window)]
        for window in windows:
            apart = {e.name for e in window.args.get("partition_by") or ()}
            out = {name: own if name in apart else 1 for name, own in out.items()}
        return {} if query.args.get("offset") else out

    columns(parse_one(sql, dialect="postgres"))
    return found[0]


def test_a_column_grows_up_to_a_fence() -> None:
    usual = fences(3)
    assert fences(4) == usual  # some hundred parts are few
    assert usual < fences(30) < usual + 30


def test_every_relation_says_where_its_columns_are_written_out() -> None:
    assert set(written_out._SIZES) == set(get_args(rel.Relation)) == {rel.Scan, *STEPS}
    for relation in written_out._SIZES:
        assert f"`{relation.__name__}`" in (written_out.__doc__ or "")


@pytest.mark.parametrize("step", [*STEPS.values(), *ALSO.values()])
def test_no_way_leads_past_the_fences(step: str) -> None:
    assert (
        largest(compiled(chained(step, 16))) < 20 * written_out.MOST_PARTS
    )  # a stored column is some parts itself


@pytest.mark.parametrize("relation", STEPS)
def test_a_lost_line_is_seen(relation: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(written_out._SIZES, relation, lambda *_: written_out._NAMES)
    assert largest(compiled(chained(STEPS[relation], 16))) > 2**16


def test_a_size_without_the_guards_of_the_engine_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    question = chained(ALSO["a guarded product"], 8)
    assert largest(compiled(question)) < 20 * written_out.MOST_PARTS
    monkeypatch.setattr(written_out, "size", lambda expression, columns, _: weight(expression, columns))
    assert largest(compiled(question)) > 2**25


def test_a_lost_fence_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = fences(3)
    monkeypatch.setattr(written_out, "MOST_PARTS", 10**30)
    assert largest(compiled(doubled(30))) > 2**30
    assert fences(30) == usual


@pytest.mark.parametrize(
    ("rows", "anywhere", "conditions"),
    [
        ("{long} AS s", 13, 13),
        ("{long} AS s JOIN (SELECT id FROM t) AS o ON s.id = o.id", 13, 13),
        ("(SELECT * FROM {long} AS a UNION ALL SELECT id, c FROM t) AS s", 13, 13),
        ("(SELECT DISTINCT id, c FROM {long} AS a) AS s", 1, 13),
        ("(SELECT id, MAX(c) AS c FROM {long} AS a GROUP BY id) AS s", 1, 14),
        (
            "(SELECT id, MAX(c) AS c FROM (SELECT id, MAX(c) AS c FROM {long} AS a GROUP BY id) AS b GROUP BY id) AS s",
            1,
            2,
        ),
        (
            "(SELECT id, c, ROW_NUMBER() OVER (PARTITION BY id ORDER BY c) AS r FROM {long} AS a) AS s",
            13,
            13,
        ),
    ],
)
def test_columns_are_written_out_in_all_expressions_or_in_conditions(
    rows: str, anywhere: int, conditions: int
) -> None:
    session = shared.protect(ROWS, **UNIT)
    long = "(SELECT id, c || c || c || c AS c FROM t)"
    question = f"SELECT COUNT(*) AS n FROM {rows.format(long=long)} WHERE s.c < 'z'"
    (release,) = plan_of(session, question, Fraction(1)).releases
    filtered = release.parts[0].rows.relation
    while not (isinstance(filtered, rel.Select) and filtered.where is not None):
        (filtered,) = rel.parts(filtered)
    known = written_out.sizes(filtered.source, {"c", "s.c"}, named("postgres"))
    assert max(known.anywhere.values(), default=1) == anywhere
    assert max(known.conditions.values(), default=1) == conditions


def see_answered(session: dp.Session, levels: int) -> None:
    assert session.sql(doubled(levels), epsilon=200).to_dict()["n"] == [3]


def test_postgres_answers_many_levels() -> None:
    places = servers.load(servers.postgres(), "written_out", {"t": ROWS})
    with dp.protect(places["t"], **UNIT, ledger=":memory:") as session:
        see_answered(session, 40)  # not fenced, its planner takes all memory
        # A deep run: all four; `test_no_way_leads_past_the_fences` reads the SQL of every one in each.
        for step in few((STEPS[rel.PerUnit], STEPS[rel.Windowed], STEPS[rel.Join], ALSO["an aggregate"]), 2):
            # Not fenced, an hour; and EXPLAIN would write gigabytes even of those that need no fence.
            assert session.sql(chained(step, 30), epsilon=200).to_dict()["n"] == [3]


@pytest.mark.parametrize(("name", "levels"), [("clickhouse", 14), ("spark", 8)])
def test_an_engine_without_a_fence_refuses_what_it_would_write_out_for_ever(name: str, levels: int) -> None:
    assert compiled(doubled(levels), name)
    for more in (levels + 5, 60):
        with pytest.raises(QueryRefused, match=r"A value has more than [\d,]+ parts"):
            compiled(doubled(more), name)


def test_clickhouse_refuses_it_through_every_relation_and_charges_nothing() -> None:
    with servers.within_clickhouse("written_out", {"t": ROWS}) as database:
        session = dp.protect(database, **{**UNIT, "table": "written_out.t"})
        # A deep run: every relation, which `test_no_way_leads_past_the_fences` asks in each.
        for step in few(STEPS.values(), 3):
            with pytest.raises(QueryRefused, match=r"A value has more than [\d,]+ parts") as refused:
                session.sql(chained(step, 20), epsilon=1)
            assert "Use a computed column once" in str(refused.value)
        assert session.budget.spent == 0


def test_clickhouse_is_asked_for_no_names_of_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        written_out, "sizes", lambda *_: written_out._NAMES
    )  # it need not refuse, as nothing here is a condition
    ask, answers = clickhouse._quietly, list[int]()

    def weighed(*given: Any, **more: Any) -> pa.Table | None:
        answer = ask(*given, **more)
        answers.append(0 if answer is None else answer.nbytes)
        return answer

    monkeypatch.setattr(clickhouse, "_quietly", weighed)
    with servers.within_clickhouse("written_out", {"t": ROWS}) as database:
        session = dp.protect(database, **{**UNIT, "table": "written_out.t"})
        tables = ["x0 AS (SELECT id, c FROM t)"]
        tables += [f"x{level} AS (SELECT id, c || c AS c FROM x{level - 1})" for level in range(1, 15)]
        asked = f"WITH {', '.join(tables)} SELECT COUNT(*) AS n FROM x14 WHERE c <> 'z'"
        assert session.sql(asked, epsilon=200).to_dict()["n"] == [3]
    # EXPLAIN PLAN would answer with 1.6 MB, and with twice as many for each level more: gigabytes where 25 are asked.
    assert 500 < max(answers) < 10_000


CORRELATED = (STEPS[rel.Matching], STEPS[rel.Matching].replace("EXISTS", "NOT EXISTS"))


def test_duckdb_refuses_what_a_correlated_exists_would_write_out_for_ever() -> None:
    session = shared.protect(ROWS, **UNIT)
    for step in CORRELATED:
        session.sql(chained(step, 5), epsilon=1)
        spent = session.budget.spent
        with pytest.raises(QueryRefused, match="more than 16,000 parts once this engine"):
            session.sql(chained(step, 40), epsilon=1)
        assert session.budget.spent == spent
    for step in (STEPS[rel.Select], STEPS[rel.PerUnit]):  # DuckDB writes nothing out there
        session.sql(chained(step, 30), epsilon=1)


def test_a_lost_limit_of_duckdb_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    question = chained(CORRELATED[0], 20)
    with pytest.raises(QueryRefused):
        compiled(question, "duckdb")
    monkeypatch.setattr(relation_sql, "see_correlated", lambda *_: None)
    assert compiled(question, "duckdb")
