"""Units with several rows in questions that are measured together: one choice of rows, and how far it moves sums."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests import shared
from tests.consenting import protected
from tests.depth import DEEP, examples
from tests.inside import engine_of, exact_of, noisy_of, workload_plan_of

import discreet as dp
from discreet.sql.lower.run import exact_integers
from discreet.sql.lower.workloads import of_pieces, tables_of
from discreet.sql.plan.limits import NO_LIMITS, Limits
from discreet.sql.plan.plan import QueryPlan

NONE: Any = lambda _, exact: exact  # noqa: E731  no noise
SEEDS = range(examples(1, 41))
UNITS, EACH = 40, 6


def rows(seed: int) -> pa.Table:
    random = np.random.default_rng(seed)
    count = UNITS * EACH
    return pa.table(
        {
            "id": np.arange(count) % UNITS,
            "age": pa.array(random.integers(-5, 70, count), mask=random.random(count) < 0.1),
            "heat": pa.array(random.choice([-0.0, 36.6, 37.0, 38.5, np.inf, np.nan], count)),
            "ward": random.choice(["a", "b", "c", "x"], count),
            "pay": random.uniform(-5, 60, count),
        }
    )


ROWS = rows(1)
TENS = [f"SELECT COUNT(*) AS n FROM data WHERE age BETWEEN {k} AND {k + 24}" for k in range(0, 40, 6)]
MIXED = [
    "SELECT AVG(pay) AS p FROM data WHERE age < 30 AND heat < 38",
    "SELECT AVG(pay) AS p FROM data WHERE heat >= 37 AND ward IN ('a', 'b')",
    "SELECT AVG(pay) AS p FROM data WHERE age IS NULL OR heat = 0",
    "SELECT ward, AVG(pay) AS p FROM data WHERE age < 50 GROUP BY ward",
]
BY_WARD = [
    f"SELECT ward, {', '.join(f'SUM(pay * {k}) AS s{k}' for k in range(1, 5))} FROM data WHERE age <= {last} "
    "GROUP BY ward" for last in range(4, 60, 6)
]  # fmt: skip
GAUSSIAN = dp.Budget(epsilon=1000, delta="1e-1", accountant="zcdp")


def protect(data: pa.Table = ROWS, **more: Any) -> dp.Session:
    declared: dict[str, Any] = {
        "privacy_unit": "id", "max_rows": EACH, "bounds": {"age": (0, 64), "pay": (0, 50)},
        "keys": {"ward": ["a", "b", "c"]}, "budget": 10_000,
    }  # fmt: skip
    return shared.protect(data, **declared | more)


def together(plan: QueryPlan) -> int:
    return sum(len(one.tables) for one in plan.workloads if one.pieces is not None)


@pytest.mark.parametrize("questions", [TENS, MIXED])
def test_each_table_has_the_integers_of_its_question_where_no_row_is_dropped(questions: list[str]) -> None:
    session = protect()
    plan = workload_plan_of(session, questions)
    assert together(plan) == len(questions)
    for one, own in zip(tables_of(plan, noisy_of(session, plan, NONE)), exact_of(session, plan), strict=True):
        assert np.array_equal(one.entries, own.entries << (one.places or (0,))[0])


def moved(session: dp.Session, plan: QueryPlan, smaller: pa.Table) -> list[tuple[float, float]]:
    """By how much the measured sums move in L1 and squared in L2, where some units are away, over what is allowed."""
    (workload,) = (one for one in plan.workloads if one.pieces is not None)
    assert workload.pieces is not None
    ((_, measured),) = workload.marginals
    tables = [
        of_pieces(exact_integers(workload.finest, engine_of(own), 7), workload.pieces)
        for own in (session, protect(smaller))
    ]
    change = np.abs(tables[0] - tables[1]).astype(float)
    return [
        (
            float(change[:, part].sum() / measured.sensitivity(one)),
            float((change[:, part] ** 2).sum() / measured.square(one)),
        )
        for part, one in zip(measured.entries, measured.measures, strict=True)
    ]


def worst(
    questions: list[str],
    limits: Limits,
    gaussian: bool = False,
    data: pa.Table = ROWS,
    units: int = 4 if DEEP else 2,
) -> tuple[float, float]:
    session = protect(data, **({"budget": GAUSSIAN} if gaussian else {}))
    delta = {"delta": Fraction(1, 10)} if gaussian else {}
    plan = workload_plan_of(session, questions, limits=limits, **delta)
    assert together(plan) == len(questions)
    assert bool(plan.gaussian) == gaussian
    found = [moved(session, plan, data.filter(data["id"].to_numpy() != unit)) for unit in range(units)]
    return max(one for own in found for one, _ in own), max(two for own in found for _, two in own)


@pytest.mark.parametrize("questions", [TENS, MIXED])
def test_a_unit_moves_the_sums_by_its_cap_and_no_more(questions: list[str]) -> None:
    assert 0.5 < worst(questions, Limits(max_rows=3))[0] <= 1


def one_ward() -> pa.Table:
    """Units whose rows are all young people of two wards, with the most pay."""
    wards = ["a", "a", "a", "b", "b", "b"]
    return pa.table({"id": [at % 2 for at in range(12)], "age": [at % 3 for at in range(12)],
                     "ward": [wards[at // 2] for at in range(12)], "pay": [50.0] * 12})  # fmt: skip


LIMITS = Limits(4, 2, 2)
"""Two rows in each of two wards: 4 rows in L1, and 8 in squares, not 16."""


def test_rows_are_bounded_in_the_groups_of_the_questions() -> None:
    assert 0.9 < worst(BY_WARD, LIMITS, True, one_ward(), 2)[1] <= 1
    plan = workload_plan_of(protect(budget=GAUSSIAN), BY_WARD, limits=LIMITS, delta=Fraction(1, 10))
    ((_, measured),) = plan.workloads[0].marginals
    (part,) = measured.parts
    assert (part.cap, part.per_group, part.square, len(part.groups)) == (4, 2, 8, 1)
    one = measured.measures[0]
    assert measured.square(one) == 8 * measured.length * one.row_sensitivity**2


def worst_where(plan: QueryPlan, data: pa.Table, **changed: Any) -> tuple[float, float]:
    """How far units move the sums where rows are bounded otherwise than they are priced."""
    (workload,) = plan.workloads
    parts = tuple(dataclasses.replace(part, **changed) for part in workload.finest.parts)
    wrong = dataclasses.replace(workload, finest=dataclasses.replace(workload.finest, parts=parts))
    plan = dataclasses.replace(plan, workloads=(wrong,))
    found = [moved(protect(data), plan, data.filter(data["id"].to_numpy() != unit)) for unit in range(2)]
    return max(one for own in found for one, _ in own), max(two for own in found for _, two in own)


def test_rows_bounded_in_finer_groups_are_seen() -> None:
    """The planted fault: two rows are kept in each ward and range, and priced as two in each ward."""
    data = pa.table({"id": [at % 2 for at in range(8)], "age": [at // 2 * 6 for at in range(8)], "ward": ["a"] * 8,
                     "pay": [50.0] * 8})  # fmt: skip
    plan = workload_plan_of(protect(data, budget=GAUSSIAN), BY_WARD, limits=LIMITS, delta=Fraction(1, 10))
    assert worst_where(plan, data)[1] <= 1
    assert worst_where(plan, data, bounded_by=None)[1] > 1.3


def test_a_cap_that_holds_in_each_question_is_seen() -> None:
    """The planted fault: twice as many rows are kept as are priced."""
    plan = workload_plan_of(protect(), TENS, limits=Limits(max_rows=3))
    assert worst_where(plan, ROWS, cap=6)[0] > 1


def test_rows_that_no_question_counts_take_no_place() -> None:
    """Every unit has one young row and many old ones, of which one row in all is kept: the young one."""
    data = pa.table({"id": [at % 5 for at in range(50)], "age": [20] * 5 + [60] * 45})
    questions = [f"SELECT COUNT(*) AS n FROM data WHERE age < {k}" for k in (25, 30)]
    session = protect(data, max_rows=1, bounds={"age": (0, 64)}, keys={})
    plan = workload_plan_of(session, questions)
    assert [one.entries[0, 0] for one in tables_of(plan, noisy_of(session, plan, NONE))] == [5, 5]
    assert together(plan) == 2


def test_what_is_kept_of_all_questions_adds_up() -> None:
    """Each unit has two rows, one in each half; one row in all is kept."""
    data = pa.table({"id": [at % 9 for at in range(18)], "age": [20] * 9 + [60] * 9})
    wheres = ("age < 30", "age >= 30", "age >= 0")
    session = protect(data, max_rows=1, bounds={"age": (0, 64)}, keys={})
    plan = workload_plan_of(session, [f"SELECT COUNT(*) AS n FROM data WHERE {one}" for one in wheres])
    young, old, everybody = (one.entries[0, 0] for one in tables_of(plan, noisy_of(session, plan, NONE)))
    assert (young + old, everybody) == (9, 9)


def test_notes_and_plans_say_that_rows_are_kept_for_all_questions() -> None:
    session = protect(max_rows=2)
    asked = dict(zip("abcdefg", TENS, strict=True))
    answer = session.workload(asked, epsilon=1)["a"]
    assert any(
        "first 2 rows that any of the questions measured together counts" in one for one in answer.notes
    )
    sql = (
        "SELECT (SELECT COUNT(*) FROM data WHERE age < 20) / (SELECT COUNT(*) FROM data WHERE age < 40) AS s"
    )
    said = " ".join(str(session.explain(sql, epsilon=1)).replace("│", " ").split())
    assert "at most 2 rows of each id, in all questions measured together" in said
    shown = session.sql(sql, epsilon=1, diagnose=0.2)
    assert len(shown.cut_off) == 1  # of one choice of rows, not one for each sub-query


def test_a_later_question_by_itself_is_not_made_of_rows_kept_for_several() -> None:
    session = protect(max_rows=2)
    session.workload(dict(zip("abcdefg", TENS, strict=True)), epsilon=1)
    before = session.budget.spent
    session.sql(TENS[0], epsilon=1)
    assert session.budget.spent == before + 1


def test_questions_that_bound_rows_otherwise_are_apart() -> None:
    questions = [*BY_WARD[:3], BY_WARD[3].replace("ward, ", "").replace(" GROUP BY ward", "")]
    plan = workload_plan_of(protect(), questions, limits=LIMITS)
    assert together(plan) == 3
    assert together(workload_plan_of(protect(), questions)) == 4


def test_people_who_allow_different_epsilons_are_asked_apart() -> None:
    sql = "SELECT (SELECT COUNT(*) FROM visits WHERE x < 2) - (SELECT COUNT(*) FROM visits WHERE x < 3) AS n"
    assert protected().sql(sql, 1).columns == ["n"]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_data_and_limits(seed: int) -> None:
    random = np.random.default_rng(seed)
    limits = Limits(int(random.integers(1, 7)), int(random.integers(1, 4)), int(random.integers(1, 4)))
    units = 6 if DEEP else 1
    assert max(worst(BY_WARD, limits, bool(seed % 2), rows(seed), units)) <= 1
    assert worst(MIXED, NO_LIMITS, False, rows(seed), units)[0] <= 1
