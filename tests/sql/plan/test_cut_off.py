"""How much was cut off: exact without noise, of bounded sensitivity, in one charge, and in every form of an answer.

Power: with the bound on the rows of a unit taken away, the check of neighbours finds it at once.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from tests import inside, shared
from tests.depth import examples
from tests.sql import harness
from tests.sql.neighbours import RELAXED

from discreet.errors import InvalidParameter, QueryRefused
from discreet.sql.expressions.expression import spell
from discreet.sql.lower import compile as compiling
from discreet.sql.lower.run import exact_integers
from discreet.sql.measures import measure as measures
from discreet.sql.plan.cut_off import cut_off
from discreet.sql.plan.plan import QueryPlan

UNITS, CAP = 400, 3
ROWS = np.random.default_rng(3).geometric(0.25, UNITS)
UNIT = np.repeat(np.arange(UNITS), ROWS)
COST = np.random.default_rng(4).lognormal(3, 1, len(UNIT))
TABLE = pa.table({"who": UNIT, "cost": COST, "ward": np.where(UNIT % 4 == 0, "a", "b")})
GIVEN: dict[str, Any] = {
    "table": "visits", "privacy_unit": "who", "max_rows": CAP, "budget": 1000, "bounds": {"cost": (0, 50)},
    "keys": {"ward": ["a", "b"]},
}  # fmt: skip
MEAN = "SELECT AVG(cost) AS cost FROM visits"


def of_cut_off(plan: QueryPlan) -> QueryPlan:
    """The measurements alone, as a plan."""
    return replace(plan, releases=tuple(one.plan for one in plan.cut_off), cut_off=())


def _violations(case: harness.Case) -> list[str]:
    planned = harness.plan_of(case)
    known = [release for release in planned.releases if release.discovery is None]
    plan = replace(planned, releases=tuple(one.plan for one in cut_off(known, Fraction(1))) if known else ())
    engine: Any = harness.default_engine()
    engine.load([case.base, *case.neighbours])
    exact = []
    for at in range(1 + len(case.neighbours)):
        engine.use(at)
        exact.append(
            [exact_integers(one, engine, 7, given=harness.given(one, case.sql)) for one in plan.releases]
        )
    return [
        problem
        for at, other in enumerate(exact[1:])
        for problem in harness.compare(plan, exact[0], other, f"{at}")
    ]


def test_of_a_column_without_bounds_nothing_is_clamped() -> None:
    kinds = []
    for declared in (GIVEN, {**GIVEN, "bounds": {}}):
        with shared.protect(TABLE, **declared) as session:
            plan = inside.plan_of(session, "SELECT AVG(clamp(cost, 0, 9)) AS cost FROM visits", Fraction(1))
        kinds.append([one.kind for one in cut_off(plan.releases, Fraction(1))])
    assert kinds == [["rows", "values"], ["rows"]]


def test_neighbours_stay_within_the_sensitivity() -> None:
    @settings(RELAXED, max_examples=examples(16, 200))
    @given(case=harness.cases(per_table=6))
    def check(case: harness.Case) -> None:
        asked = replace(case, per_group=None)  # beside which there is no measuring, before any charge
        with contextlib.suppress(QueryRefused):  # of no group or too many, as in the harness
            assert _violations(asked) == []

    check()


@pytest.mark.parametrize("replace_one", [False, True])
def test_one_unit_with_many_rows(replace_one: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    row = (1, 1.0, "x", True, 0.5, None, 0)
    policy = harness.make_policy(True, 2, replace_one)
    other, many = [(2, *row)], [(1, *row)] * 500
    base = [*other, (1, *row)] if replace_one else other
    case = harness.Case(policy, "SELECT c, SUM(a) FROM t GROUP BY c", tuple(base), ((*other, *many),))
    assert _violations(case) == []
    # The planted fault: rows are counted as often as they are there, in all places that know of their clamp.
    monkeypatch.setattr(measures, "scaled_sql", lambda measure, dialect: spell(measure.argument, dialect))
    monkeypatch.setattr(compiling, "_spans", lambda *_: {})
    assert _violations(case)


def test_one_charge_for_the_answer_and_its_shares() -> None:
    session = shared.protect(TABLE, **GIVEN)
    plan = inside.plan_of(session, MEAN, Fraction(1), diagnose=Fraction(1, 20))
    assert plan.epsilon == 1
    assert sum(release.epsilon for release in plan.releases) == Fraction(19, 20)
    assert sum(one.plan.epsilon for one in plan.cut_off) == Fraction(1, 20)
    first = session.sql(MEAN, epsilon=8, diagnose=0.5)
    again = session.sql(MEAN, epsilon=8, diagnose=0.5, confidence=0.5)
    assert session.budget.spent == 8
    assert [share.share for share in again.cut_off] == [share.share for share in first.cut_off]
    session.sql(MEAN, epsilon=8)
    assert session.budget.spent == 16  # another question: without the shares


@pytest.mark.parametrize("share", [-0.1, 1, "x"])
def test_a_share_out_of_range_is_refused(share: Any) -> None:
    session = shared.protect(TABLE, **GIVEN)
    with pytest.raises(InvalidParameter):
        session.sql(MEAN, epsilon=1, diagnose=share)
    assert session.budget.spent == 0


def test_noise_beyond_all_floats_is_refused() -> None:
    """The logarithm of its scale ended in an OverflowError."""
    session = shared.protect(TABLE, **GIVEN)
    for asked in (session.preview, session.sql):
        with pytest.raises(InvalidParameter, match="scale outside"):
            asked(MEAN, epsilon="1e-9", diagnose="1e-300")
    assert session.budget.spent == 0


def test_nothing_to_measure_is_refused_before_the_charge() -> None:
    session = shared.protect(TABLE, **{**GIVEN, "privacy_unit": "row", "max_rows": None})
    with pytest.raises(InvalidParameter, match="diagnose"):
        session.sql("SELECT COUNT(*) AS n FROM visits", epsilon=1, diagnose=0.1)
    assert session.budget.spent == 0
