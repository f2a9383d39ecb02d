"""Literals are read by their text alone; of a parameter the type is read, and the value is not told."""

from __future__ import annotations

import datetime as dt

import pytest
from benchmarks.corpus.judge import difference
from sqlglot import exp
from tests.sql.fuzz import bench

from discreet.engines.schema import Type
from discreet.sql.analyze.binding.literals import NotALiteralError, literal_of, moment_of
from discreet.sql.expressions.expression import Literal
from discreet.sql.expressions.parameter import Parameter
from discreet.sql.syntax.parameters.parameter_node import ValueNeededError, parameter_node

READ: list[tuple[str, bool, object, Type]] = [
    ("45", False, 45, Type.INTEGER), ("1_000", False, 1000, Type.INTEGER), ("2.0", False, 2.0, Type.FLOAT),
    ("9223372036854775807", False, 2**63 - 1, Type.INTEGER), ("9223372036854775808", False, 2.0**63, Type.FLOAT),
    ("1e3", False, 1000.0, Type.FLOAT), ("45", True, "45", Type.TEXT), ("", True, "", Type.TEXT),
]  # fmt: skip


@pytest.mark.parametrize(("text", "string", "value", "kind"), READ)
def test_a_literal_and_its_blank_have_one_type(text: str, string: bool, value: object, kind: Type) -> None:
    node = exp.Literal(this=text, is_string=string)
    assert literal_of(node) == Literal(value, kind)  # type: ignore[arg-type]
    parameter = literal_of(parameter_node(0, node))
    assert isinstance(parameter, Parameter)
    assert parameter.type is kind
    assert parameter.of(Literal(value, kind)) == Literal(value, kind)  # type: ignore[arg-type]
    with pytest.raises(ValueNeededError):
        _ = parameter.value


@pytest.mark.parametrize(
    ("text", "string"), [("1e309", False), ("1" * 500, False), ("a\0b", True), ("x", False)]
)
def test_no_literal(text: str, string: bool) -> None:
    with pytest.raises(NotALiteralError):
        literal_of(exp.Literal(this=text, is_string=string))


def test_a_moment_has_the_type_of_its_text() -> None:
    day, text = dt.date(2024, 2, 29), Literal("2024-02-29", Type.TEXT)
    assert moment_of(text, Type.DATE) == Literal(day, Type.DATE)
    assert moment_of(text, Type.TIMESTAMP) == Literal(dt.datetime(2024, 2, 29), Type.TIMESTAMP)
    shifted = moment_of(Literal("2024-02-29 18:30:00+02:00", Type.TEXT), Type.DATE)
    assert shifted == Literal(day, Type.DATE)  # the day that is written, as DuckDB reads it
    with pytest.raises(ValueError, match="isoformat"):
        moment_of(Literal("no date", Type.TEXT), Type.DATE)


@pytest.mark.parametrize(
    "condition",
    [
        "d < '2024-02-29 10:00:00'", "d = '2024-02-29 10:00:00'", "'2024-02-29T10:00:00' > d",
        "d IN ('2024-02-29 23:59:59')", "d BETWEEN '2024-02-28 09:00:00' AND '2024-02-29 08:00:00'",
        "CAST('2024-02-29 10:00:00' AS DATE) = d", "d < TIMESTAMP '2024-02-29 10:00:00'",
        "d BETWEEN '2024-02-28 09:00:00' AND ts",
    ],
)  # fmt: skip
def test_a_text_beside_a_date_is_the_day_that_duckdb_reads(condition: str) -> None:
    sql = f"SELECT COUNT(*) AS n FROM t WHERE {condition}"
    assert difference(bench.answered(sql).values, bench.plain(sql), []) == ""
