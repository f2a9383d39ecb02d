"""What is no question is refused, whatever it looks like, before anything is charged or read.

There is no chance of a false alarm: a plan, an error of another kind, or an engine that is asked is a fault.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
import sqlglot
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests import inside, shared
from tests.depth import examples
from tests.sql import harness

import discreet as dp
from discreet.errors import DiscreetError, InvalidParameter, QueryRefused
from discreet.sql.plan.planner import plan
from discreet.sql.syntax import parse as parsing
from discreet.sql.syntax.parse import MAX_TEXT, parse

RELAXED = settings(deadline=None, database=None, suppress_health_check=list(HealthCheck))
VISITS = pa.table({
    "patient": [1, 1, 2], "age": [31, 32, 47], "income": [1.5, 2.5, 3.5], "county": ["x", "y", "x"],
    "free": [1, 2, 3], "note": ["a", "b", "c"],
})  # fmt: skip
COUNTIES = pa.table({"county": ["x", "y"], "people": [10, 20]})


@pytest.fixture(scope="module")
def session() -> Iterator[dp.Session]:
    """A session whose engine must not be asked anything."""

    def never(*_: object) -> pa.Table:
        raise AssertionError("the engine was asked")

    with pytest.MonkeyPatch.context() as monkey, dp.protect(
        {"visits": VISITS, "counties": COUNTIES}, table="visits", public=["counties"], privacy_unit="patient",
        max_rows=2, bounds={"age": (0, 120), "income": (0, 10)}, keys={"county": "counties.county"}, budget=10,
    ) as made:  # fmt: skip
        monkey.setattr(inside.engine_of(made), "integers", never)
        yield made


# Where several things are wrong, any of them may be named; «…» holds all places that may be pointed at.
REFUSED = [
    ("SELECT «age FROM visits»", "rows of a private table"),
    ("SELECT «* FROM visits»", "rows of a private table"),
    ("SELECT «patient, COUNT(*) FROM visits GROUP BY patient»", "rows of a private table"),
    ("SELECT COUNT(*) AS n, «*» FROM visits", "columns of single rows"),
    ("SELECT «age», COUNT(*) FROM visits", "neither grouped by nor inside an aggregate"),
    ("SELECT county, COUNT(*) FROM visits GROUP BY county ORDER BY «age»", "neither grouped by nor"),
    ("SELECT COUNT(*) FROM (SELECT age FROM visits LIMIT «5») AS v", "LIMIT"),
    ("SELECT SUM(«free») FROM visits", "no bounds"),
    ("SELECT SUM(«1 / income») FROM visits", "no bounds"),
    ("SELECT note, COUNT(*) FROM visits GROUP BY «note»", "not public"),
    ("SELECT COUNT(«agee») FROM visits", "no column agee"),
    ("SELECT COUNT(*) FROM «visit»", "no table visit"),
    ("SELECT COUNT(*) AS «__n» FROM visits", "reserved"),
    ("SELECT COUNT(*) FROM «__release_1»", "reserved"),
    ("SELECT COUNT(*) FROM «sales.visits»", "one word"),
    ("SELECT COUNT(*) FROM visits WHERE «soundex(county)» = 'x'", "soundex"),
    ("SELECT AVG(«hash(age)») FROM visits", "hash"),
    ("SELECT SUM(«clamp(age, 1)») FROM visits", "two bounds"),
    ("SELECT COUNT(*) FROM visits WHERE «COUNT(*) > 3»", "aggregat"),
    ("SELECT SUM(«SUM(age)») FROM visits", "aggregate"),
    ("SELECT COUNT(*) FROM visits; DROP TABLE «visits»", "more than one statement"),
    ("SELECT COUNT(*) FROM visits; SELECT «1»", "more than one statement"),
    ("CREATE TABLE «x AS SELECT 1 AS a»", "CREATE"),
    ("DROP TABLE «visits»", "DROP"),
    ("INSERT INTO «visits VALUES (1)»", "INSERT"),
    ("SELECT * FROM «read_csv('/etc/passwd')»", "read_csv"),
    ("SELECT * FROM «read_parquet('x.parquet')»", "read_parquet"),
    ("SELECT * FROM «glob('/*')»", "glob"),
    ("SELECT COUNT(*) FROM «'visits.csv'»", "visits.csv"),
    ("SELECT «getenv('HOME')» AS x", "getenv"),
    ("SELECT «lpad('x', 1000000000, 'y')» AS x", "lpad"),
    ("SELECT «version()» AS x, COUNT(*) FROM visits", "version"),
    ("SELECT COUNT(*) AS n FROM visits\nWHERE age > 30\n  AND «soundex(county)» = 'x'", "soundex"),
    ("SELECT\t'ä', COUNT(«agee») FROM visits", "no column agee"),
]  # fmt: skip


@pytest.mark.parametrize(("marked", "reason"), REFUSED)
def test_a_refusal_names_the_place_the_reason_and_the_fix(
    session: dp.Session, marked: str, reason: str
) -> None:
    start, end = marked.index("«"), marked.index("»") - 1
    sql = marked.replace("«", "").replace("»", "")
    with pytest.raises(QueryRefused) as caught:
        session.sql(sql, epsilon=1)
    error = caught.value
    assert reason.lower() in error.reason.lower()
    lines = sql.split("\n")
    at = sum(len(one) + 1 for one in lines[: error.line - 1]) + error.column - 1
    assert start <= at < end
    assert sql.startswith(error.place, at)
    shown, carets = str(error).split("\n")[1:3]
    assert shown == "  " + lines[error.line - 1]
    assert carets.index("^") == 1 + error.column
    assert carets.strip() == "^" * min(len(error.place), len(shown) - 1 - error.column)
    assert error.fix
    assert session.ledger.entries() == []


@pytest.mark.parametrize(
    "sql",
    [
        "PRAGMA version", "PRAGMA threads = 1", "SET threads = 1", "SET VARIABLE x = 1", "RESET threads", "USE memory",
        "ATTACH 'x.db'", "ATTACH ':memory:' AS m", "DETACH m", "COPY visits TO 'x.csv'",
        "COPY (SELECT 1) TO '/dev/stdout'", "EXPORT DATABASE 'x'", "IMPORT DATABASE 'x'", "INSTALL httpfs",
        "LOAD httpfs", "EXPLAIN CREATE TABLE x (a INT)", "EXPLAIN ANALYZE SELECT 1",
        "DESCRIBE SELECT * FROM visits", "SUMMARIZE nothing", "SHOW DATABASES", "SHOW nothing", "SHOW",
        "show ;", "CALL pragma_version()",
        "CHECKPOINT", "VACUUM", "BEGIN",
        "COMMIT", "PREPARE p AS SELECT 1", "EXECUTE p", "CREATE MACRO f(x) AS x", "CREATE SECRET s (TYPE s3)",
        "CREATE VIEW w AS SELECT 1", "ALTER TABLE visits ADD COLUMN x INT", "TRUNCATE visits",
        "MERGE INTO visits USING counties ON true WHEN MATCHED THEN DELETE", "DELETE FROM visits",
        "UPDATE visits SET age = 1", "PIVOT visits ON county USING COUNT(*)",
        "UNPIVOT visits ON age INTO NAME n VALUE v",
        "VALUES (1)", "TABLE visits", "FROM visits", "GRANT ALL ON visits TO x", "COMMENT ON TABLE visits IS 'x'",
        "WITH x AS (DELETE FROM visits RETURNING age) SELECT * FROM x", "SELECT COUNT(*) INTO x FROM visits",
        "SELECT COUNT(*) FROM visits FOR UPDATE", "SELECT age FROM visits WHERE age = ?",
        "SELECT COUNT(*) FROM visits WHERE age = $1", "SELECT COUNT(*) FROM visits WHERE age = :a", "", "  ;  ",
        "-- nothing", "SELECT", "SELECT COUNT(*", "SELECT 'x", "SELECT /* x", "(((",
        "SELECT COUNT(*) FROM visits WHERE",
        "\0", "SELECT COUNT(*) FROM visits WHERE note = 'a\0b'",
        "SELECT COUNT(*) FROM visits USING SAMPLE 1", "SELECT COUNT(*) FROM visits TABLESAMPLE 5%",
        "SELECT rowid FROM visits", "SELECT * FROM information_schema.schemata",
        "SELECT * FROM x.information_schema.tables",
        "SELECT * FROM duckdb_tables()",
        "SELECT * FROM duckdb_settings()", "SELECT * FROM sqlite_master", "SELECT * FROM pg_catalog.pg_tables",
        "SELECT current_setting('threads'), COUNT(*) FROM visits", "SELECT current_user, COUNT(*) FROM visits",
        "SELECT COUNT(*) FROM visits WHERE age BETWEEN SYMMETRIC 5 AND 1",
    ],
)  # fmt: skip
def test_nothing_else_is_taken(session: dp.Session, sql: str) -> None:
    with pytest.raises(QueryRefused) as caught:
        session.sql(sql, epsilon=1)
    assert caught.value.fix
    assert caught.value.__cause__ is None
    assert session.ledger.entries() == []


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM (visits JOIN counties ON people > 100) PIVOT (COUNT(*) FOR county IN (1))",
        "SELECT COUNT(*) FROM visits PIVOT (COUNT(*) FOR county IN ('x'))",
        "SELECT COUNT(*) FROM visits PIVOT (COUNT(*) FOR k IN (1)) PIVOT (COUNT(*) FOR l IN (1))",
    ],
)
def test_no_part_of_a_question_is_passed_over(session: dp.Session, sql: str) -> None:
    with pytest.raises(QueryRefused):
        inside.plan_of(session, sql, Fraction(1))


def test_what_stands_behind_parentheses_counts(session: dp.Session) -> None:
    assert len(session.sql("(SELECT people FROM counties ORDER BY people) LIMIT 1", epsilon=1)) == 1


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT EXTRACT(YEAR FROM TIMESTAMP () AS y, COUNT(*) FROM visits",
        "SELECT DATETIME(1) AS y, COUNT(*) AS n FROM visits",
        "SELECT DATETIME(()) AS y, COUNT(*) AS n FROM visits",
        "SELECT J_S_O_N_OBJECT(1) AS y, COUNT(*) AS n FROM visits",
        "SELECT J_S_O_N_EXISTS(age, 1, 2) AS y, COUNT(*) AS n FROM visits",
        "SELECT SUM(CEIL()) AS y FROM visits",
        "SELECT SUM(FLOOR()) AS y FROM visits",
        "SELECT SUM(TS_OR_DS_TO_DATE_STR()) AS y FROM visits",
    ],
)
def test_a_function_without_its_parts_is_refused(session: dp.Session, sql: str) -> None:
    """The parser takes them, and stumbles as it writes them: no error of its own may come out."""
    with pytest.raises(QueryRefused):
        session.preview(sql, epsilon=1)


@pytest.mark.parametrize("sql", ["MAP()", "ARRAYS_ZIP()"])
def test_a_map_without_keys_is_a_value_as_others(session: dp.Session, sql: str) -> None:
    assert session.preview(f"SELECT {sql} AS y, COUNT(*) AS n FROM visits", epsilon=1).groups == 1


def test_a_text_that_is_no_text(session: dp.Session) -> None:
    for odd in (None, 3, b"SELECT 1", ["SELECT 1"]):
        with pytest.raises(InvalidParameter, match="not a text"):
            session.sql(odd, epsilon=1)  # type: ignore[arg-type]


# Without the limits that these run into, each would take minutes or more.
TOO_LARGE = [
    "SELECT COUNT(*) FROM visits WHERE " + " OR ".join(["age = 1"] * 5000),
    "SELECT " + "(" * 3000 + "1" + ")" * 3000,
    "SELECT COUNT(*) FROM " + "(SELECT * FROM " * 300 + "visits" + ")" * 300,
    "SELECT SUM(" + "clamp(" * 20 + "age" + ", 0, 5)" * 20 + ") FROM visits",
    "SELECT SUM(" + "CASE WHEN age > 1 THEN age ELSE " * 200 + "1" + " END" * 200 + ") FROM visits",
    "SELECT 1 -- " + "x" * MAX_TEXT,
    "SELECT COUNT(*) FROM visits WHERE " + "age " + "- age " * 400 + " > 0",
    "SELECT COUNT(*) FROM visits WHERE " + "NOT " * 2000 + "true",
]
PLAIN = [
    "SELECT COUNT(*) AS n FROM visits WHERE " + "age" + " - age" * 60 + " > 0",
    "SELECT COUNT(*) AS n FROM visits WHERE " + "floor(" * 25 + "income" + ")" * 25 + " > 0",
    "SELECT COUNT(*) AS n FROM visits WHERE age IN (" + ", ".join(map(str, range(8000))) + ")",
]


@pytest.mark.parametrize("at", range(len(TOO_LARGE)))
def test_what_is_too_large_is_refused_in_time(session: dp.Session, at: int) -> None:
    with pytest.raises(QueryRefused, match=r"nested too deeply|too large|longer than"):
        session.sql(TOO_LARGE[at], epsilon=1)


@pytest.mark.parametrize("at", range(len(PLAIN)))
def test_what_is_long_but_plain_is_planned_in_time(session: dp.Session, at: int) -> None:
    """Binding an argument twice would double at every level: 2^60 times here."""
    assert inside.plan_of(session, PLAIN[at], Fraction(1)).releases


@pytest.mark.parametrize(
    "epsilon", [0, -1, float("nan"), float("inf"), "x", None, True, 1e-30, "1e-400", "1e400", 5000]
)
def test_an_epsilon_that_cannot_be_had(session: dp.Session, epsilon: Any) -> None:
    with pytest.raises(InvalidParameter) as caught:
        session.sql("SELECT COUNT(*) AS n FROM visits", epsilon=epsilon)
    assert caught.value.fix
    assert session.ledger.entries() == []


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 2, float("nan"), "x", None])
def test_a_confidence_that_cannot_be_had(session: dp.Session, confidence: Any) -> None:
    with pytest.raises(InvalidParameter):
        session.sql("SELECT COUNT(*) AS n FROM visits", epsilon=1, confidence=confidence)
    assert session.ledger.entries() == []


# Fuzz ------------------------------------------------------------------------------------------------------
CATALOG = harness.catalog(harness.make_policy(True, 2, False))
TOKENS = """SELECT FROM WHERE GROUP\tBY HAVING ORDER\tBY LIMIT OFFSET DISTINCT ALL AS WITH RECURSIVE UNION INTERSECT
EXCEPT JOIN LEFT\tJOIN CROSS\tJOIN ON USING LATERAL CASE WHEN THEN ELSE END IN NOT AND OR IS NULL LIKE BETWEEN EXISTS
FILTER OVER PARTITION\tBY QUALIFY COUNT SUM AVG STDDEV MEDIAN clamp floor round coalesce extract CAST t t a b c d f g u
x ( ) ( ) , , * + - / // % = < > :: . ; [ ] -> 0 1 2.5 1e400 'x' '2020-01-01' "t" DATE INT INTERVAL TRUE VALUES UNNEST
range PIVOT ROLLUP CUBE $1 ? -- /* */ ß \0 ' " 1_0 0x1 ROWS WITHIN\tGROUP""".replace("\n", " ").split(" ")
VALID = [
    "SELECT c, COUNT(*) AS n, AVG(b) AS m FROM t WHERE a > 3 GROUP BY c HAVING n > 2 ORDER BY m DESC LIMIT 3",
    "WITH x AS (SELECT a // 4 AS k, SUM(a) AS s FROM t GROUP BY k) SELECT k, s, SUM(s) OVER (ORDER BY k) AS r FROM x",
    "SELECT CASE WHEN b > 1 THEN 'hi' ELSE 'lo' END AS k, STDDEV(a) FROM t GROUP BY 1",
    "SELECT COUNT(*) FILTER (WHERE d) / COUNT(*) AS p FROM (SELECT *, clamp(e, 0, 1) AS h FROM t WHERE c IN ('x'))",
    "SELECT month(f) AS m, round(AVG(coalesce(b, 1)), 2) AS v FROM t WHERE f < '2020-05-01' GROUP BY ALL",
    "SELECT (SELECT COUNT(*) FROM t) AS a1, x FROM (SELECT COUNT(*) AS x FROM t) AS y UNION ALL SELECT 1, 2",
]


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A valid question with some tokens lost, doubled, swapped or replaced."""
    tokens = re.findall(r"\w+|'[^']*'|\s+|.", draw(st.sampled_from(VALID)))
    for _ in range(draw(st.integers(1, 5))):
        at, other = (draw(st.integers(0, len(tokens) - 1)) for _ in range(2))
        match draw(st.integers(0, 3)):
            case 0:
                tokens[at] = " "
            case 1:
                tokens[at] = tokens[at] * 2
            case 2:
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case _:
                tokens[at] = f" {draw(st.sampled_from(TOKENS))} "
    return "".join(tokens)


def try_to_plan(text: str) -> None:
    with contextlib.suppress(QueryRefused, InvalidParameter):
        plan(text, CATALOG, Fraction(1))


@settings(RELAXED, max_examples=examples(120, 500))
@given(text=st.lists(st.sampled_from(TOKENS), max_size=25).map(" ".join))
@example("SELECT COUNT ( * ) FROM t WHERE a < TIMESTAMP '0001-01-01 00:00:00+05:00'")
@example("SELECT COUNT ( * ) FROM t WHERE f < '0001-01-01T00:00:00+05:00'")
@example("SELECT COUNT ( * ) FROM t WHERE a < 1e99999999999999999999")
@example("SELECT SUM ( clamp ( b , 0 , 1e-320 ) ) FROM t")
def test_random_tokens_are_planned_or_refused(text: str) -> None:
    try_to_plan(text)


@settings(RELAXED, max_examples=examples(50, 5000))
@given(text=mutated())
def test_mutated_questions_are_refused_or_planned(text: str) -> None:
    try_to_plan(text)


@settings(RELAXED, max_examples=examples(40, 3000))
@given(text=st.text(max_size=60))
def test_random_text_is_parsed_or_refused(text: str) -> None:
    with contextlib.suppress(QueryRefused):
        parse(text)


@pytest.mark.parametrize(
    "sql", ["SELECT COUNT(*) FROM t GROUP BY 1 + 1", "SELECT COUNT(*) FROM t GROUP BY upper('x')"]
)
def test_a_key_without_columns_is_refused_or_planned(sql: str) -> None:
    try_to_plan(sql)


@settings(RELAXED, max_examples=examples(12, 600))
@given(text=mutated())
def test_a_preview_fails_in_words_only(text: str) -> None:
    rows = pa.table({field.name: pa.array([], field.type) for field in harness.ARROW})
    bounds, keys = {"a": (-5, 20), "b": (-2.5, 4)}, {"c": ["x", "y", "z"]}
    session = shared.protect({"t": rows}, privacy_unit="u", max_rows=2, bounds=bounds, keys=keys, budget=1)
    with session, contextlib.suppress(DiscreetError):
        session.preview(text, epsilon=1)


@pytest.mark.parametrize("sql", [
    "SELECT , COUNT(*) FROM visits", "SELECT COUNT(*),, SUM(age) FROM visits",
    "SELECT DISTINCT\n, COUNT(*) FROM visits",
    "SELECT county, COUNT(*) FROM visits GROUP BY , county", "SELECT COALESCE(, COUNT(*)) FROM visits",
    "SELECT county, COUNT(*) FROM visits GROUP BY county ORDER BY /* first */ , county",
    "SELECT COUNT(*) FROM visits WHERE county IN (-- none\n, 'A')", "SELECT [1,,2], COUNT(*) FROM visits",
])  # fmt: skip
def test_nothing_before_a_comma_is_refused_as_duckdb_does(session: dp.Session, sql: str) -> None:
    with pytest.raises(QueryRefused, match="Nothing stands before this comma") as refused:
        session.preview(sql, epsilon=1)
    assert refused.value.place == ","


@pytest.mark.parametrize("sql", [
    "SELECT COUNT(*), FROM visits", "SELECT COUNT(*) FROM visits WHERE county IN ('(,', ',,', 'select ,',)",
    "SELECT COUNT(*) /* (, */ FROM visits -- ,,",
])  # fmt: skip
def test_a_comma_at_the_end_of_a_list_and_in_a_text_stays(session: dp.Session, sql: str) -> None:
    session.preview(sql, epsilon=1)


def test_an_open_door_is_found(session: dp.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the check of function names is there for."""
    monkeypatch.setattr(parsing, "_refuse_functions", lambda *_: None)
    assert session.sql("SELECT version() AS v", epsilon=1).to_dict()["v"] != []


