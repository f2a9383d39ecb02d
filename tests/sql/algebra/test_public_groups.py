"""WHERE and joins take away the groups that public values alone rule out: those that are left are DuckDB's.

The table has a row for every combination of public values, so the groups of the plain query are exactly those that
could have rows. 24 random questions with conditions on keys, beside those that are written out; 2,000 in a deep run.
"""

from __future__ import annotations

import datetime as dt
import itertools
import random
from fractions import Fraction
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from tests import shared
from tests.depth import examples, few

from discreet.errors import QueryRefused
from discreet.policy import Policy
from discreet.sql.algebra import keys as ks
from discreet.sql.algebra.branches import NotTracedError
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.algebra.trial import Trial
from discreet.sql.plan.planner import plan

RANDOM_CASES = examples(24, 2000)
DECIDING = ("CASE", "nullif", "NULLIF", ">", "<", "decided", "partner")
"""In the name of a key whose NULL is a group."""
FIRST, DAYS = dt.date(2024, 2, 20), 12
START, STEP, STEPS = dt.datetime(2024, 2, 28), dt.timedelta(minutes=30), 120
POLICY = Policy.model_validate({
    "budget": {"epsilon": 1},
    "tables": {
        "t": {
            "privacy_unit": "id", "max_rows": 2,
            "columns": {
                "educ": {"bounds": [1, 4]}, "age": {"bounds": [0, 5]}, "sex": {"keys": ["M", "F"]},
                "city": {"keys": "towns.city"}, "d": {"bounds": [FIRST, FIRST + dt.timedelta(DAYS - 1)]},
                "ts": {"bounds": [START, START + STEP * (STEPS - 1)]},
            },
        },
        "towns": {"public": True},
    },
})  # fmt: skip
TOWNS = pa.table(
    {"city": ["A", "B", "C"], "state": ["S1", "S1", "S2"], "size": pa.array([1, 2, 3], pa.int64())}
)


@cache
def engine() -> duckdb.DuckDBPyConnection:
    """Every combination of the public values of t, and the towns."""
    connection = duckdb.connect()
    ages = pa.table({"age": pa.array([*range(6), None], pa.int64())})
    days = pa.table({"d": [FIRST + dt.timedelta(at) for at in range(DAYS)]})
    hours = pa.table({"ts": [START + STEP * at for at in range(STEPS)]})
    for name, table in {"ages": ages, "days": days, "hours": hours, "listed": TOWNS}.items():
        connection.register(name, table)
    connection.execute("CREATE TABLE towns AS FROM listed")
    connection.execute("""CREATE TABLE t AS SELECT row_number() OVER () AS id, row_number() OVER () % 10 AS free, *
        FROM (SELECT unnest([1, 2, 3, 4, NULL]) AS educ), (SELECT unnest(['M', 'F', NULL]) AS sex),
        (SELECT unnest(['A', 'B', 'C']) AS city), ages, days, hours""")
    return connection


@cache
def catalog() -> Catalog:
    from discreet.engines.duckdb import DuckDBEngine

    opened = DuckDBEngine.open({"t": engine().sql("FROM t LIMIT 1").to_arrow_table()})
    return Catalog.build(POLICY, opened.schema(), {"towns": TOWNS})


def groups(sql: str) -> list[tuple[object, ...]]:
    """The groups that a question is planned with."""
    (release,) = plan(sql, catalog(), Fraction(1)).releases
    columns = [column.to_pylist() for column in ks.table(release.keys).values()]
    return list(zip(*columns, strict=True))


@cache
def expected(sql: str) -> set[tuple[object, ...]]:
    """The groups of plain DuckDB, without the NULL of keys that decide nothing."""
    answer = engine().cursor().execute(sql)
    decides = [any(word in name for word in DECIDING) for name, *_ in answer.description[:-1]]
    rows = {row[:-1] for row in answer.fetchall()}
    return {
        row for row in rows if all(one is not None or known for one, known in zip(row, decides, strict=True))
    }


def question(keys: list[str], where: str, source: str = "t") -> str:
    return f"SELECT {', '.join(keys)}, COUNT(*) AS n FROM {source} WHERE {where} GROUP BY {', '.join(keys)}"


