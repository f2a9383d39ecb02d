"""PostgreSQL: what it opens, that it is read-only and quiet about what it knows, and that it can be stopped."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests import servers
from tests.depth import DEEP

import discreet as dp
from discreet.engines.engine import in_batches
from discreet.engines.postgres import PostgresEngine
from discreet.engines.schema import Type
from discreet.engines.sources import open_source
from discreet.errors import EngineError, SourceError

SECRET = "the-secret-value"
VISITS = """
    DROP TABLE IF EXISTS public.visits; DROP TABLE IF EXISTS public."Odd ""Name";
    DROP TYPE IF EXISTS public.mood; CREATE TYPE public.mood AS ENUM ('good', 'bad');
    CREATE TABLE public.visits (
        patient_id uuid, age smallint, weight numeric(6, 2), huge numeric, county varchar(20), mood public.mood,
        day date, seen timestamptz, flag boolean, tags text[], stay interval
    );
    INSERT INTO public.visits SELECT
        md5((i % 300)::text)::uuid, i % 100, i % 90 + 0.25, 10::numeric ^ 400, (ARRAY['Kent', 'Devon'])[1 + i % 2],
        'good', DATE '2024-01-01' + i % 300, '2024-01-01 00:00+02', i % 3 = 0, '{}', '1 day'
    FROM generate_series(1, 1000) AS i;
    CREATE TABLE public."Odd ""Name" ("a b" int, note text);
    INSERT INTO public."Odd ""Name" VALUES (1, 'the-secret-value'), (2, NULL);
