"""The sandbox: what the connection alone keeps out, and that the lists of functions are complete."""

from __future__ import annotations

import hashlib
from functools import cache
from itertools import count
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from discreet.engines import sandbox
from discreet.engines.functions import ALLOWED_TABLE_FUNCTIONS, FORBIDDEN_FUNCTIONS
from discreet.engines.sandbox import Sandbox
from discreet.errors import PostProcessingError, QueryRefused

NOISY = {"noisy": pa.table({"n": [3, 4]})}


def test_it_answers() -> None:
    with Sandbox(NOISY) as box:
        sql = "WITH t AS (SELECT n * 1.0 / 0 AS x, n FROM noisy) SELECT x, row_number() OVER (ORDER BY n) AS r FROM t"
        assert box.run(sql).to_pydict() == {"x": [float("inf")] * 2, "r": [1, 2]}
        assert box.run("SELECT n FROM noisy ORDER BY n DESC LIMIT 1").to_pydict() == {"n": [4]}


@pytest.mark.parametrize(
    "sql",
    [
        "FROM read_csv('{file}')", "FROM '{file}'", "FROM read_parquet('{file}')", "FROM read_text('{file}')",
        "FROM read_blob('{file}')", "FROM read_json('{file}')", "FROM read_duckdb('{file}')", "FROM glob('/etc/*')",
        "FROM sniff_csv('{file}')", "FROM parquet_metadata('{file}')", "FROM parquet_schema('{file}')",
        "ATTACH '{file}' AS f", "ATTACH ':memory:' AS m", "COPY noisy TO '{folder}/out.csv'",
        "COPY noisy TO '/dev/stdout'",
        "EXPORT DATABASE '{folder}/x'", "IMPORT DATABASE '{folder}/x'", "INSTALL httpfs", "LOAD httpfs",
        "LOAD '{folder}/x.duckdb_extension'", "FROM 'https://example.com/x.csv'", "FROM 's3://bucket/x.parquet'",
        "SET threads = 1", "SET SESSION error_on_division_by_zero = true", "RESET threads", "PRAGMA threads = 1",
        "SET enable_external_access = true", "SET lock_configuration = false", "SET allowed_paths = ['/etc/passwd']",
        "PRAGMA enable_profiling", "PRAGMA version", "PRAGMA database_list", "SET VARIABLE x = 1", "USE memory",
        "CALL enable_logging()", "FROM enable_logging()", "FROM enable_logging(storage = 'file')",
        "CALL pragma_version()",
        "CREATE TABLE t AS SELECT 1", "CREATE MACRO f() AS 1", "CREATE SECRET (TYPE s3)", "DROP VIEW noisy",
        "INSERT INTO noisy VALUES (1)", "UPDATE noisy SET n = 1", "WITH x AS (DELETE FROM noisy RETURNING n) FROM x",
        "SELECT 1; SELECT 2", "PREPARE p AS SELECT 1", "EXPLAIN SELECT 1", "BEGIN", "CHECKPOINT", "VACUUM", "",
        "SELECT getenv('HOME')", "FROM hidden_variable", "FROM NOISY_GLOBAL", "FROM python_map_function()",
        "FROM arrow_scan(1::BIGINT, 1::BIGINT, 1::BIGINT)", "FROM pandas_scan(1)",
        "FROM query('COPY noisy TO ''/dev/null''')",
        "FROM query('SET threads = 1')", "FROM query('FROM ''{file}''')", "FROM query_table('{file}')",
    ],
)  # fmt: skip
def test_the_connection_alone_stops(tmp_path: Path, sql: str) -> None:
    file = tmp_path / "t.parquet"
    pq.write_table(pa.table({"secret": ["the-secret"]}), file)
    hidden_variable = pa.table({"secret": ["the-secret"]})
    before = sorted(tmp_path.iterdir())
    with Sandbox(NOISY) as box:
        with pytest.raises(PostProcessingError) as caught:
            box.run(sql.format(file=file, folder=tmp_path))
        assert box.run("SELECT count(*) AS n FROM noisy").to_pydict() == {"n": [2]}, "and works on"
    assert "the-secret" not in str(caught.value)
    assert caught.value.__context__ is None
    assert sorted(tmp_path.iterdir()) == before
    assert hidden_variable.num_rows == 1


