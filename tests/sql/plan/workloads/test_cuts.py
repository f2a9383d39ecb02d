"""Columns that questions cut: where the cuts are, and that each table has the integers of its question."""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests import shared
from tests.inside import exact_of, noisy_of, workload_plan_of

import discreet as dp
from discreet.engines.schema import Type
from discreet.sql import functions as fn
from discreet.sql.algebra.keys import Key
from discreet.sql.expressions.expression import Call, Column, Expression, Literal
from discreet.sql.expressions.span import Span
from discreet.sql.lower.workloads import tables_of
from discreet.sql.plan.workloads import cuts
from discreet.sql.plan.workloads import places as placing
from discreet.sql.plan.workloads.cuts import intervals

NONE: Any = lambda _, exact: exact  # noqa: E731  no noise
START = dt.datetime(2024, 1, 1)
FLOATS = [
    -math.inf,
    -5e-324,
    -0.0,
    0.0,
    5e-324,
    1.5,
    math.nextafter(1.5, 9),
    2.0,
    3.25,
    99.0,
    math.inf,
    math.nan,
    None,
]
TEXTS = ["", "a", "a\0", "a ", "ab", "B", "b", "z", "Z", "\u00e9", "\uffff", "\U0001f600", None]
COUNT = 260
ROWS = pa.table(
    {
        "f": pa.array(FLOATS * 20, pa.float64()),
        "d": pa.array([Decimal(k % 40) / 10 if k % 9 else None for k in range(COUNT)], pa.decimal128(6, 1)),
        "t": pa.array([START + dt.timedelta(hours=k % 90) for k in range(COUNT)], pa.timestamp("us")),
        "n": pa.array([(-(2**63), 2**63 - 1, 7, 8, None)[k % 5] for k in range(COUNT)], pa.int64()),
        "pay": np.linspace(-5, 60, COUNT),
        "s": pa.array([TEXTS[k % len(TEXTS)] for k in range(COUNT)], pa.string()),
    }
)
ASKED: dict[str, list[str]] = {
    "floats": ["f < 1.5", "f <= 1.5", "f = 0.0", "f >= -0.0 AND f < 2", "NOT (f > 3.25)", "f IS NULL", "2 < f"],
    "decimals": ["d < 0.1", "d BETWEEN 0.1 AND 2", "d IN (0.3, 1.5)", "d > 2", "d IS DISTINCT FROM 0.3"],
    "moments": ["t < TIMESTAMP '2024-01-02'", "t >= TIMESTAMP '2024-01-02'", "t < TIMESTAMP '2024-01-03 12:30:00'",
                "t BETWEEN DATE '2024-01-02' AND DATE '2024-01-04'"],
    "texts": ["s < 'b'", "s <= 'a'", "s = 'a'", "s BETWEEN 'B' AND 'b'", "s IN ('z', '\u00e9')", "s > '\uffff'",
              "s >= ''"],
    "computed": ["f * 2 < 3", "f * 2 >= 4 OR f < 0", "f * 2 IS NULL", "pay - f < 7", "f = 1.5", "NOT (pay - f >= 20)"],
    "parts": ["date_trunc('day', t) = DATE '2024-01-02'", "date_trunc('day', t) < DATE '2024-01-04'", "upper(s) = 'B'",
              "upper(s) < 'A' AND hour(t) < 9", "hour(t) BETWEEN 7 AND 12", "length(s) = 1", "substr(s, 1, 1) = 'a'"],
    "wide": ["n < 8", "n <= 9223372036854775807", "n > 7 OR f < 0", "n = 7"],
}  # fmt: skip
FLOAT = Column("x", Type.FLOAT, Span())
DOUBLED = fn.must("multiply", FLOAT, Literal(2.0, Type.FLOAT))
TRIPLED = fn.must("add", FLOAT, DOUBLED)


def protect(**bounds: tuple[Any, Any]) -> dp.Session:
    return shared.protect(ROWS, privacy_unit="row", bounds={"pay": (0, 50), **bounds}, budget=100)