def check(sql: str) -> None:
    truth = expected(sql)
    try:
        found = groups(sql)
    except QueryRefused:
        if truth:
            raise
        return
    assert len(found) == len(set(found)), sql
    assert set(found) == truth, sql


PARTNERS = "(SELECT city AS partner, state AS partner_state, size FROM towns) AS p"
PARTLY = f"t LEFT JOIN {PARTNERS} ON t.educ = p.size"
"""Of the educations the towns have some, so that there are rows without a partner."""
WRITTEN = [
    question(["educ"], "educ IN (2, 3)"),
    question(["educ", "sex"], "(educ = 2 AND sex = 'M') OR (educ = 3 AND sex = 'F')"),
    question(["educ"], "educ = 2 OR age > 90"),
    question(["educ", "sex"], "educ = 2 OR sex = 'F'"),
    question(["free // 2"], "free // 2 IN (1, 3) AND sex = 'M'"),
    question(["free % 7", "sex"], "3 = free % 7 AND free % 7 IN (1, 3)"),
    question(["CASE WHEN age < 3 THEN 'child' ELSE 'adult' END"], "age >= 3"),
    question(["city"], "city LIKE 'A%' OR lower(city) = 'b'"),
    question(["d"], "month(d) = 3"),
    question(["month(d)", "dayofweek(d)"], "d >= DATE '2024-03-01'"),
    question(["date_trunc('day', ts)"], "hour(ts) = 3 AND ts > TIMESTAMP '2024-02-28 12:30:00'"),
    question(["date_trunc('day', ts)"], "ts < TIMESTAMP '2024-02-28 12:30:00' OR month(ts) = 3"),
    question(["date_trunc('day', ts)", "educ"], "(ts > TIMESTAMP '2024-02-29 12:30:00' AND educ = 1) OR "
             "(ts < TIMESTAMP '2024-02-28 12:30:00' AND educ = 2)"),
    question(["hour(ts)"], "date_trunc('day', ts) = TIMESTAMP '2024-03-01 00:00:00'"),
    question(["educ"], "ts < TIMESTAMP '2024-02-29 00:00:00' AND NOT (ts < TIMESTAMP '2024-02-29 00:00:00')"),
    question(["educ", "sex"], "sex = 'M' OR ts > TIMESTAMP '2024-03-01 23:59:59.999999'"),
    question(["educ"], "NOT (ts < TIMESTAMP '2024-02-29 00:00:00')",
             "(SELECT * FROM t WHERE ts < TIMESTAMP '2024-02-29 00:00:00') AS s"),
    question(["educ"], "educ IN (SELECT size FROM towns WHERE state = 'S1')"),
    question(["educ"], "educ > (SELECT MIN(size) FROM towns)"),
    question(["state"], "educ = 1", "t JOIN towns ON t.city = towns.city"),
    question(["t.city"], "state = 'S1'", "t JOIN towns ON t.city = towns.city"),
    question(["t.city", "state"], "educ = 1", "t JOIN towns ON t.city = towns.city"),
    question(["t.city"], "state = 'S2'", "t LEFT JOIN towns ON t.city = towns.city AND size > 1"),
    question(["t.city"], "state IS NULL", "t LEFT JOIN towns ON t.city = towns.city AND size > 1"),
    question(["t.educ", "size"], "TRUE", "t JOIN towns ON t.educ < towns.size"),
    question(["educ"], "sex = 'M'", "(SELECT educ + 1 AS educ, sex FROM t WHERE educ <> 3) AS s"),
    question(["a.educ", "b.sex"], "a.educ = 1 OR b.sex = 'F'", "t AS a JOIN t AS b ON a.id = b.id AND a.educ = b.educ"),
    question(["educ"], "sex = 'M'", "(SELECT * FROM t WHERE educ = 1 UNION ALL SELECT * FROM t WHERE educ > 3) AS u"),
    question(["educ", "sex"], "educ < 4",
             "(SELECT * FROM t WHERE educ = 1 AND sex = 'M' UNION ALL SELECT * FROM t WHERE educ > 2) AS u"),
    question(["educ"], "n > 0",
             "(SELECT id, educ, COUNT(*) AS n FROM t WHERE educ BETWEEN 2 AND 3 GROUP BY id, educ) AS p"),
    question(["educ"], "educ > 9"),
    question(["CASE WHEN age < 3 THEN 'child' END"], "TRUE"),
    question(["CASE WHEN age < 3 THEN 'child' END"], "age < 2"),
    question(["CASE WHEN age < 3 THEN 'child' END"], "age IS NULL"),
    question(["CASE WHEN age < 3 THEN 'child' END", "sex"], "sex = 'M' OR age > 3"),
    question(["nullif(educ, 2)"], "educ < 4"),
    question(["nullif(educ, 2)"], "educ <> 2"),
    question(["educ > 2", "sex < 'L'"], "TRUE"),
    question(["educ > 2", "age < 3"], "educ IS NOT NULL"),
    question(["decided"], "educ < 4", "(SELECT CASE WHEN sex = 'M' THEN educ END AS decided, educ FROM t) AS s"),
    question(["decided"], "sex = 'M'", "(SELECT id, sex, educ > 2 AS decided FROM t) AS s"),
    question(["month"], "sex = 'M'", "(SELECT sex, date_trunc('month', ts) AS month FROM t) AS s"),
    question(["month"], "TRUE", "(SELECT date_trunc('month', ts) AS month FROM t) AS s"),
    question(["month(day)"], "TRUE", "(SELECT date_trunc('day', ts) AS day FROM t) AS s"),
    question(["month"], "n > 0",
             "(SELECT id, MIN(date_trunc('day', ts)) AS month, COUNT(*) AS n FROM t GROUP BY id) AS s"),
    question(["bin"], "TRUE", "(SELECT date_trunc('day', ts) AS bin FROM t UNION ALL "
             "SELECT date_trunc('month', ts) FROM t) AS s"),
    question(["a.bin"], "TRUE", "(SELECT id, time_bucket(INTERVAL '7 days', ts) AS bin FROM t) AS a "
             "JOIN (SELECT id, COUNT(*) AS n FROM t GROUP BY id) AS b ON a.id = b.id"),
    question(["d", "month(d)"], "TRUE"),
    question(["sex", "CASE WHEN sex = 'M' THEN 'man' END"], "TRUE"),
    question(["educ"], "educ = NULL"),
    question(["partner"], "TRUE", PARTLY),
    question(["partner", "sex"], "sex = 'M'", PARTLY),
    question(["partner", "educ"], "TRUE", PARTLY),
    question(["partner"], "educ IN (1, 2)", PARTLY),
    question(["partner"], "educ = 4", PARTLY),
    question(["partner"], "age > 1", f"t LEFT JOIN {PARTNERS} ON t.educ + 1 = p.size"),
    question(["partner"], "sex = 'M'", f"t LEFT JOIN {PARTNERS} ON t.free = p.size"),
    question(["partner"], "partner IS NOT NULL", PARTLY),
    question(["upper(partner)"], "TRUE", PARTLY),
    question(["coalesce(partner, 'other')"], "TRUE", PARTLY),
    question(["CASE WHEN partner IS NULL THEN 'other' ELSE 'town' END"], "TRUE", PARTLY),
    question(["partner IS NULL"], "TRUE", PARTLY),
    question(["partner"], "TRUE", f"t LEFT JOIN {PARTNERS} ON TRUE"),
    question(["partner"], "sex = 'M'", f"(SELECT partner, sex FROM {PARTLY}) AS s"),
    question(["partner", "partner_state"], "TRUE", f"{PARTLY} LEFT JOIN towns AS o ON o.city = p.partner"),
    question(["partner", "month(ts)"], "ts > TIMESTAMP '2024-02-28 12:30:00'",
             f"t LEFT JOIN {PARTNERS} ON dayofmonth(t.ts) = p.size"),
    question(["partner", "state"], "TRUE", "t JOIN towns AS o ON t.educ = o.size "
             f"LEFT JOIN {PARTNERS} ON p.size = o.size AND p.partner_state = 'S1'"),
]  # fmt: skip