@pytest.mark.parametrize(
    ("item", "fix"),
    [
        ("CAST(300 * n AS TINYINT)", "TRY_CAST"),
        ("CAST(1e300 * n AS DECIMAL(9, 2))", "TRY_CAST"),
        ("CAST('a' || n AS INTEGER)", "TRY_CAST"),
        ("CAST(n * 1000.5 AS DECIMAL(3, 1))", "TRY_CAST"),
        ("CAST(CAST(n AS DECIMAL(9, 2)) * 1000 AS TINYINT)", "TRY_CAST"),
        ("CAST(repeat('x', n) AS DATE)", "TRY_CAST"),
        ("CAST('2020-13-0' || n AS DATE)", "TRY_CAST"),
        ("CAST(repeat('x', n) AS TIMESTAMP)", "TRY_CAST"),
        ("CAST(repeat('x', n) AS TIME)", "TRY_CAST"),
        ("CAST(repeat('x', n) AS BIT)", "TRY_CAST"),
        ("CAST(repeat('{', n) AS JSON)", "TRY_CAST"),
        ("9223372036854775807 * n", "in DOUBLE"),
        ("epoch_ms(n + 9000000000000000000)", "Change the query above its aggregates."),
        ("n << 63", "Change the query above its aggregates."),
        ("INTERVAL (n * 1000000000000) DAY", "Change the query above its aggregates."),
        ("make_date(2020, 12 + n, 1)", "Change the query above its aggregates."),
        ("missing", "Change the query above its aggregates."),
    ],
)
def test_the_error_names_a_fix_that_works(item: str, fix: str) -> None:
    with Sandbox(NOISY) as box:
        with pytest.raises(PostProcessingError) as caught:
            box.run(f"SELECT {item} AS x FROM noisy WHERE n > 1")
        assert fix in caught.value.fix
        mended = (
            item.replace("CAST", "TRY_CAST") if fix == "TRY_CAST" else item.replace("n", "CAST(n AS DOUBLE)")
        )
        if not fix.startswith("Change"):
            box.run(f"SELECT {mended} AS x FROM noisy WHERE n > 1")


NOISY_GLOBAL = pa.table({"secret": ["the-secret"]})

OPEN = [
    "FROM duckdb_settings()",
    "SELECT current_setting('secret_directory')",
    "FROM query('SELECT 1')",
    "FROM query_table('noisy')",
    "FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))",
    "SELECT json_serialize_plan('SELECT 1')",
    "FROM duckdb_functions()",
    "FROM duckdb_memory()",
    "FROM duckdb_secrets()",
    "FROM pragma_user_agent()",
    "SELECT version()",
    "SELECT write_log('x')",
    "SELECT current_query()",
]


@pytest.mark.parametrize("sql", OPEN)
def test_what_the_connection_leaves_open_is_on_the_list(sql: str) -> None:
    """These run in the sandbox, so the query room has to refuse them by name."""
    with Sandbox(NOISY) as box:
        assert box.run(sql).num_columns
    names = {name for name in FORBIDDEN_FUNCTIONS if f"{name}(" in sql}
    assert names


def test_every_table_function_is_judged() -> None:
    """A table function of a newer DuckDB that nobody has judged fails here."""
    found = _functions("function_type IN ('table', 'table_macro')")
    unjudged = found - ALLOWED_TABLE_FUNCTIONS - set(FORBIDDEN_FUNCTIONS)
    # Both are macros over query_table; as aggregates of the same names they are harmless.
    assert unjudged == {"histogram", "histogram_values"}
    assert not ALLOWED_TABLE_FUNCTIONS & set(FORBIDDEN_FUNCTIONS)
    assert found >= ALLOWED_TABLE_FUNCTIONS


def test_the_forbidden_names_exist() -> None:
    """A typing error in the list would leave a door open. getenv exists in DuckDB's shell alone."""
    assert set(FORBIDDEN_FUNCTIONS) - _functions("true") == {"getenv"}


@pytest.mark.parametrize(
    "word", ["setting", "secret", "privilege", "inet_", "__internal", "_pid", "env", "log(", "query"]
)
def test_no_suspicious_name_is_left(word: str) -> None:
    suspicious = {name for name in _functions("function_type <> 'pragma'") if word in name}
    assert suspicious <= set(FORBIDDEN_FUNCTIONS), suspicious - set(FORBIDDEN_FUNCTIONS)


def test_no_function_came_or_went_since_they_were_judged() -> None:
    """When this fails, DuckDB has other functions than 2.0.0: read the new ones, judge them, note the digest."""
    names = "\n".join(sorted(_functions("function_type <> 'pragma'")))
    assert hashlib.sha256(names.encode()).hexdigest() == JUDGED


JUDGED = "28f767f537046ced14eda3cb2bc42c1aba9ce2d24a9030d4c8e9f15182e8e545"


@cache
def _functions(condition: str) -> set[str]:
    rows = duckdb.connect().execute(
        f"SELECT DISTINCT function_name FROM duckdb_functions() WHERE {condition}"
    )
    return {row[0] for row in rows.fetchall()}


def test_a_query_that_takes_too_long() -> None:
    with Sandbox(NOISY) as box:
        with pytest.raises(PostProcessingError, match=r"more than 0\.2 seconds"):
            box.run("SELECT count(*) AS n FROM range(10000000000) a, range(100) b", timeout=0.2)
        assert box.run("SELECT 1 AS n").num_rows == 1