def differing(session: dp.Session, wheres: list[str], apart: int = 0) -> int:
    """How many tables, all but so many measured together, have other integers than those of the question by itself."""
    plan = workload_plan_of(session, [f"SELECT AVG(pay) AS p FROM data WHERE {where}" for where in wheres])
    assert [len(one.tables) for one in plan.workloads if one.pieces is not None] == [len(wheres) - apart]
    found = tables_of(plan, noisy_of(session, plan, NONE))
    alone = exact_of(session, plan)
    return sum(
        not np.array_equal(one.entries, own.entries << (one.places or (0,))[0])
        for one, own in zip(found, alone, strict=True)
    )


@pytest.mark.parametrize("name", ASKED)
def test_each_table_has_the_integers_of_its_question(name: str) -> None:
    """Values at the cuts, next to them, zero of either sign, NULL, NaN and infinities among them."""
    assert differing(protect(), ASKED[name]) == 0
    if name == "floats":
        assert differing(protect(f=(0, 5)), ASKED[name][1:]) == 0


def test_a_cut_on_the_wrong_side_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: `<=` is cut before its value."""
    monkeypatch.setitem(cuts.SIDES, "le", (cuts.BEFORE,))
    assert differing(protect(), ["f <= 1.5", "f <= 3.25", "f < 2"]) > 0


def test_texts_that_are_read_as_if_nothing_lay_between_them_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: the next text is taken to be one behind all that begin alike."""
    real = cuts._beside
    monkeypatch.setattr(
        cuts, "_beside", lambda value, way: value + "zz" if isinstance(value, str) else real(value, way)
    )
    assert differing(protect(), ["s <= 'a'", "s < 'ab'", "s < 'b'"]) > 0


