"""Units keep their identity on PostgreSQL, and names are exact: twins that differ by case alone never change places."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from tests import servers, shared
from tests.sql import units

from discreet.engines.postgres import PostgresEngine
from discreet.errors import PolicyError, QueryRefused, SourceError
from discreet.sql.algebra import catalog

Pool = list[list[Any] | None]
POOLS: dict[str, Pool] = {
    "int2": [["-32768"], ["0"], ["1"], None],
    "int8": [["9223372036854775807"], ["9223372036854775806"], ["-9223372036854775808"], None],
    "numeric": [["1000000000000000001"], ["1000000000000000000", "1000000000000000000.000"], ["0", "-0.00"], ["1e-300"],
                ["Infinity"], None],
    "numeric(40, 2)": [["1.00", "1"], ["1.01"], ["1e30"], None],
    "float4": [["0", "-0"], ["1.5"], ["Infinity"], ["1e-45"], None],
    "float8": [["0", "-0"], ["0.1"], ["0.10000000000000002"], ["5e-324"], ["-Infinity"], None],
    "boolean": [["t"], ["f"], None],
    "text": [["a"], ["A"], ["a "], ["\u00e9"], ["e\u0301"], [""], None],
    "char(4)": [["a", "a ", "a   "], ["A"], ["b"], [" a"], None],
    "varchar(9)": [["a"], ["a "], ["A"], None],
    "name": [["a"], ["A"], ["b"], None],
    "uuid": [["00000000-0000-0000-0000-000000000001", "{00000000000000000000000000000001}"],
             ["00000000-0000-0000-0000-000000000002"], ["ffffffff-ffff-ffff-ffff-ffffffffffff"], None],
    "date": [["-infinity"], ["4713-01-01 BC"], ["2020-02-29"], None],
    "timestamp": [["infinity"], ["2020-01-01 00:00:00.000001"], ["2020-01-01"], None],
    "timestamptz": [["2020-01-01 00:00+00", "2020-01-01 02:00+02"], ["2020-01-01 00:00+02"], ["infinity"], None],
    "un.mood": [["good"], ["Good"], ["bad"], None],
}  # fmt: skip
NOBODY: dict[str, list[str | None]] = {
    "numeric": ["NaN", None],
    "float8": ["NaN", "-NaN", None],
    "float4": ["NaN"],
}


@pytest.fixture(scope="module")
def url() -> str:
    place = servers.postgres()
    with servers.connect(place) as connection:
        connection.execute("DROP SCHEMA IF EXISTS un CASCADE; CREATE SCHEMA un")
        connection.execute(
            "CREATE TYPE un.mood AS ENUM ('good', 'Good', 'bad'); CREATE TYPE un.date AS ENUM ('x')"
        )
    return place


def engines(url: str, kind: str, seed: int) -> tuple[list[PostgresEngine], list[units.Counts], set[int]]:
    versions, second, people = units.tables(POOLS[kind], seed)
    with servers.connect(url) as connection:
        for at, (rows, _) in enumerate(versions):
            for name, content in ((f"t{at}", rows), ("s", second)):
                connection.execute(
                    f"DROP TABLE IF EXISTS un.{name}; CREATE TABLE un.{name} (id {kind}, v int)"
                )
                with connection.cursor() as cursor:
                    nobody = [(value, 1) for value in NOBODY.get(kind, [])]
                    cursor.executemany(f"INSERT INTO un.{name} VALUES (%s::{kind}, %s)", content + nobody)
    made = [
        PostgresEngine.open_all([("t", f"{url}#un.t{at}"), ("s", f"{url}#un.s")])
        for at in range(len(versions))
    ]
    return made, [counts for _, counts in versions], people


@pytest.mark.parametrize("kind", POOLS)
def test_people_stay_apart_and_whole(url: str, kind: str) -> None:
    opened, counts, people = engines(url, kind, 1)
    assert units.problems(opened, counts, people, units.some_of(list(POOLS).index(kind))) == []


@pytest.mark.parametrize("kind", ["numeric", "float8"])
def test_a_unit_that_is_read_as_queries_see_it_is_found(url: str, kind: str) -> None:
    opened, counts, people = engines(url, kind, 1)
    with units.lossy():
        assert units.problems(opened, counts, people)


def execute(url: str, sql: str) -> None:
    with servers.connect(url) as connection:
        connection.execute(sql)


def protect(source: Any, **given: Any) -> Any:
    return shared.protect(source, **{"max_rows": 1, "budget": 100, "ledger": ":memory:", **given})


def test_a_collation_under_which_texts_are_equal_names_no_units(url: str) -> None:
    execute(url, """
        DROP TABLE IF EXISTS un.c; DROP DOMAIN IF EXISTS un.soft; DROP COLLATION IF EXISTS un.ci;
        CREATE COLLATION un.ci (provider = libc, locale = 'C');
        UPDATE pg_collation SET collisdeterministic = false WHERE collname = 'ci';  -- as ICU has it
        CREATE DOMAIN un.soft AS text COLLATE un.ci;
        CREATE TABLE un.c (a text COLLATE un.ci, b varchar(9) COLLATE un.ci, c char(4) COLLATE un.ci, d un.soft, e text,
                           f money, g un.date);
    """)  # fmt: skip
    for unit in "abcd":
        with pytest.raises(PolicyError, match="collation ci, so that different texts may be one person"):
            protect(f"{url}#un.c", table="c", privacy_unit=unit)
    with pytest.raises(PolicyError, match="names nobody"):
        protect(f"{url}#un.c", table="c", privacy_unit="f")
    with protect(f"{url}#un.c", table="c", privacy_unit="e") as session:
        session.preview("SELECT COUNT(*) FROM c", epsilon=1)
    # A type of the user's own that is called date is none.
    assert PostgresEngine.open_all([("c", f"{url}#un.c")]).schema()["c"]["g"].type.name == "TEXT"


def test_citext_names_no_units(url: str) -> None:
    execute(url, """
        CREATE TYPE un.citext;  -- as the extension makes it, which few builds have
        CREATE FUNCTION un.citextin(cstring) RETURNS un.citext AS 'textin' LANGUAGE internal IMMUTABLE STRICT;
        CREATE FUNCTION un.citextout(un.citext) RETURNS cstring AS 'textout' LANGUAGE internal IMMUTABLE STRICT;
        CREATE TYPE un.citext (INPUT = un.citextin, OUTPUT = un.citextout, LIKE = text, CATEGORY = 'S');
        CREATE TABLE un.ci (id un.citext);
    """)  # fmt: skip
    with pytest.raises(PolicyError, match="by citext"):
        protect(f"{url}#un.ci", table="ci", privacy_unit="id")


def test_units_of_different_types_are_refused_when_the_plan_is_made(url: str) -> None:
    for one, other in [
        ("bigint", "numeric"),
        ("bigint", "text"),
        ("text", "uuid"),
        ("timestamp", "timestamptz"),
    ]:
        execute(url, "DROP TABLE IF EXISTS un.t0, un.s0")
        execute(url, f"CREATE TABLE un.t0 (id {one}, v int); CREATE TABLE un.s0 (id {other}, v int)")
        engine = PostgresEngine.open_all([("t", f"{url}#un.t0"), ("s", f"{url}#un.s0")])
        with units.session(engine, dict(units.policy().tables)) as session:
            for question in units.QUESTIONS:
                if " s" in question:
                    with pytest.raises(QueryRefused, match="of different types"):
                        session.preview(question, epsilon=1)


TWINS = """
    DROP TABLE IF EXISTS un."T", un.t, un.p; CREATE TABLE un."T" ("ID" int, id int, "Id" int, v int, "V" int);
    INSERT INTO un."T" SELECT i, 1, i % 10, 1, 0 FROM generate_series(1, 100) AS i;
    CREATE TABLE un.t (id int, w int); INSERT INTO un.t VALUES (1, 1);
    CREATE TABLE un.p ("X" int, x int);