"""


@pytest.fixture(scope="module")
def url() -> str:
    place = servers.postgres()
    with servers.connect(place) as connection:
        connection.execute(VISITS)
    return place


def options(tmp_path: Path) -> dict[str, Any]:
    return {
        "max_rows": 4, "bounds": {"age": (0, 120), "weight": (0, 200)}, "keys": {"county": ["Kent", "Devon", "Essex"]},
        "budget": 100, "ledger": tmp_path / "ledger.db",
    }  # fmt: skip


def test_the_schema_is_logical(url: str) -> None:
    schema = open_source(f"{url}#visits").schema()["visits"]
    assert {name: column.type for name, column in schema.items()} == {
        "patient_id": Type.TEXT, "age": Type.INTEGER, "weight": Type.FLOAT, "huge": Type.FLOAT, "county": Type.TEXT,
        "mood": Type.TEXT, "day": Type.DATE, "seen": Type.TIMESTAMP, "flag": Type.BOOLEAN, "tags": Type.OTHER,
        "stay": Type.OTHER,
    }  # fmt: skip
    assert (schema["age"].lo, schema["age"].hi) == (-(2**15), 2**15 - 1)


def test_a_question_by_row_and_by_unit(url: str, tmp_path: Path) -> None:
    sql = "SELECT county, COUNT(*) AS n, AVG(age) AS age, MEDIAN(weight) AS w FROM visits GROUP BY county"
    for unit in ("row", "patient_id"):
        given = {**options(tmp_path / unit), "privacy_unit": unit}
        (tmp_path / unit).mkdir()
        if unit == "row":
            del given["max_rows"]
        with dp.protect(f"{url}#visits", **given) as session:
            release = session.sql(sql, epsilon=10)
            # Noise of scale at most 120: a false alarm needs one of exp(-25).
            near = 3000 if unit == "patient_id" else 300
            n = dict(zip(*(release.values.column(c).to_pylist() for c in ("county", "n")), strict=True))
            assert n["Essex"] < near
            assert abs(n["Kent"] - 500) < near
            assert session.sql(sql, epsilon=10).replayed


def test_every_text_is_a_key(url: str) -> None:
    """Those of a key list are sent as one array, in which some characters have a meaning."""
    texts = ['a "b"', "c\\d", "{e,f}", "", "NULL", "null", " g ", "%s", "O'Hara", "\n", "é", '\\"', None]
    keys = pa.table({"k": pa.array(texts, pa.string()), "at": list(range(len(texts)))})
    engine = PostgresEngine.open_all([("visits", f"{url}#visits")])
    for place, text in enumerate(texts):
        literal = "NULL" if text is None else f"convert_from('\\x{text.encode().hex()}'::bytea, 'UTF8')"
        found = f'FROM "__keys_0" WHERE k IS NOT DISTINCT FROM {literal}'
        sql = f'SELECT CAST(COALESCE(SUM("at"), -1) AS BIGINT) AS n {found}'
        assert engine.integers(sql, {"__keys_0": keys})["n"].to_pylist() == [place]


def test_groups_that_nobody_listed(url: str) -> None:
    engine = PostgresEngine.open_all([("visits", f"{url}#visits")])
    sql = 'SELECT "county" AS k0, "day" AS k1, COUNT(*) AS n FROM "visits" GROUP BY 1, 2'
    seen: list[int] = []

    def choose(counts: Any) -> Any:
        seen.extend(counts.tolist())
        return counts.argsort()[:2]

    keys = engine.keys(sql, {}, choose)
    assert keys.column_names == ["k0", "k1"]
    assert len(keys) == 2
    assert sum(seen) == 1000


def test_odd_names_and_case(url: str) -> None:
    engine = PostgresEngine.open_all([("ODD", f'{url}#Odd "Name')])
    assert engine.integers('SELECT CAST(SUM("a b") AS BIGINT) AS n FROM "odd"').to_pydict() == {"n": [3]}
    assert engine.public("Odd").column("note").to_pylist() == [SECRET, None]
    assert engine.public("Odd", ["note"]).column_names == ["note"]


def test_it_is_read_only_and_reads_nothing_but_its_tables(url: str) -> None:
    engine = open_source(url)
    for sql in (
        "WITH d AS (DELETE FROM public.visits RETURNING 1) SELECT COUNT(*) AS n FROM d",
        "SELECT nextval('public.s') AS n", "SELECT lo_create(0)::bigint AS n",
    ):  # fmt: skip
        with pytest.raises(EngineError):
            engine.integers(sql)
    assert engine.integers('SELECT COUNT(*) AS n FROM "visits"').to_pydict() == {"n": [1000]}


def test_nothing_that_the_server_says_gets_out(url: str) -> None:
    engine = PostgresEngine.open_all([("odd", f'{url}#Odd "Name')])
    for sql in (
        'SELECT CAST("note" AS bigint) AS n FROM "odd"',
        'SELECT "note" FROM "odd"',
        "SELECT NULL::bigint AS n",
    ):
        with pytest.raises(EngineError) as caught:
            engine.integers(sql)
        assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_no_password_is_ever_shown(tmp_path: Path) -> None:
    place = f"postgresql://me:{SECRET}@127.0.0.1:1/none"
    for work in (
        lambda: open_source(place),
        lambda: dp.protect(f"{place}#visits", privacy_unit="row", budget=1),
    ):
        with pytest.raises(SourceError) as caught:
            work()
        assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_the_ledger_of_a_database_is_found_again_without_the_password(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for spent in (0, 1):
        with dp.protect(f"{url}#visits", privacy_unit="row", budget=5) as session:
            assert session.budget.spent == spent
            session.sql("SELECT COUNT(*) AS n FROM visits", epsilon=1)
    (ledger,) = (tmp_path / "discreet").glob("*.ledger.db")
    assert url.encode() not in ledger.read_bytes()


def test_connections_of_others_are_used_and_left_as_they_were(url: str, tmp_path: Path) -> None:
    import sqlalchemy

    with servers.connect(url) as connection:
        connection.execute("SET TimeZone = 'Asia/Tokyo'")
        with dp.protect(connection, table="visits", privacy_unit="row", budget=5) as session:
            assert session.sql(
                "SELECT COUNT(*) AS n FROM visits WHERE year(seen) = 2023", epsilon=5
            ).columns == ["n"]
        assert connection.execute("SHOW TimeZone").fetchone() == ("Asia/Tokyo",)
        assert connection.execute("SHOW transaction_read_only").fetchone() == ("off",)
        assert not connection.closed
    engine = sqlalchemy.create_engine("postgresql+psycopg://", creator=lambda: servers.connect(url))
    with engine.connect() as other:
        assert "visits" in open_source(other, "visits").schema()
    engine.dispose()


def test_several_tables_of_one_server_and_not_of_two(url: str) -> None:
    both = {"v": f"{url}#visits", "o": f'{url}#public.Odd "Name'}
    assert sorted(open_source(both).schema()) == ["o", "v"]
    with pytest.raises(SourceError):
        open_source({**both, "here": pa.table({"a": [1]})})
    with pytest.raises(SourceError):
        open_source(f"{url}#nothing")


def test_the_version_changes_with_what_is_written(url: str) -> None:
    engine = open_source(f"{url}#visits")
    before = engine.version("visits")
    assert engine.version("visits") == before
    with servers.connect(url) as connection:
        connection.execute(
            "INSERT INTO public.visits (age) VALUES (1); DELETE FROM public.visits WHERE day IS NULL"
        )
    assert engine.version("visits") != before


def test_a_query_is_cancelled_on_the_server(url: str) -> None:
    engine = open_source(f"{url}#visits")
    failed: list[EngineError] = []

    def ask() -> None:
        try:
            engine.integers('SELECT COUNT(*) AS n FROM "visits" a, "visits" b, "visits" c, "visits" d')
        except EngineError as error:
            failed.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    running = "SELECT COUNT(*) FROM pg_stat_activity WHERE state = 'active' AND application_name = 'discreet'"
    with servers.connect(url) as connection:

        def count() -> int:
            row = connection.execute(running).fetchone()
            assert row is not None
            return int(row[0])

        while not count():
            time.sleep(0.02)
        engine.interrupt()
        thread.join(timeout=60)
        assert len(failed) == 1
        assert count() == 0
    engine.close()
    with pytest.raises(EngineError):
        engine.integers("SELECT CAST(1 AS BIGINT) AS n")


def test_a_policy_is_written_from_its_columns_without_the_password(url: str) -> None:
    from discreet.cli.commands.init import read_schema

    place = url.replace("postgres:@", f"postgres:{SECRET}@")
    assert SECRET in place
    shown, tables = read_schema(f"{place}#visits")
    assert SECRET not in shown
    assert ("age", "INTEGER") in tables["visits"]


def test_no_value_that_only_postgresql_can_hold_makes_a_question_fail() -> None:
    """Infinite dates, those long before Christ and after the year 9999, and numbers beyond a double."""
    from discreet.sql import conformance
    from discreet.sql.conformance.check import SALT, cases, computable
    from discreet.sql.lower.run import exact_integers

    url = servers.postgres()
    servers.load(url, "extreme", conformance.tables())
    ends = "'infinity', '-infinity', '4713-01-01 BC', '0001-12-31 BC', '10000-01-01'"
    dates = f"(ARRAY[{ends}, '5874897-12-31'])[1 + {{}} % 6]"
    moments = f"(ARRAY[{ends}, '294276-12-31 23:59:59.999999'])[1 + {{}} % 6]"
    numbers = "(ARRAY['NaN', 'Infinity', '-Infinity', '1e4000', '-1e400', '1e-400', '0.1'])[1 + {} % 7]"
    with servers.connect(url) as connection:
        connection.execute(
            "ALTER TABLE extreme.t ALTER f TYPE numeric USING CASE WHEN abs(f) < 1e300 THEN f::numeric END"
        )
        connection.execute(
            f"UPDATE extreme.t SET m = {dates.format('k')}::date, n = {dates.format('(k / 6)')}::date, "
            f"x = {moments.format('k')}::timestamp, y = {moments.format('(k / 6)')}::timestamp, "
            f"f = {numbers.format('k')}::numeric"
        )
    engine = PostgresEngine.open_all([(name, f"{url}#extreme.{name}") for name in conformance.tables()])
    questions = "questions by u, 3" if DEEP else "questions by u, 100"  # the latter are a fifth
    for part in ("functions", questions):
        for case in cases(part):
            for one in computable(engine, case):
                exact_integers(one.release, engine, SALT)


LONG = """
import sys
import discreet as dp
session = dp.protect(sys.argv[1], privacy_unit="row", budget=5, ledger=sys.argv[2], bounds={"k": (0, 10)})
print("asking", flush=True)
session.sql("SELECT COUNT(*) AS n FROM slow WHERE k > 0", epsilon=1)
"""


def test_ctrl_c_cancels_on_the_server_and_the_charge_stays(url: str, tmp_path: Path) -> None:
    with servers.connect(url) as connection:
        connection.execute("CREATE OR REPLACE VIEW public.slow AS SELECT 1 AS k FROM pg_sleep(600)")
        ledger = tmp_path / "ledger.db"
        command = [sys.executable, "-c", LONG, f"{url}#slow", str(ledger)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            sleeping = "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
            while connection.execute(sleeping).fetchone() == (0,) and process.poll() is None:
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            _, words = process.communicate(timeout=60)
        assert "KeyboardInterrupt" in words
        assert connection.execute(sleeping).fetchone() == (0,)
    with dp.protect(f"{url}#slow", privacy_unit="row", budget=5, ledger=ledger) as session:
        assert session.budget.spent == 1


def test_integers_come_in_pieces_through_a_cursor(url: str) -> None:
    engine = open_source(url)
    series = "generate_series(0, 99) AS s(g)"
    sql = f'SELECT g::BIGINT AS cell, 3 * g::BIGINT AS m0 FROM {series} WHERE EXISTS (SELECT 1 FROM "visits")'
    pieces = list(in_batches(engine, sql, "cell", rows=30))
    assert [len(piece) for piece in pieces] == [30, 30, 30, 10]
    assert [cell for piece in pieces for cell in piece.column("m0").to_pylist()] == list(range(0, 300, 3))
    left = in_batches(engine, sql, "cell", rows=30)
    next(left)
    left.close()  # type: ignore[attr-defined]
    assert engine.integers('SELECT count(*) AS n FROM "visits"').num_rows == 1
    with pytest.raises(EngineError, match="other than integers"):
        list(in_batches(engine, "SELECT 'a' AS cell", "cell"))
    with pytest.raises(EngineError, match="could not finish") as caught:
        list(in_batches(engine, 'SELECT CAST("county" AS bigint) AS cell FROM "visits"', "cell"))
    assert caught.value.__context__ is None
    assert engine.integers('SELECT count(*) AS n FROM "visits"').num_rows == 1
    engine.close()
    with pytest.raises(EngineError):
        list(in_batches(engine, sql, "cell"))


def test_a_large_answer_is_written_block_by_block(url: str, tmp_path: Path) -> None:
    more = options(tmp_path)
    more["bounds"] = {"age": (0, 120), "weight": (0, 900)}
    with dp.protect(f"{url}#visits", privacy_unit="patient_id", **more) as session:
        query = "SELECT age, floor(weight) AS w, COUNT(*) AS n FROM visits GROUP BY age, floor(weight)"
        written = session.write(query, 1, tmp_path / "a.parquet")
        assert written.rows == 121 * 901
        table = pq.read_table(tmp_path / "a.parquet")
        assert table.replace_schema_metadata(None).equals(session.sql(query, 1).to_arrow())


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII", "WIN1251"])
def test_the_encoding_of_the_callers_connection(encoding: str) -> None:
    """Found texts come back whole, and the connection speaks as it did before."""
    import psycopg

    url = servers.postgres()
    names = ["\u017elu\u0165", "K\xf6ln", "\u65e5\u672c"]
    servers.load(url, "spoken", {"t": pa.table({"id": list(range(900)), "c": names * 300})})
    with psycopg.connect(url, autocommit=True, client_encoding=encoding) as connection:
        before = connection.info.parameter_status("client_encoding")
        with dp.protect(
            connection, table="spoken.t", privacy_unit="id", max_rows=1, budget=dp.Budget(epsilon=50, delta="1e-3"),
            ledger=":memory:",
        ) as session:  # fmt: skip
            found = session.sql(
                "SELECT c, COUNT(id) AS n FROM t GROUP BY c", epsilon=20, delta="1e-4"
            ).to_dict()
        assert sorted(found["c"]) == sorted(names)
        assert connection.info.parameter_status("client_encoding") == before