@pytest.mark.parametrize(("text", "words"), [
    ("SELECT COUNT(*) FROM visits WHERE", "missing after WHERE"),
    ("SELECT county, COUNT(*) FROM visits GROUP BY county ORDER BY", "missing after ORDER BY"),
    ("SELECT COUNT(*) FROM visits LIMIT", "missing after LIMIT"),
    ("SELECT COUNT(*) FROM visits GROUP BY", "Nothing stands after GROUP BY"),
    ("SELECT COUNT(*) FROM", "Expected table name"),
    ("SELECT TOP 5 county, COUNT(*) FROM visits GROUP BY county", "write LIMIT 5 at the end"),
    ("SELECT AVG(money spent) FROM visits", "double quotes"),
    ("UPDATE visits SET age = 3", "This is an UPDATE"), ("DELETE FROM visits", "This is a DELETE"),
    ("EXPLAIN SELECT COUNT(*) FROM visits", "This is an EXPLAIN statement"), ("SHOW", "This is a SHOW statement"),
    ("SELEC county", "This is no statement"), ("help", "This is no statement"), ("COUNT(*)", "This is no statement"),
    ("SELECT", "Nothing stands after SELECT"), ("SELECT COUNT(*), (SELECT) FROM visits", "Nothing stands after SELECT"),
])  # fmt: skip
def test_what_cannot_be_read_is_said_in_the_words_of_sql(text: str, words: str) -> None:
    """Never in those of the parser: its classes and tokens are nothing to an analyst."""
    with pytest.raises(QueryRefused) as caught:
        parse(text)
    assert words in str(caught.value)
    assert not re.search("sqlglot|Token|<class", str(caught.value))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"SELECT {', '.join(f'SUM(x + {i}) AS s{i}' for i in range(501))} FROM t", "501 aggregates"),
        (f"SELECT COUNT(*) FROM t WHERE x IN ({', '.join(['1'] * 20_000)})", "20,0[0-9]{2} parts"),
    ],
)
def test_a_service_takes_no_statement_that_takes_long_to_plan(
    monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    parse(text)
    monkeypatch.setattr(parsing, "for_strangers", lambda: True)
    with pytest.raises(QueryRefused, match=said):
        parse(text)


def test_a_service_takes_five_hundred_aggregates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "for_strangers", lambda: True)
    parse(f"SELECT {', '.join(f'SUM(x + {i}) AS s{i}' for i in range(500))} FROM t")


@pytest.mark.parametrize(
    "text",
    ["SET SELECT 'secret' AS a", "SET x = (SELECT 'secret'", "KILL 'secret' + 1", "ALTER SESSION 'secret' 2",
     "EXPLAIN ANALYZE 'secret'", "SHOW 'secret' 1", "CALL f('secret')", "PRAGMA x='secret'",
     "SELECT COUNT(*) FROM t WHERE when > 3; SHOW 'secret' 1"],
)  # fmt: skip
def test_no_log_holds_a_text_that_is_no_question(text: str, caplog: pytest.LogCaptureFixture) -> None:
    with contextlib.suppress(QueryRefused):
        parse(text)
    assert not caplog.text


def test_the_parser_alone_writes_it_into_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """The planted fault."""
    sqlglot.parse("SET SELECT 'secret' AS a", read="duckdb")
    assert "secret" in caplog.text
