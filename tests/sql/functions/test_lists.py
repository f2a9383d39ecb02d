"""Fields of JSON texts by path: the same as Python reads, and of no text an error, a NULL of its own, or another shape.

Nothing here is drawn; the texts are those over which JSON readers fail or disagree, beside plain ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import pyarrow as pa
import pytest
from tests import inside, shared
from tests.depth import few

import discreet as dp
from discreet.engines.capabilities import MANY_WAYS, NESTED
from discreet.errors import EngineError, QueryRefused
from discreet.sql.functions import TABLE
from discreet.sql.functions.lists import LINES
from discreet.sql.lower.capabilities import refused_there
from discreet.sql.lower.run import exact_integers
from discreet.sql.plan.limits import Limits
from discreet.sql.plan.planner import plan

DEEP = 200_000
BROKEN = [
    "{bad", "", "nul", "{'a': 1}", '{"a": }', '{"a": "\\ud800"}', "[1] x", "{" * DEEP, "[" * DEEP, '{"a":' * DEEP,
    "\ufeff{}", '{"a": 1', "\x00", '{"a": "\x01"}', '"', "{}}", '{"a": 01}', "undefined", "'",
]  # fmt: skip
SOUND = [
    "{}", "null", "3", '"a"', "[]", '{"a": null}', '{"a": {}}', '{"a": []}', '{"a": {"b": 5}}', '{"a": [7, 8]}',
    '{"a": "5"}', '{"a": 5}', '{"\\u0061": 5}', '{"a": "x\\u0000y"}', '{"a": "\\ud83d\\ude00"}', '{"A": 5}',
    '{"a": true}', '{"a": 18446744073709551616}', '{"a": "2024-02-29"}', '{"a": "2024-02-30"}', '{"a": "nan"}',
    '{"a": {"b": "x"}, "b": {"a": 1}}', '{"a": 9223372036854775807}', '{"b": 5, "a": 6}', '{"": 1}', '{"$": {"a": 1}}',
    '{"a": ' + "[" * DEEP + "]" * DEEP + "}", '{"a":' * DEEP + "1" + "}" * DEEP, '{"a": "' + "x" * 10**6 + '"}',
]  # fmt: skip
LOOSE = ['{"a": 1e400}', '{"a": NaN}', '{"a": 1, "a": 2}', '{"a": 1,}', '{"a": -0.0}', '{"a": 1e2}']
"""Texts that readers of JSON take differently: DuckDB decides, and fails at none of them."""
TEXTS: list[str | None] = [None, *BROKEN, *SOUND, *LOOSE]
QUESTIONS = [
    "COUNT(payload ->> 'a')", "COUNT(payload ->> '$.a.b')", "COUNT(payload -> 'a' ->> 0)", "COUNT(payload ->> '$[0]')",
    "SUM(clamp(CAST(payload ->> 'a' AS BIGINT), 0, 9))", "AVG(clamp(CAST(payload ->> 'a' AS DOUBLE), 0, 9))",
    "COUNT(CAST(payload ->> 'a' AS DATE))", "COUNT(CAST(payload ->> 'a' AS BOOLEAN))",
    "COUNT(*) FILTER (WHERE payload ->> 'a' = '5')", "COUNT(DISTINCT payload ->> 'a')",
    "COUNT(*) FILTER (WHERE payload ->> 'a' IS NULL AND id > 0)", "SUM(clamp(length(payload ->> 'a'), 0, 9))",
    "COUNT(payload ->> 'a' ->> 'b')", "COUNT(json_extract_string(payload, '$.a[1]'))",
]  # fmt: skip


def session(texts: Sequence[str | None], kind: str = "VARCHAR") -> dp.Session:
    connection = duckdb.connect()
    connection.register(
        "source", pa.table({"id": range(len(texts)), "payload": pa.array(texts, pa.string())})
    )
    connection.execute(
        f"CREATE TABLE t AS SELECT id, id AS k, CAST(payload AS {kind}) AS payload FROM source"
    )
    columns = {"k": {"bounds": [0, max(1, len(texts) - 1)]}}
    tables = {"t": {"privacy_unit": "id", "max_rows": 1, "columns": columns}}
    return shared.protect(connection, policy=dp.Policy(budget=1000, tables=tables))  # type: ignore[arg-type]


def integers(asked: dp.Session, sql: str) -> list[int]:
    (release,) = plan(sql, inside.catalog_of(asked), Fraction(1), Limits()).releases
    return [int(one) for one in exact_integers(release, inside.engine_of(asked), 7).ravel()]


@pytest.fixture(scope="module")
def every() -> Iterator[dp.Session]:
    with session(TEXTS) as asked:
        yield asked


# A deep run: all of them. `test_totality` asks the same functions over the worst texts.
@pytest.mark.parametrize("item", few(QUESTIONS, 5))
def test_no_text_makes_a_question_fail(item: str, every: dp.Session) -> None:
    """Each row counts in a group of its own as much as among the others: none fails, or changes what others are."""
    together = integers(every, f"SELECT {item} AS v FROM t")
    alone = integers(every, f"SELECT k, {item} AS v FROM t GROUP BY k")
    if "DISTINCT" not in item:
        assert together == [sum(alone[at :: len(together)]) for at in range(len(together))]


def test_what_is_read_is_what_python_reads() -> None:
    def field(text: str | None) -> Any:
        try:
            found = json.loads(text or "")
        except (ValueError, RecursionError):
            return None
        return found.get("a") if isinstance(found, dict) else None

    shallow = [text for text in SOUND if text.count("[") < 10 and text.count("{") < 10]
    found = [field(text) for text in shallow]
    with session(shallow) as asked:
        assert integers(asked, "SELECT COUNT(payload ->> 'a') AS n FROM t") == [
            sum(one is not None for one in found)
        ]
        fives = sum(one in (5, "5") and one is not True for one in found)
        assert integers(asked, "SELECT COUNT(*) AS n FROM t WHERE payload ->> 'a' = '5'") == [fives]


def test_a_column_of_json_is_read_as_its_text() -> None:
    with session(['{"a": 1}', '{"a": 2}', None, "[]"], "JSON") as asked:
        assert integers(asked, "SELECT COUNT(payload) AS n FROM t") == [3]
        assert integers(asked, "SELECT COUNT(*) AS n FROM t WHERE payload ->> 'a' = '2'") == [1]


def test_reading_without_looking_first_is_found() -> None:
    (line,) = TABLE["json_text"]
    assert line.spelling[""].startswith("CASE WHEN json_valid({0}) THEN ")
    bare = {"": "json_extract_string({0}, {1})"}
    with (
        mock.patch.object(type(line), "spelling", bare, create=True),
        session(BROKEN[:1]) as asked,
        pytest.raises(EngineError),
    ):
        integers(asked, "SELECT COUNT(payload ->> 'a') AS n FROM t")


REFUSED = {
    "payload -> 'a'": "payload ->> 'a'",
    "payload ->> '$.*'": "payload ->> 'a'",
    "payload ->> id": "payload ->> 'a'",
    "payload ->> 'a.b'": "payload ->> '$.\"a.b\"'",
    "payload ->> '/a/b'": "payload ->> '$.a.b'",
    "id ->> 'a'": "CAST(id AS VARCHAR) ->> 'a'",
}


@pytest.mark.parametrize("item", REFUSED)
def test_what_is_refused_names_a_way_that_works(item: str) -> None:
    with session(['{"a": 1}']) as asked:
        with pytest.raises(QueryRefused) as refused:
            asked.sql(f"SELECT COUNT({item}) AS n FROM t", epsilon=1)
        assert refused.value.fix
        assert asked.budget.spent == 0
        asked.sql(f"SELECT COUNT({REFUSED[item]}) AS n FROM t", epsilon=1)


def test_a_broken_text_in_a_file_costs_what_a_sound_one_does(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    duckdb.connect().execute(f"COPY (SELECT 1 AS id, '{{bad' AS payload) TO '{path}'")
    with shared.protect(str(path), privacy_unit="id", max_rows=1, budget=1) as asked:
        asked.sql("SELECT COUNT(payload ->> 'a') AS n FROM t", epsilon=0.5)
        assert asked.budget.spent == Fraction(1, 2)


def test_engines_without_lists_say_so() -> None:
    names = {line.name for line in LINES.functions} | {"list_value", "kept_items"}
    assert names == NESTED
    for name in names:
        cause, fix = refused_there(name)
        assert ("JSON" in cause) == (name == "json_text")
        assert "view" in fix
    assert refused_there("in_zone")[0].startswith("in_zone")
    assert "another place" in refused_there("regexp_extract")[0]
    assert refused_there(f"regexp_matches{MANY_WAYS}")[0].startswith("regexp_matches of this pattern")