"""


def test_the_column_that_is_written_exactly_so_is_the_unit(url: str) -> None:
    execute(url, TWINS)
    sql = 'SELECT COUNT(DISTINCT id) AS n, COUNT(*) AS rows FROM "T"'
    for unit, people in (("ID", 100), ("id", 1), ("Id", 10)):
        with protect(f"{url}#un.T", table="T", privacy_unit=unit) as session:
            # At epsilon 100 for one of two counts a false alarm needs noise beyond 1: one of exp(-50).
            values = session.sql(sql, epsilon=100).values.to_pylist()
            assert values == [{"n": people, "rows": people}]


def test_a_twin_that_takes_the_place_of_the_unit_is_found(url: str) -> None:
    execute(url, TWINS)

    def last(name: str, names: Any) -> list[str]:
        """The planted fault: case does not count, and the last twin wins."""
        return [each for each in names if each.lower() == name.lower()][-1:]

    with (
        mock.patch.object(catalog, "meant", last),
        protect(f"{url}#un.T", table="T", privacy_unit="ID") as session,
    ):
        values = session.sql('SELECT COUNT(*) AS n FROM "T"', epsilon=100).values.to_pylist()
    assert values == [{"n": 10}]  # of 100 people


def test_an_ambiguous_name_is_refused_before_anything_is_charged(url: str) -> None:
    execute(url, TWINS)
    with pytest.raises(PolicyError, match="iD may mean ID or id or Id"):
        protect(f"{url}#un.T", table="T", privacy_unit="iD")
    with pytest.raises(PolicyError, match="differ by case alone"):
        protect(f"{url}#un.T", table="T", privacy_unit="ID", bounds={"id": (0, 1)})
    with protect(f"{url}#un.T", table="T", privacy_unit="ID") as session:
        with pytest.raises(QueryRefused, match="no column v"):
            session.sql("SELECT COUNT(v) FROM t", epsilon=1)
        assert session.budget.spent == 0
    with protect(f"{url}#un.T", table="T", privacy_unit="ID", bounds={"V": (0, 1)}) as session:
        assert session.sql("SELECT SUM(v) AS s FROM t", epsilon=100).values.to_pylist() == [{"s": 0}]
        assert session.mock(50).sql("SELECT COUNT(*) AS n FROM t", epsilon=1).columns == ["n"]


def test_twin_tables(url: str) -> None:
    execute(url, TWINS)
    engine = PostgresEngine.open_all([("T", f"{url}#un.T"), ("t", f"{url}#un.t")])
    for name, question in (("T", "SELECT COUNT(*) AS n FROM T"), ("t", "SELECT COUNT(w) AS n FROM T")):
        session = units.session(engine, {name: {"privacy_unit": "id", "max_rows": 1}})
        assert session.sql(question, epsilon=100).values.to_pylist() == [{"n": 1}]


def test_an_ambiguous_table_is_refused(url: str) -> None:
    execute(
        url,
        'DROP TABLE IF EXISTS un."Tw", un."tW"; CREATE TABLE un."Tw" (a int); CREATE TABLE un."tW" (a int)',
    )
    with pytest.raises(SourceError, match="tw may mean Tw or tW"):
        PostgresEngine.open_all([("x", f"{url}#un.tw")])
    both = PostgresEngine.open_all([("Tw", f"{url}#un.Tw"), ("tW", f"{url}#un.tW")])
    with pytest.raises(PolicyError, match="TW may mean"):
        units.session(both, {"TW": {"privacy_unit": "row"}})


def test_a_public_table_with_twins_is_refused(url: str) -> None:
    execute(url, TWINS)
    engine = PostgresEngine.open_all([("t", f"{url}#un.t"), ("p", f"{url}#un.p")])
    with pytest.raises(PolicyError, match="X and x differ by case alone"):
        units.session(engine, {"t": {"privacy_unit": "row"}, "p": {"public": True}})