# A deep run: every question.
@pytest.mark.parametrize("sql", few(WRITTEN, 9))
def test_the_groups_are_those_that_can_have_rows(sql: str) -> None:
    check(sql)


KEYS = ["educ", "sex", "city", "age", "d", "month(d)", "dayofweek(d)", "date_trunc('day', ts)", "hour(ts)",
        "educ + age", "age // 2", "CASE WHEN age < 3 THEN sex ELSE 'old' END", "educ > 2",
        "CASE WHEN age < 3 THEN 'child' END"]  # fmt: skip
ATOMS = [
    "educ {c} {i}", "{i} {c} educ", "age {c} {i}", "educ + age {c} {i}", "educ IN ({i}, {i})",
    "age BETWEEN {i} AND {i}", "sex = '{s}'", "sex <> '{s}'", "city IN ('{t}', '{t}')", "city {c} '{t}'",
    "city LIKE '{t}%'", "educ % 2 = 0",
    "d {c} DATE '2024-0{m}-01'", "month(d) = {m}", "dayofweek(d) {c} {i}", "ts {o} TIMESTAMP '2024-02-29 0{i}:30:00'",
    "hour(ts) {c} {i}", "age IS NULL", "age IS NOT NULL", "coalesce(age, 9) > {i}", "educ {c} age",
    "educ * 1.0 {c} {i}.5",
    "date_trunc('day', ts) {c} TIMESTAMP '2024-02-29 00:00:00'", "CASE WHEN sex = 'M' THEN educ ELSE age END {c} {i}",
]  # fmt: skip