def test_a_query_that_takes_too_much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a tenth of the memory, which takes a tenth of the time to fill."""
    assert sandbox.SETTINGS["memory_limit"] == "2GB"
    monkeypatch.setattr(sandbox, "SETTINGS", {**sandbox.SETTINGS, "memory_limit": "200MB"})
    monkeypatch.setattr(sandbox, "_database", cache(sandbox._database.__wrapped__))
    with Sandbox(NOISY) as box, pytest.raises(PostProcessingError, match="Out of Memory"):
        box.run(
            "SELECT count(*) AS n FROM (SELECT DISTINCT repeat('x', 10000) || i AS t FROM range(10000000) r(i))"
        )


def test_a_result_that_is_too_large_is_not_fetched_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "LARGEST", 4 << 20)
    with Sandbox(NOISY) as box:
        with pytest.raises(PostProcessingError, match="larger than 4 MiB"):
            box.run("SELECT * FROM range(1000000000000) a(i), range(1000000) b(j)")
        assert box.run("SELECT * FROM range(200000)").num_rows == 200_000


def test_an_error_of_the_query_is_told() -> None:
    with Sandbox(NOISY) as box, pytest.raises(PostProcessingError, match="nothing") as caught:
        box.run("SELECT nothing FROM noisy")
    assert "\n" not in str(caught.value)


ENDLESS = "SELECT count(*) AS n FROM range(10000000000) a, range(100) b"


def test_before_a_charge_all_statements_share_little_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "UNCHARGED_SECONDS", 1.5)
    monkeypatch.setattr(sandbox, "SHORTEST", 0.1)
    with sandbox.uncharged(), Sandbox(NOISY) as box:
        with sandbox.uncharged(), pytest.raises(PostProcessingError, match=r"more than 0\.1 seconds"):
            box.run(ENDLESS, timeout=0.1)
        assert box.run("SELECT 1 AS n").num_rows == 1, "some is left"
        with pytest.raises(PostProcessingError, match=r"before its charge, take more than 1\.5 seconds"):
            box.run(ENDLESS)
        with pytest.raises(QueryRefused, match="before its charge"):
            box.run("SELECT 1 AS n")
    with Sandbox(NOISY) as box:
        assert box.run("SELECT 1 AS n").num_rows == 1


def test_one_inside_another_shares_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each statement takes a second by the clock of this test, and three of them are too many."""
    monkeypatch.setattr(sandbox, "UNCHARGED_SECONDS", 2.0)
    monkeypatch.setattr(sandbox, "monotonic", count().__next__)

    def run() -> dict[str, object]:
        with sandbox.uncharged(), Sandbox(NOISY) as box:
            return dict(box.run("SELECT 1 AS n").to_pydict())

    for shared in (sandbox.uncharged, sandbox.one_question):
        with shared():
            with shared():
                assert run() == run() == {"n": [1]}
            with pytest.raises(QueryRefused, match="before its charge"):
                run()
    for _ in range(3):
        assert run(), "apart, each has a time of its own"
    with sandbox.one_question(), Sandbox(NOISY) as box:
        for _ in range(3):
            assert box.run("SELECT 1 AS n").num_rows == 1, "and what is charged for is not bounded"


def test_a_statement_that_is_begun_in_the_last_moment_may_end(monkeypatch: pytest.MonkeyPatch) -> None:
    now, given = [0.0], list[float]()
    monkeypatch.setattr(sandbox, "monotonic", lambda: now[0])

    def takes(seconds: float) -> None:
        def evaluated(box: Sandbox, sql: str, timeout: float) -> pa.Table:
            given.append(timeout)
            now[0] += seconds
            return NOISY["noisy"]

        monkeypatch.setattr(Sandbox, "_evaluated_here", evaluated)
        with Sandbox(NOISY) as box:
            box.run("SELECT 1 AS n")

    with sandbox.uncharged():
        takes(9.5)
        takes(0.25)
        takes(0.9)
        assert given == [sandbox.UNCHARGED_SECONDS, sandbox.SHORTEST, sandbox.SHORTEST]
        with pytest.raises(QueryRefused, match="more than 10 seconds"):
            takes(0.01)
    assert len(given) == 3, "and once the time is over, none is begun"


def test_before_a_charge_there_are_few_rows_and_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "UNCHARGED_ROWS", 300_000)
    monkeypatch.setattr(sandbox, "UNCHARGED_MEMORY", "50MB")
    monkeypatch.setattr(sandbox, "_database", cache(sandbox._database.__wrapped__))
    many = "SELECT * FROM range(1000000)"
    large = "SELECT count(DISTINCT i || 'some text that is longer') AS n FROM range(2000000) r(i)"
    with sandbox.uncharged(), Sandbox(NOISY) as box:
        assert box.run("SELECT * FROM range(200000)").num_rows == 200_000
        with pytest.raises(PostProcessingError, match="more than 300,000 rows"):
            box.run(many)
        with pytest.raises(PostProcessingError, match="Out of Memory"):
            box.run(large)
    with Sandbox(NOISY) as box:
        assert box.run(many).num_rows == 1_000_000
        assert box.run(large).num_rows == 1


def test_a_large_public_table_is_read_before_a_charge() -> None:
    numbers = pa.array(np.arange(10**9, 10**9 + 3_000_000)).cast(pa.string())
    code = pc.binary_join_element_wise("code", numbers, "-")
    with sandbox.uncharged(), Sandbox({"codes": pa.table({"code": code})}) as box:
        assert box.run("SELECT DISTINCT code FROM codes ORDER BY code").num_rows == 3_000_000
