"""Units keep their identity on Spark, and names that Spark does not tell apart are refused."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from tests import servers, shared
from tests.depth import DEEP
from tests.sql import units

from discreet.engines.spark import SparkEngine
from discreet.errors import PolicyError, QueryRefused, SourceError

Pool = list[list[Any] | None]
POOLS: dict[str, Pool] = {
    "BIGINT": [["9223372036854775807"], ["9223372036854775806"], ["0"], None],
    "DECIMAL(38, 0)": [*([f"100000000000000000{at}"] for at in range(5)), ["0", "-0"], None],
    "DOUBLE": [["0.0", "-0.0"], ["0.1"], ["0.10000000000000002"], ["Infinity"], None],
    "STRING": [["a"], ["A"], ["a "], ["\u00e9"], ["e\u0301"], None],
    "TIMESTAMP": [["2020-01-01 00:00:00Z", "2020-01-01 02:00:00+02:00"], ["2020-01-01 00:00:00.000001Z"], None],
    "TIMESTAMP_NTZ": [["2020-01-01 00:00:00"], ["2020-01-01 00:00:00.000001"], ["1900-01-01"], None],
}  # fmt: skip
QUESTIONS = [q for at, q in enumerate(units.QUESTIONS) if at in (0, 3, 5, 6, 12)]
"""As many as can be asked of Spark in a few seconds: one of each way to tell units apart."""


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Spark warns of the versions of others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture
def session() -> Any:
    return servers.spark()


def frame(session: Any, kind: str, rows: units.Table) -> Any:
    written = session.createDataFrame(rows, "id STRING, v INT")
    return written.selectExpr(f"CAST(id AS {kind}) AS id", "v").coalesce(1)


def engines(session: Any, kind: str) -> tuple[list[SparkEngine], list[units.Counts], set[int]]:
    versions, second, people = units.tables(POOLS[kind], 1)
    nobody = [("NaN", 1)] * 3 if kind == "DOUBLE" else []
    made = [
        SparkEngine.open_all(
            [("t", frame(session, kind, rows + nobody)), ("s", frame(session, kind, second))]
        )
        for rows, _ in versions[:2]
    ]
    return made, [counts for _, counts in versions[:2]], people


@pytest.mark.parametrize("kind", POOLS)
def test_people_stay_apart_and_whole(session: Any, kind: str) -> None:
    # Each question of one of the two hardest, and one of each other type in turn, as these differ by how they are read;
    # a deep run: each of each.
    usual = {"DECIMAL(38, 0)": QUESTIONS[1::2], "DOUBLE": QUESTIONS[::2]}
    at = list(POOLS).index(kind)
    asked = QUESTIONS if DEEP else usual.get(kind, QUESTIONS[at : at + 1] or QUESTIONS[:1])
    assert units.problems(*engines(session, kind), asked) == []


def test_a_unit_that_is_read_as_queries_see_it_is_found(session: Any) -> None:
    with units.lossy():
        assert units.problems(*engines(session, "DECIMAL(38, 0)"), QUESTIONS[:2])


def protect(source: Any, **given: Any) -> Any:
    return shared.protect(source, **{"max_rows": 1, "budget": 1, **given})


@pytest.mark.parametrize("collation", ["UTF8_LCASE", "UNICODE_CI_AI", "UTF8_BINARY_RTRIM"])
def test_texts_under_a_collation_name_no_units(session: Any, collation: str) -> None:
    made = session.sql(f"SELECT 'a' COLLATE {collation} AS id, 'a' AS other")
    with pytest.raises(PolicyError, match="different texts may be one person"):
        protect(made, privacy_unit="id")
    protect(made, privacy_unit="other").close()


def test_units_of_different_types_are_refused_when_the_plan_is_made(session: Any) -> None:
    for one, other in [("BIGINT", "STRING"), ("BIGINT", "DECIMAL(38, 0)"), ("TIMESTAMP", "TIMESTAMP_NTZ")]:
        engine = SparkEngine.open_all([(n, frame(session, k, [])) for n, k in (("t", one), ("s", other))])
        with units.session(engine, dict(units.policy().tables)) as opened:
            for question in (q for q in units.QUESTIONS if " s" in q):
                with pytest.raises(QueryRefused, match="of different types"):
                    opened.preview(question, epsilon=1)


def test_twins_are_refused_with_a_reason(session: Any) -> None:
    rows = session.createDataFrame([(1, 2)], "ID INT, id INT")
    with pytest.raises(SourceError, match="ID and id of the table data differ by case alone"):
        protect(rows, privacy_unit="ID")
    one = session.createDataFrame([(1,)], "a INT")
    with pytest.raises(SourceError, match="Two tables are called"):
        protect({"T": one, "t": one}, table="T", privacy_unit="row")
