"""Fields of structs are columns of their own, by path: clamped, grouped by and named as the policy declares them."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests import inside, shared
from tests.depth import DEEP

import discreet as dp
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.paths import DEEPEST, with_fields
from discreet.errors import PolicyError, QueryRefused
from discreet.sql.lower.run import exact_integers
from discreet.sql.plan.limits import Limits
from discreet.sql.plan.planner import plan

PEOPLE: list[dict[str, Any] | None] = [
    {"id": 1, "home": {"city": "Rome", "geo": {"zip": 7}}, "langs": ["it"]},
    {"id": 2, "home": {"city": "Oslo", "geo": {"zip": 70}}, "langs": ["no", "en"]},
    {"id": 2, "home": {"city": "Bonn", "geo": None}, "langs": None},
    {"id": 3, "home": None, "langs": []},
    None,
]
TABLE = pa.table({"row": range(5), "who": PEOPLE})
DECLARED: dict[str, Any] = {
    "who.home.city": {"keys": ["Oslo", "Rome"]}, "who.home.geo.zip": {"bounds": [0, 9]}, "who.langs": {"max_items": 2},
}  # fmt: skip


def session(columns: dict[str, Any] | None = None) -> dp.Session:
    tables = {"t": {"privacy_unit": "who.id", "max_rows": 2, "columns": {**DECLARED, **(columns or {})}}}
    return shared.protect({"t": TABLE}, policy=dp.Policy(budget=1000, tables=tables))  # type: ignore[arg-type]


def integers(asked: dp.Session, sql: str) -> list[int]:
    (release,) = plan(sql, inside.catalog_of(asked), Fraction(1), Limits()).releases
    return [int(one) for one in exact_integers(release, inside.engine_of(asked), 7).ravel()]


@pytest.mark.parametrize(
    "city",
    ["who.home.city", "(who).home.city", "(who.home).city", "who['home']['city']", "t.who.home.city", "WHO.Home.CITY",
     "struct_extract(who.home, 'city')", '"who.home.city"'],
)  # fmt: skip
def test_each_spelling_is_the_same_column(city: str) -> None:
    with session() as asked:
        assert integers(asked, f"SELECT {city} AS c, COUNT(*) AS n FROM t GROUP BY {city}") == [1, 1]


def test_fields_are_clamped_counted_and_summed() -> None:
    with session() as asked:
        assert integers(asked, "SELECT SUM(who.home.geo.zip) AS s FROM t") == [16]
        assert integers(asked, "SELECT COUNT(who.home.geo.zip) AS n FROM t") == [2]
        assert integers(asked, "SELECT COUNT(who.home) AS n FROM t") == [3]
        assert integers(asked, "SELECT COUNT(*) AS n FROM t WHERE who.home.city IS NULL") == [1]


@pytest.mark.parametrize(
    "source",
    ["(SELECT who AS p FROM t)", "(SELECT q.who AS p FROM t AS q)", "(SELECT p FROM (SELECT *, who AS p FROM t))",
     "(SELECT who AS p FROM t UNION ALL SELECT who AS p FROM t WHERE FALSE)"],
)  # fmt: skip
def test_a_struct_that_is_handed_on_keeps_its_fields(source: str) -> None:
    with session() as asked:
        assert integers(asked, f"SELECT SUM(x.p.home.geo.zip) AS s FROM {source} AS x") == [16]


def test_the_unit_may_be_a_field() -> None:
    with session() as asked:
        assert integers(asked, "SELECT COUNT(*) AS n FROM t") == [4]
        assert integers(asked, "SELECT COUNT(DISTINCT who.id) AS n FROM t") == [3]
        assert integers(
            asked, "SELECT SUM(n) AS n FROM (SELECT who.id, COUNT(*) AS n FROM t GROUP BY who.id)"
        ) == [4]
        joined = "SELECT COUNT(*) AS n FROM t AS a JOIN t AS b ON a.who.id = b.who.id"
        assert integers(asked, joined) == [6]
        assert integers(asked, "SELECT COUNT(*) AS n FROM t AS a WHERE EXISTS (SELECT 1 FROM t AS b WHERE "
                        "b.who.id = a.who.id AND b.who.home.city <> a.who.home.city)") == [2]  # fmt: skip


def test_a_list_in_a_struct_has_items() -> None:
    with session() as asked:
        assert integers(asked, "SELECT COUNT(*) AS n FROM t, UNNEST(who.langs) AS l(l)") == [3]


@pytest.mark.parametrize(
    ("sql", "words"),
    [("SELECT COUNT(who.town) AS n FROM t", "no column town"),
     ("SELECT COUNT(DISTINCT who.home) AS n FROM t", "Name a field of it, such as who.home.city"),
     ("SELECT who.home.geo.zip, COUNT(*) AS n FROM t GROUP BY who['home']", "the type struct")],
)  # fmt: skip
def test_what_is_no_field_is_refused(sql: str, words: str) -> None:
    with session() as asked, pytest.raises(QueryRefused, match=words):
        asked.sql(sql, epsilon=1)


@pytest.mark.parametrize(
    ("column", "rule", "words"),
    [("who.home.town", {"keys": ["x"]}, "no column who.home.town"), ("who.home", {"keys": ["x"]}, "type struct"),
     ("who.home.city", {"max_items": 3}, "no items"), ("who.langs", {"keys": [1], "max_items": 3}, "type TEXT")],
)  # fmt: skip
def test_a_declaration_that_does_not_fit_is_refused(column: str, rule: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        session({column: rule})


def test_a_policy_with_paths_is_written_and_read(tmp_path: Path) -> None:
    with session() as asked:
        (tmp_path / "policy.toml").write_text(asked.policy.to_toml())
        assert dp.Policy.from_toml(tmp_path / "policy.toml").tables == asked.policy.tables


def test_public_tables_keep_their_structs() -> None:
    tables = {"t": {"privacy_unit": "who.id", "max_rows": 2}, "p": {"public": True}}
    policy = dp.Policy(budget=1000, tables=tables)  # type: ignore[arg-type]
    public = pa.table({"k": [1], "s": [{"a": 5}]})
    with shared.protect({"t": TABLE, "p": public}, policy=policy) as asked:
        found = asked.sql("SELECT s.a + 1 AS a, k FROM p", epsilon=1)
        assert found.values.to_pylist() == [{"a": 6, "k": 1}]
        assert asked.sql("SELECT * FROM p", epsilon=1).values.column_names == ["k", "s"]


# The columns of the view -------------------------------------------------------------------------------------


def fields(columns: dict[str, str], kinds: dict[str, list[tuple[str, str]]]) -> list[str]:
    listed = [(name, name, kind) for name, kind in columns.items()]
    return [name for name, *_ in with_fields(listed, lambda kind: kinds.get(kind, ()), "{}.{}".format)]


def test_a_path_that_two_things_have_names_none() -> None:
    kinds = {
        "s": [("b", "text"), ("c", "text"), ("C", "text"), ("d.e", "text"), ("d", "u")],
        "u": [("e", "text")],
    }
    assert fields({"a": "s", "a.b": "text"}, kinds) == ["a", "a.b", "a.d"]


def test_a_type_within_itself_comes_to_an_end() -> None:
    assert len(fields({"a": "s"}, {"s": [("s", "s")]})) == 1 + DEEPEST


BAD = pa.Array.from_buffers(
    pa.string(), 1, [None, pa.py_buffer(b"\x00\x00\x00\x00\x02\x00\x00\x00"), pa.py_buffer(b"\xff\xfe")]
)
PAIRS = pa.map_(pa.string(), pa.int64())
ODD: dict[str, pa.Array] = {
    "text": BAD,
    "list": pa.ListArray.from_arrays([0, 1], BAD),
    "map": pa.array([[("a", 1), ("a", 2)]], PAIRS),
    "moment": pa.array([2**62], pa.int64()).view(pa.timestamp("ms")),
    "struct": pa.StructArray.from_arrays([BAD, pa.array([3])], ["x", "y"]),
}


# Each in two of the four ways, in turn; a deep run: in all.
@pytest.mark.parametrize(
    ("name", "parquet", "hidden"),
    [
        (name, parquet, hidden)
        for at, name in enumerate(ODD)
        for parquet, hidden in itertools.product([False, True], repeat=2)
        if DEEP or (at + parquet + hidden) % 2
    ],
)
def test_no_value_beside_a_field_makes_it_unreadable(
    tmp_path: Path, name: str, parquet: bool, hidden: bool
) -> None:
    """What DuckDB cannot read is NULL, also where it stands beside the field that is asked for, or below a NULL."""
    row = pa.StructArray.from_arrays([pa.array([5]), ODD[name]], ["n", "o"], mask=pa.array([hidden]))
    source: Any = pa.table({"id": [1], "s": row})
    if parquet:
        pq.write_table(source, tmp_path / "t.parquet")
        source = tmp_path / "t.parquet"
    engine = DuckDBEngine.open({"t": source})
    read = '"s.o.x"' if name == "struct" else '"s.o"'
    sql = f'SELECT COALESCE(SUM("s.n"), 0)::BIGINT AS n, COUNT({read}) AS m FROM t'
    (found,) = engine.integers(sql).to_pylist()
    assert found["n"] == (0 if hidden else 5)
    engine.close()
