"""The integers of a row: never negative, their sum exact, the same in SQL as on paper, and what they estimate.

No test here has a chance of a false alarm. Power: the planted faults at the end are found by the same checks.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests import inside, shared
from tests.depth import examples, in_turn
from tests.sql.extremes import FLOATS, INTEGERS, array, connection

import discreet as dp
from discreet.engines.schema import Type
from discreet.sql.dialects.duckdb import DUCKDB
from discreet.sql.expressions.expression import Column
from discreet.sql.expressions.span import Span
from discreet.sql.lower import compile as compiling
from discreet.sql.lower.run import NoisyIntegers, exact_integers
from discreet.sql.measures import measure as measures
from discreet.sql.measures.measure import (
    SCALE_BITS,
    Moments,
    ValueGrid,
    grid_of,
    scaled,
)

RELAXED = settings(
    deadline=None, database=None, max_examples=examples(40, 100), suppress_health_check=list(HealthCheck)
)
EDGES = [
    -1e300,
    -1e15,
    -(2.0**53),
    -2.5,
    -1.0,
    -0.1,
    -1e-300,
    0.0,
    5e-324,
    1e-310,
    0.3,
    1.0,
    20.0,
    1e9,
    2.0**60,
    1e300,
]
CONTRIBUTIONS = [
    Fraction(1, 1000),
    Fraction(1),
    Fraction(3),
    Fraction(10**6),
    Fraction(2**40),
    Fraction(2**54),
]


def make(
    kind: Type, lo: Fraction, hi: Fraction, degree: int, contribution: Fraction, null: bool = False
) -> Moments:
    argument = Column("x", kind, Span(lo, hi))
    return Moments(degree, argument, grid_of(argument, degree, contribution), null)


def model(measure: Moments, x: float | int | None) -> list[int]:
    """The integers of one row, as the module says them."""
    grid, r = measure.grid, measure.row_sensitivity
    assert grid is not None
    if x is None or x != x:
        return [0] * (measure.entries - measure.with_null) + [r] * measure.with_null
    base = 0.0 if measure.degree < 0 else grid.lo
    clamped = min(max(x, grid.lo), grid.hi)
    t = math.floor((float(clamped) - base) * float(1 / grid.step) + 0.5)
    b2, b1 = t * t // r, 2 * t * (r - t) // r
    body = {-1: [t], 1: [r - t, t], 2: [r - b1 - b2, b1, b2]}[measure.degree]
    return body + [0] * measure.with_null


def in_sql(measure: Moments, values: Sequence[Any]) -> list[list[int]]:
    """The integers of each value as the engine computes them, each value in a group of its own."""
    assert measure.argument is not None
    connection().register(
        "v", pa.table({"id": pa.array(range(len(values))), "x": array(measure.argument.type, values)})
    )
    row = ", ".join(f"{sql} AS {name}" for name, sql in measure.row_items("t0", DUCKDB))
    items = ", ".join(f"{item} AS e{at}" for at, item in enumerate(measure.group_items("t0", DUCKDB)))
    sql = f"SELECT {items} FROM (SELECT id, {row} FROM v) AS r GROUP BY id ORDER BY id"
    found = [list(map(int, one)) for one in connection().sql(sql).fetchall()]
    connection().unregister("v")
    return found


def wrong(measure: Moments, values: Sequence[Any], rows: Sequence[Sequence[int]]) -> list[str]:
    """What is wrong with the integers of some rows."""
    problems = []
    for x, entries in zip(values, rows, strict=True):
        missing = x is None or x != x
        if measure.degree >= 0 and any(e < 0 for e in entries):
            problems.append(f"{x!r}: negative {entries}")
        if (
            measure.degree > 0
            and not (missing and not measure.with_null)
            and sum(entries) != measure.row_sensitivity
        ):
            problems.append(f"{x!r}: the sum of {entries} is not {measure.row_sensitivity}")
        if sum(map(abs, entries)) > measure.row_sensitivity:
            problems.append(f"{x!r}: {entries} moves by more than {measure.row_sensitivity}")
    return problems


@st.composite
def measured(draw: st.DrawFn) -> tuple[Moments, list[float]]:
    """A measure, and the ends of its bounds."""
    ends = sorted(
        draw(st.lists(st.one_of(st.sampled_from(EDGES), st.floats(-100, 100)), min_size=2, max_size=2))
    )
    ends = [end + 0.0 for end in ends]  # the zeros of both signs are one end
    kind = draw(st.sampled_from([Type.INTEGER, Type.FLOAT]))
    if kind is Type.INTEGER and max(map(abs, ends)) > 2.0**62:
        ends = [-40.5, 2.0**31 + 0.5]
    lo, hi = Fraction(ends[0]), Fraction(ends[1])
    degree, contribution = draw(st.sampled_from([-1, 1, 2])), draw(st.sampled_from(CONTRIBUTIONS))
    return make(kind, lo, hi, degree, contribution, draw(st.booleans()) and degree > 0), ends


@st.composite
def cases(draw: st.DrawFn) -> tuple[Moments, list[Any]]:
    """A measure, and values inside, at and outside of its bounds."""
    measure, ends = draw(measured())
    assert measure.argument is not None
    if measure.argument.type is Type.INTEGER:
        lo, hi = map(Fraction, ends)
        near = [math.floor(lo), math.ceil(lo), math.floor(hi), math.ceil(hi), math.floor((lo + hi) / 2)]
        return measure, [*INTEGERS, *near, *draw(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5))]
    inside = [draw(st.floats(ends[0], ends[1])) for _ in range(8)]
    beside = [math.nextafter(e, d) for e in ends for d in (-math.inf, math.inf)]
    return measure, [*FLOATS, *ends, *beside, *inside]


@RELAXED
@given(case=cases())
def test_integers_in_sql_are_those_on_paper(case: tuple[Moments, list[Any]]) -> None:
    measure, values = case
    found = in_sql(measure, values)
    assert found == [model(measure, x) for x in values]
    assert wrong(measure, values, found) == []


@settings(RELAXED, max_examples=examples(150, 400))
@given(case=measured())
def test_grids_keep_their_limits(case: tuple[Moments, list[float]]) -> None:
    grid = case[0].grid
    assert grid is not None
    numerator, denominator = grid.step.as_integer_ratio()
    assert numerator & (numerator - 1) == 0
    assert denominator & (denominator - 1) == 0
    assert 1 <= grid.levels <= 2**measures.GRID_BITS
    assert math.isfinite(float(1 / grid.step))


@pytest.mark.parametrize("degree", [-1, 1, 2])
@pytest.mark.parametrize("contribution", CONTRIBUTIONS)
@pytest.mark.parametrize(
    ("lo", "hi"), [(-5, 20), (0, 10**9), (-(10**300), 10**300), (Fraction(1, 10**9), Fraction(1, 10**8))]
)
def test_scales_stay_below_their_limit(
    degree: int, contribution: Fraction, lo: Fraction, hi: Fraction
) -> None:
    for kind in (Type.FLOAT,) if hi < 1 or hi > 2**62 else (Type.FLOAT, Type.INTEGER):
        assert (
            make(kind, Fraction(lo), Fraction(hi), degree, contribution).row_sensitivity * contribution
            <= 2**SCALE_BITS
        )


def test_integers_are_their_own_grid() -> None:
    for degree in (-1, 1):
        grid = make(Type.INTEGER, Fraction(-5), Fraction(20), degree, Fraction(1)).grid
        assert grid == ValueGrid(-5.0, 20.0, Fraction(1), 20 if degree < 0 else 25)
    assert make(Type.INTEGER, Fraction(0), Fraction(2**40), 1, Fraction(1)).row_sensitivity <= 2**30


def test_bounds_of_integers_that_are_no_integers() -> None:
    """Beyond 1.5 lies 2, which as a sum would move by 2 where 1 is allowed."""
    measure = make(Type.INTEGER, Fraction(-3, 2), Fraction(3, 2), -1, Fraction(1))
    assert measure.row_sensitivity == 1
    assert wrong(measure, INTEGERS, in_sql(measure, INTEGERS)) == []


def test_an_expression_of_one_value() -> None:
    for degree, quantity in ((1, "avg"), (2, "avg"), (1, "sum"), (-1, "sum")):
        measure = make(Type.INTEGER, Fraction(3), Fraction(3), degree, Fraction(1))
        found = in_sql(measure, [3, 99, -99])
        assert wrong(measure, [3, 99, -99], found) == []
        exact = np.sum(found, axis=0).astype(np.float64)
        assert measure.estimate(quantity, exact) == (9 if quantity == "sum" else 3)


# Estimates -------------------------------------------------------------------------------------------------
QUANTITIES = {
    "COUNT(*)": 0, "COUNT(x)": 0, "SUM(x)": 1, "AVG(x)": 1, "VAR_POP(x)": 2, "VAR_SAMP(x)": 2, "STDDEV_POP(x)": 2,
    "STDDEV_SAMP(x)": 2,
}  # fmt: skip


def without_noise(session: dp.Session, names: Sequence[str]) -> dict[str, np.ndarray[Any, Any]]:
    """The estimates of some aggregates per group from exact integers."""
    plan = inside.plan_of(session, f"SELECT k, {', '.join(names)} FROM data GROUP BY k", Fraction(1))
    (release,) = plan.releases
    noisy = NoisyIntegers(release, exact_integers(release, inside.engine_of(session), 7))
    return {name: noisy.values(a) for name, a in zip(names, release.aggregates, strict=True)}


# A deep run: each with each.
@pytest.mark.parametrize(
    ("asked", "kind"),
    in_turn(
        list(itertools.product([(-5, 20), (0, 200_000), (-(10**6), -(10**5))], [True, False])),
        ["float", "integer", "integer"],
    ),
)
def test_without_noise_they_are_what_duckdb_says(asked: tuple[tuple[int, int], bool], kind: str) -> None:
    (lo, hi), alone = asked
    rng = np.random.default_rng(5)
    reach = hi - lo
    numbers = rng.uniform(lo - reach / 10, hi + reach / 10, 2000)
    values = pa.array(numbers if kind == "float" else np.rint(numbers).astype(np.int64))
    values = pa.array([None if at % 11 == 0 else v for at, v in enumerate(values.to_pylist())])
    table = pa.table({"x": values, "k": pa.array([at % 3 for at in range(2000)])})
    questions = [[name] for name in QUANTITIES] if alone else [list(QUANTITIES)]
    with shared.protect(table, privacy_unit="row", bounds={"x": (lo, hi), "k": (0, 2)}, budget=1) as session:
        connection().register("plain", table)
        for names in questions:
            listed = ", ".join(names)
            found = without_noise(session, names)
            clamped = (
                f"(SELECT k, CASE WHEN x < {lo} THEN {lo} WHEN x > {hi} THEN {hi} ELSE x END AS x FROM plain)"
            )
            true = connection().sql(f"SELECT {listed} FROM {clamped} GROUP BY k ORDER BY k").fetchall()
            for at, name in enumerate(names):
                degree = QUANTITIES[name]
                step = reach / 2**29  # the finest grid has 2^30 steps; a half of one is lost for each row
                slack = {0: 0.0, 1: step, 2: reach * step * 4}[degree]
                if name.startswith("STDDEV"):
                    slack = math.sqrt(slack)
                if name == "SUM(x)":
                    slack = 0 if kind == "integer" and alone else step * 2000 * 2
                expected = [float(row[at]) for row in true]
                assert found[name] == pytest.approx(expected, rel=1e-12, abs=slack), name


def test_sums_saturate_and_move_by_no_more_than_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "SATURATE", 100)
    found = []
    for rows in ([20] * 30, [20] * 31, [-5] * 30, [20] * 4, [20] * 5, [20] * 6):
        with shared.protect(
            pa.table({"x": rows}), privacy_unit="row", bounds={"x": (-5, 20)}, budget=1
        ) as session:
            plan = inside.plan_of(session, "SELECT SUM(x) AS s FROM data", Fraction(1))
            found.append(int(exact_integers(plan.releases[0], inside.engine_of(session), 7)[0, 0]))
    assert found == [100, 100, -100, 80, 100, 100]


# Planted faults --------------------------------------------------------------------------------------------
def test_planted_faults_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    measure = make(Type.FLOAT, Fraction(-5, 2), Fraction(4), 2, Fraction(1))
    rounded_up = [
        [measure.row_sensitivity - (b1 + 1) - b2, b1 + 1, b2] for _, b1, b2 in in_sql(measure, [4.0])
    ]
    assert wrong(measure, [4.0], rounded_up) == [
        f"4.0: negative {rounded_up[0]}",
        *wrong(measure, [4.0], rounded_up)[1:],
    ]
    assert wrong(measure, [1.0], [[1, 2, 3]]) != []
    truncated = (
        replace(measure, grid=ValueGrid(-2.0, 4.0, measure.grid.step, measure.row_sensitivity))
        if measure.grid
        else measure
    )
    assert in_sql(truncated, [0.1, 0.7]) != [model(measure, x) for x in (0.1, 0.7)]
    alone = make(Type.INTEGER, Fraction(-2), Fraction(1), -1, Fraction(1))
    assert alone.grid is not None
    assert alone.row_sensitivity == 2
    assert wrong(replace(alone, grid=replace(alone.grid, levels=1)), [-9], in_sql(alone, [-9])) != []
    assert scaled(alone.grid, -2.0, 0.0) == -2