def condition(rng: random.Random, depth: int) -> str:
    """A random condition on public columns."""
    if depth == 0 or rng.random() < 0.3:
        out = rng.choice(ATOMS)
        while "{" in out:
            for mark, choices in (("{c}", ["=", "<>", "<", "<=", ">", ">="]), ("{i}", list("012345")), ("{o}", "<>"),
                                  ("{s}", "MF"), ("{t}", "ABC"), ("{m}", "23")):  # fmt: skip
                out = out.replace(mark, rng.choice(choices), 1)
        return out
    if rng.random() < 0.2:
        return f"NOT ({condition(rng, depth - 1)})"
    return f"({condition(rng, depth - 1)} {rng.choice(['AND', 'OR'])} {condition(rng, depth - 1)})"


def case(seed: int) -> str:
    rng = random.Random(seed)
    keys = rng.sample(KEYS, rng.choice([1, 1, 2, 2, 3]))
    return question(keys, condition(rng, rng.choice([1, 2, 3])))


@pytest.mark.parametrize("block", range(8))
def test_random_conditions_leave_the_groups_that_plain_sql_has(block: int) -> None:
    for seed in range(block, RANDOM_CASES, 8):
        check(case(seed))


def _untraced(relation: object) -> list[object]:
    raise NotTracedError


