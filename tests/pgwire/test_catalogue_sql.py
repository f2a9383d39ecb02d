from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from discreet.engines.functions import FORBIDDEN_FUNCTIONS
from discreet.engines.sandbox import Sandbox
from discreet.pgwire import catalogue, catalogue_sql
from discreet.pgwire.catalogue_sql import CatalogueContext, CatalogueRefused, Elsewhere, rewritten
from discreet.server.dataset import open_dataset
from tests.server.conftest import make_hospital

ASKED = CatalogueContext({"visits": catalogue.FIRST}, "hospital", "ana")
Ask = Callable[[str], pa.Table]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    dataset = open_dataset(make_hospital(tmp_path_factory.mktemp("hospital")))
    tables = catalogue.tables(dataset.schema(), "hospital", "ana")
    dataset.session.close()

    def asking(text: str) -> pa.Table:
        with Sandbox(tables) as sandbox:
            return sandbox.run(rewritten(text, ASKED)[0])

    return asking


@pytest.mark.parametrize(
    ("text", "names", "rows"),
    [
        ("SELECT version()", ["version"], [("PostgreSQL 16.0 (discreet)",)]),
        ("SELECT current_schema(), current_database(), current_user, 1", ["current_schema", "current_database", "current_user", "?column?"], [("public", "hospital", "ana", 1)]),
        ("SELECT relname FROM pg_catalog.pg_class WHERE relname OPERATOR(pg_catalog.~) '^(vis.*)$' COLLATE pg_catalog.default", ["relname"], [("visits",)]),
        ("SELECT 'public.visits'::regclass::oid, c.oid::regclass FROM pg_class c", ["oid", "oid"], [(16384, "visits")]),
        ("SELECT pg_catalog.format_type(atttypid, atttypmod) FROM pg_attribute WHERE attnum = 1", ["format_type"], [("bigint",)]),
        ("SELECT to_regtype('int8'), to_regtype('hstore'), oid::regtype::text FROM pg_type WHERE oid = 20", ["to_regtype", "to_regtype", "oid"], [(20, None, "bigint")]),
        ("SELECT nspname FROM pg_namespace WHERE nspname = ANY (current_schemas(false))", ["nspname"], [("public",)]),
        ("SELECT current_setting('max_index_keys')::int", ["current_setting"], [(32,)]),
        ("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'", ["table_name"], [("visits",)]),
        ("SELECT word FROM pg_catalog.pg_get_keywords() WHERE word <> ALL ('{a,b}'::text[])", ["word"], [("discreet",)]),
        ("SELECT array_agg(relname) FROM pg_class", ["array_agg"], [(["visits"],)]),
        ("SELECT n.nspname, a.attname FROM (((pg_class c INNER JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname LIKE 'public') INNER JOIN pg_attribute a ON a.attnum = 1 AND a.attrelid = c.oid) INNER JOIN pg_type t ON t.oid = a.atttypid) LEFT JOIN pg_attrdef d ON d.adnum = a.attnum", ["nspname", "attname"], [("public", "patient_id")]),
        ("WITH c AS (SELECT 1 AS x) SELECT x FROM c", ["x"], [(1,)]),
        ("SELECT t.x FROM pg_catalog.generate_series(1, 2) AS t(x)", ["x"], [(1,), (2,)]),
        ("WITH p AS (SELECT NULL AS role, t.schemaname AS schema, t.objectname AS table, pg_catalog.has_any_column_privilege(current_user, '\"' || replace(t.objectname, '\"', '\"\"') || '\"',  'select') AS select, has_table_privilege(current_user, t.objectname, 'delete') as delete FROM (SELECT schemaname, tablename AS objectname FROM pg_catalog.pg_tables UNION SELECT schemaname, matviewname FROM pg_matviews) t WHERE t.schemaname !~ '^pg_') SELECT p.* FROM p", ["role", "schema", "table", "select", "delete"], [(None, "public", "visits", True, True)]),
        ("SELECT c.relname AS name, stat.n_live_tup AS rows FROM pg_class c LEFT JOIN pg_stat_user_tables AS stat ON c.relname = stat.relname", ["name", "rows"], [("visits", None)]),
        ("SELECT c.column_name, format('%s', c.udt_name) AS kind, format('\"%s\".\"%s\"', c.table_schema, c.table_name) AS place, CAST(CAST(format('%I.%I', c.table_schema, c.table_name) AS regclass) AS oid) AS number FROM information_schema.columns AS c WHERE c.ordinal_position = 1", ["column_name", "kind", "place", "number"], [("patient_id", "int8", '"public"."visits"', 16384)]),
    ],
)  # fmt: skip
def test_questions_about_the_catalogue(ask: Ask, text: str, names: list[str], rows: list[Any]) -> None:
    table = ask(text)
    assert table.column_names == names
    assert list(zip(*(column.to_pylist() for column in table.columns), strict=True)) == rows


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM visits", "SELECT * FROM public.visits", "SELECT 1 FROM pg_class, visits", "SHOW TABLES",
        "DESCRIBE visits", "SELECT 1; SELECT 2", "DROP TABLE visits", "SELEC", "WITH visits AS (SELECT 1) SELECT * FROM visits",
        "SELECT * FROM nothing", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) COUNT(*) FROM visits",
        "SELECT * FROM other.pg_class", "CALL f()", "EXPLAIN SELECT 1",
    ],
)  # fmt: skip
def test_other_questions_go_to_the_session(text: str) -> None:
    with pytest.raises(Elsewhere):
        rewritten(text, ASKED)


def _calls() -> list[str]:
    names = sorted(
        {"read_csv", "read_text", "glob", "getenv", "repeat", "query", "duckdb_settings", "pragma_version"}
    )
    assert set(names) <= set(FORBIDDEN_FUNCTIONS)
    return [f"SELECT {name}('/etc/passwd')" for name in names] + [
        f"SELECT * FROM {name}('/etc/passwd')" for name in names
    ]


@pytest.mark.parametrize(
    "text",
    [*_calls(), "WITH RECURSIVE c AS (SELECT 'x' AS x UNION ALL SELECT x || x FROM c) SELECT * FROM c",
     "SELECT * FROM pg_catalog.pg_read_file('/etc/passwd')", "SELECT pg_catalog.getenv('HOME')",
     "SELECT " + "(" * 150 + "1" + ")" * 150],
)  # fmt: skip
def test_nothing_outside_is_reached(ask: Ask, text: str) -> None:
    with pytest.raises((CatalogueRefused, Elsewhere)):
        ask(text)


def test_without_the_check_it_would_be(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue_sql, "_see_functions", lambda _: None)
    assert ask("SELECT * FROM duckdb_settings()").num_rows > 0
