"""One row in the place of another: the derived sensitivity holds for all pairs of rows, and some pair reaches it.

No test here has a chance of a false alarm. Power: a factor that is one too small is found for every question.
"""

from __future__ import annotations

import datetime as dt
from typing import Any
from unittest import mock

import numpy as np
import pytest
from tests.depth import few
from tests.sql import harness

from discreet.engines.schema import ColumnSchema, Type
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.lower.run import exact_integers
from discreet.sql.measures.all_rows import AllRows
from discreet.sql.measures.measure import columns
from discreet.sql.plan.plan import PlannedRelease

AS, CS, DS = (None, -5, 3, 4, 20, 2**63 - 1), (None, "x", "y", "w"), (None, True, False)
"""Ends and middle values of a, in [-5, 20], of which 3 and 4 lie beside a third; a text that is no key."""
QUESTIONS = {
    "SELECT COUNT(*) FROM t WHERE d": 1, "SELECT COUNT(a) FROM t": 1,
    "SELECT COUNT(a), COUNT(*) FROM t": 2, "SELECT COUNT(DISTINCT a) FROM t": 1, "SELECT COUNT(*) FROM t GROUP BY c": 2,
    "SELECT SUM(a) FROM t": 25, "SELECT SUM(a) FROM t WHERE d": 25, "SELECT SUM(a) FROM t GROUP BY c": 40,
    "SELECT SUM(coalesce(a, 0)) FROM t": 25, "SELECT SUM(DISTINCT a) FROM t": 25,
    "SELECT SUM(coalesce(a, 0) + 5) FROM t": 25, "SELECT SUM(coalesce(a, 0) + 15) FROM t": 25,
    "SELECT SUM(a + 15) FROM t": 35, "SELECT SUM(coalesce(a, 0) + 15) FROM t WHERE d": 35,
    "SELECT AVG(a) FROM t": 2, "SELECT AVG(a), COUNT(*) FROM t": 2, "SELECT AVG(coalesce(a, 0)) FROM t": 1,
    "SELECT AVG(coalesce(a, 0)) FROM t WHERE d": 2, "SELECT AVG(coalesce(a, 0)) FROM t GROUP BY c": 2,
    "SELECT VAR_POP(a) FROM t": 2, "SELECT VAR_POP(coalesce(a, 0)) FROM t": 4 / 3, "SELECT KURTOSIS(a) FROM t": 2,
    "SELECT SKEWNESS(coalesce(a, 0)) FROM t": 2, "SELECT CORR(a, b) FROM t": 2, "SELECT REGR_COUNT(a, b) FROM t": 2,
    "SELECT QUANTILE_CONT(a, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]) FROM t": 2,
    "SELECT COUNT(*) FILTER (WHERE a = 3), COUNT(*) FILTER (WHERE a = 4) FROM t": 2,
}  # fmt: skip
"""Each question with the distance of two rows, in rows (integers of a measure over those of a row alone), or in units
of a sum."""
THIRD = "VAR_POP(coalesce"


def rows() -> list[tuple[Any, ...]]:
    """Rows that take the extremes of every vector of integers."""
    b = {None: 1.0, -5: -2.5, 20: 4.0}
    return [
        (a, b.get(a, 0.3), c, d, 0.5, dt.date(2020, 1, 1), 0) for a in AS for c in CS for d in DS if c or d
    ]


def moved(sql: str, unit: bool, most: int) -> tuple[PlannedRelease, float]:
    """The plan of a question, and how many times its share of epsilon the worst pair of rows costs."""
    policy = harness.make_policy(unit, most, True)
    case = harness.Case(policy, sql, (), ())
    (release,) = harness.plan_of(case).releases
    engine: Any = harness.default_engine()
    exact, versions = [], rows()
    engine.load([tuple((1, *row) for _ in range(most)) for row in versions])
    for at in range(len(versions)):
        engine.use(at)
        exact.append(exact_integers(release, engine, 7))
    lost: dict[int, np.ndarray[Any, Any]] = {}  # by the first of the measures beside, of each pair of rows
    for at, place in enumerate(columns(release.measures)):
        own = np.stack([found[:, place].ravel() for found in exact])
        distances = np.stack([np.abs(own - one).sum(axis=1) for one in own])
        assert distances.max() < 2**53  # so that the quotient is that of the integers
        first = release.beside(at)[0]
        lost[first] = lost.get(first, np.zeros(1)) + distances / release.sensitivity(release.measures[at])
    return release, max(float(each.max()) for each in lost.values())


# A deep run: every question.
@pytest.mark.parametrize("sql", few(QUESTIONS, 4))
@pytest.mark.parametrize(("unit", "most"), [(False, 1), (True, 3)])
def test_the_sensitivity_holds_and_is_reached(sql: str, unit: bool, most: int) -> None:
    if unit and "coalesce" in sql:
        pytest.skip("a unit may have fewer rows, so that their number is not public")
    if unit and "DISTINCT" in sql:
        pytest.skip("rows that are alike are one value; see below")
    release, worst = moved(sql, unit, most)
    assert worst <= 1
    assert worst == 1 if THIRD not in sql else worst > 1 - 0.02
    measure = release.measures[0]
    alone = 1 if measure.degree < 0 else measure.row_sensitivity
    assert release.sensitivity(measure) == pytest.approx(QUESTIONS[sql] * most * alone, rel=1e-6)


# A deep run: with every question.
@pytest.mark.parametrize("sql", few([sql for sql in QUESTIONS if THIRD not in sql], 5))
def test_a_sensitivity_one_too_small_is_found(sql: str) -> None:
    sensitivity = PlannedRelease.sensitivity
    with mock.patch.object(
        PlannedRelease, "sensitivity", lambda plan, own: sensitivity(plan, own) - 1 or 1 / 2
    ):
        assert moved(sql, False, 1)[1] > 1


def test_values_that_are_distinct_by_the_cap() -> None:
    policy = harness.make_policy(True, 3, True)
    base, other = ([(1, a, 1.0, "x", True, 0.5, None, 0) for a in several] for several in ((1, 2, 3), (1,)))
    case = harness.Case(policy, "SELECT COUNT(DISTINCT a) FROM t", (*base,), ((*other,), ()))
    assert harness.violations(case) == []
    (release,) = harness.plan_of(case).releases
    assert release.sensitivity(release.measures[0]) == 3


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_a_null_that_the_schema_excludes_keeps_the_bound(
    neighbours: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine of the harness holds NULLs in a column that its schema says has none."""
    schema = {**harness.SCHEMA, "a": ColumnSchema("a", Type.INTEGER, -(2**63), 2**63 - 1, required=True)}
    monkeypatch.setattr(
        harness,
        "catalog",
        lambda policy: Catalog.build(policy, {"t": schema, "s": harness.OTHER}, {"pub": harness.PUBLIC}),
    )
    policy = harness.make_policy(False, 1, neighbours == "replace_one")
    base = (2, 5, 1.0, "x", True, 0.5, None, 0)
    worst = [(1, *row) for row in rows()]
    near = tuple((base, row) for row in worst)
    base_rows = (base,) if neighbours == "add_remove" else (base, worst[0])
    for sql in ("AVG(a), COUNT(*)", "SUM(a)", "SUM(a + 40)", "VAR_POP(a)", "SUM(2 * a), COUNT(*)"):
        case = harness.Case(policy, f"SELECT {sql} FROM t", base_rows, near)
        (release,) = harness.plan_of(case).releases
        assert not release.measures[0].with_null
        assert isinstance(release.measures[0], AllRows) == (neighbours == "replace_one")
        assert harness.violations(case) == []