def test_a_computed_value_that_is_read_by_one_of_each_interval_of_its_column_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The planted fault: `f * 2` follows from the intervals of `f`, which are cut elsewhere."""
    asked = ["f * 2 < 3", "f < 2", "f >= 0", "f * 2 > 3"]
    assert differing(protect(), asked) == 0

    def inside_first(expression: Expression, stands: Mapping[Expression, Expression]) -> Expression:
        if isinstance(expression, Call):
            args = tuple(inside_first(arg, stands) for arg in expression.args)
            expression = dataclasses.replace(expression, args=args)
        return stands.get(expression, expression)

    monkeypatch.setattr(placing, "substitute", inside_first)
    assert differing(protect(), asked) > 0


def compare(name: str, value: float | str, column: Expression = FLOAT) -> Expression:
    found = fn.call(name, column, Literal(value, column.type))
    assert found is not None
    return found


def test_intervals_have_one_value_each_and_none_is_empty() -> None:
    up = math.nextafter(1.0, 2)
    found = intervals(FLOAT, [compare("le", 1.0), compare("lt", up), compare("ge", 3.0)])
    assert found is not None
    counted, shown = found
    assert counted.values == (0, 1, 2, None)  # nothing lies between 1 and the next double
    assert shown.values == (1.0, up, 3.0, None)
    at_the_end = intervals(FLOAT, [compare("gt", math.inf), compare("lt", -math.inf), compare("lt", -0.0)])
    assert at_the_end is not None
    assert at_the_end[1].values == (-5e-324, -0.0, None)


def test_cuts_beyond_the_bounds_are_left_out() -> None:
    whole = Column("n", Type.INTEGER, Span(Fraction(0), Fraction(10), False))
    found = intervals(whole, [compare("lt", value, whole) for value in (-3, 0, 4, 10, 11)])
    assert found is not None
    assert found[0].values == (0, 1, 2)
    assert found[1].values == (3, 4, 10)


@pytest.mark.parametrize("where", ["f < 0.5", "f <= 0", "day(t) = 0", "NOT (day(t) >= 1)", "f * 2 < 1"])
def test_a_condition_that_no_value_meets_holds_for_no_row(where: str) -> None:
    """Its cuts lie beyond all values, and 0 meets it. It has no group, and is measured by itself."""
    assert differing(protect(f=(1, 5)), [where, "pay < 20", "pay >= 10"], apart=1) == 0


def test_the_value_that_stands_for_a_column_that_is_cut_nowhere_lies_in_its_bounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stands(lo: int | None, hi: int | None, asked: list[tuple[str, float]]) -> Any:
        low, high = (None if end is None else Fraction(end) for end in (lo, hi))
        column = Column("x", Type.FLOAT, Span(low, high, nullable=False))
        found = intervals(column, [compare(name, value, column) for name, value in asked])
        assert found is not None
        return found[1].values

    assert stands(10, 50, [("lt", 5.0), ("le", 7.0), ("eq", 60.0)]) == (math.nextafter(7.0, 8),)
    assert stands(10, 50, [("lt", 5.0), ("ge", 10.0)]) == (10.0,)
    assert stands(None, -5, [("ge", 0.0), ("gt", -5.0)]) == (-5.0,)
    assert stands(10, 50, []) == (0.0,)  # nothing is asked of it
    # Planted fault: any value stands for all.
    real = cuts._shown
    monkeypatch.setattr(cuts, "_shown", lambda column, some, _: real(column, some, {}))
    assert stands(10, 50, [("lt", 5.0)]) == (0.0,)


@pytest.mark.parametrize(
    "condition",
    [
        FLOAT,
        fn.call("lt", fn.call("add", FLOAT, Literal(1.0, Type.FLOAT)) or FLOAT, Literal(1.0, Type.FLOAT)),
        fn.call("lt", FLOAT, Column("y", Type.FLOAT, Span())),
        fn.call("lt", DOUBLED, Column("y", Type.FLOAT, Span())),
        fn.call("lt", FLOAT, Literal(math.nan, Type.FLOAT)),
    ],
)
def test_a_column_that_is_read_in_other_ways_is_not_cut(condition: Expression) -> None:
    assert intervals(FLOAT, [compare("lt", 3.0), condition]) is None
    assert intervals(Column("s", Type.BOOLEAN, Span()), []) is None


def test_a_computed_value_is_cut_where_it_is_compared_and_its_column_is_not() -> None:
    asked = [compare("lt", 3.0), compare("ge", 4.0, DOUBLED)]
    found = intervals(DOUBLED, asked, [FLOAT, DOUBLED])
    assert found is not None
    assert found[1] == Key(DOUBLED, (math.nextafter(4.0, 0), 4.0, None))
    by_column = intervals(FLOAT, asked, [FLOAT, DOUBLED])
    assert by_column is not None
    assert by_column[0].values == (0, 1, None)  # at 3 alone
    assert intervals(FLOAT, asked) is None  # the value has no intervals of its own
    assert intervals(DOUBLED, [*asked, compare("lt", 1.0, TRIPLED)], [DOUBLED]) is None


def test_texts_are_cut_in_the_order_of_code_points() -> None:
    text = Column("s", Type.TEXT, Span())
    found = intervals(
        text, [compare("le", value, text) for value in ("b", "Z", "a\0")] + [compare("lt", "a", text)]
    )
    assert found is not None
    assert found[1].values == ("Z", "Z\0", "a", "b", "b\0", None)
    everything = intervals(text, [compare("ge", "", text)])
    assert everything is not None
    assert everything[1].values == ("", None)


def test_long_lists_are_cut_too_and_a_question_that_reads_them_otherwise_is_apart() -> None:
    wheres = [f"pay < {k}" for k in (3, 9, 11)]
    wide = {"n": (0, 10**6)}
    assert (
        differing(
            protect(**wide), [f"n < {k} AND {where}" for k, where in zip((5, 8, 9), wheres, strict=True)]
        )
        == 0
    )
    queries = [f"SELECT COUNT(*) AS n FROM data WHERE {one}" for one in (*wheres, "pay * 2 < n")]
    plan = workload_plan_of(protect(), queries)
    assert [len(one.tables) for one in plan.workloads] == [3]