FAULTS = {
    "strictly less is read as less or equal": ("discreet.sql.algebra.narrowing.WHOLE", frozenset()),
    "moments are not sampled beside literals": ("discreet.sql.algebra.trial.BESIDE", ()),
    "conditions are not weighed": ("discreet.sql.algebra.trial.conjuncts", lambda conditions: []),
    "NULL is no group": ("discreet.sql.algebra.trial.has_null_group", lambda key: False),
    "rows without a partner are no group": ("discreet.sql.algebra.trial.holds_null", lambda key: False),
    "nothing is traced": ("discreet.sql.algebra.public_groups.branches", _untraced),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_the_comparison_finds_a_planted_fault(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    target, value = FAULTS[fault]
    monkeypatch.setattr(target, value)
    known = few(WRITTEN, 9)  # whose groups DuckDB has named in the tests above
    assert any(_is_wrong(sql) for sql in (*known, *WRITTEN, *(case(seed) for seed in range(60))))


def _is_wrong(sql: str) -> bool:
    try:
        check(sql)
    except (AssertionError, QueryRefused):
        return True
    return False


def test_what_is_not_public_takes_no_group_away() -> None:
    assert len(groups("SELECT educ, COUNT(*) AS n FROM t WHERE id = 7 OR educ = 2 GROUP BY educ")) == 4


def test_a_filter_makes_groups_public_that_the_policy_does_not_list() -> None:
    assert groups("SELECT free, COUNT(*) AS n FROM t WHERE free IN (3, 1) GROUP BY free") == [(1,), (3,)]
    assert groups("SELECT free, COUNT(*) AS n FROM t WHERE free BETWEEN 7 AND 9 GROUP BY 1") == [
        (7,),
        (8,),
        (9,),
    ]
    with pytest.raises(QueryRefused, match="not public"):
        groups("SELECT free, COUNT(*) AS n FROM t WHERE free > 7 GROUP BY free")


def test_many_combinations_are_pruned_key_by_key() -> None:
    found = groups("SELECT d, hour(ts), COUNT(*) AS n FROM t WHERE d < DATE '2024-02-22' GROUP BY ALL")
    assert len(found) == 2 * 24


def test_keys_keep_the_order_of_the_policy() -> None:
    sql = "SELECT sex, educ, COUNT(*) AS n FROM t WHERE sex = 'F' OR educ < 3 GROUP BY ALL"
    assert groups(sql) == [g for g in itertools.product("MF", range(1, 5)) if g[0] == "F" or g[1] < 3]


def test_sub_queries_that_double_an_expression_are_not_written_out() -> None:
    """Traced back to stored columns it would have 2^60 parts, and planning would never end."""
    levels = ", ".join(f"t{at + 1} AS (SELECT id, sex, s || s AS s FROM t{at})" for at in range(60))
    start = "t0 AS (SELECT id, sex, city AS s FROM t)"
    assert groups(
        f"WITH {start}, {levels} SELECT sex, COUNT(*) AS n FROM t60 WHERE s <> 'A' GROUP BY sex"
    ) == [
        ("M",),
        ("F",),
    ]


def test_a_list_that_a_condition_gives_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Trial, "_named", lambda self, key: None)  # the planted fault
    with pytest.raises(QueryRefused):
        check(question(["free // 2"], "free // 2 IN (1, 3) AND sex = 'M'"))


def test_counts_of_the_rows_of_a_unit_are_groups_within_their_cap() -> None:
    each = "(SELECT id, COUNT(*) AS n, COUNT(educ) AS m FROM t GROUP BY id) AS p"
    assert [one for (one,) in groups(f"SELECT n, COUNT(*) AS many FROM {each} GROUP BY n")] == [1, 2]
    assert [one for (one,) in groups(f"SELECT m, COUNT(*) AS many FROM {each} GROUP BY m ORDER BY m")] == [
        0,
        1,
        2,
    ]
    assert len(groups(f"SELECT m, n > 1, COUNT(*) AS many FROM {each} GROUP BY ALL")) == 6


def test_the_values_of_a_column_are_listed_once_for_all_conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    """There may be a million, and three joins on such a key took half a minute to plan."""
    listed: list[str] = []

    def counted(span: Any, kind: Any) -> Any:
        listed.append(str(kind))
        return ks.column_values(span, kind)

    monkeypatch.setattr("discreet.sql.algebra.trial.column_values", counted)
    policy = Policy.model_validate(
        {
            "budget": {"epsilon": 1},
            "tables": {
                "visits": {"privacy_unit": "row", "columns": {"ward": {"keys": "wards.ward"}}},
                "wards": {"public": True},
            },
        }
    )
    wards = pa.table({"ward": [1, 2, 3]})
    joins = " ".join(f"JOIN wards w{at} ON v.ward = w{at}.ward AND w{at}.ward < 3" for at in range(3))
    session = shared.protect({"visits": wards, "wards": wards}, policy=policy)
    session.preview(f"SELECT COUNT(*) AS n FROM visits v {joins}", epsilon=1)
    assert not listed  # one group needs no values
    session.preview(f"SELECT v.ward, COUNT(*) AS n FROM visits v {joins} GROUP BY v.ward", epsilon=1)
    assert len(listed) == 1
