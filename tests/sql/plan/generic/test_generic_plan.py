"""A plan that is made of a generic one is the plan that its statement has by itself, at each of its prices."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from tests import inside
from tests.depth import examples
from tests.sql.fuzz import bench
from tests.sql.plan.generic.test_generic_reading import ordinary, whole

from discreet.errors import InvalidParameter, QueryRefused
from discreet.sql.algebra.relation import Select
from discreet.sql.dialects import named
from discreet.sql.expressions.expression import Expression, spell
from discreet.sql.lower.uses import uses_of
from discreet.sql.plan import planner, reading
from discreet.sql.plan.generic import generic_plan
from discreet.sql.plan.generic.generic_plan import (
    GENERIC_FACTS,
    for_all_arguments,
    generic_release,
    origin_of,
)
from discreet.sql.plan.generic.generic_reading import Arguments
from discreet.sql.plan.limits import Limits
from discreet.sql.plan.plan import PlannedRelease
from discreet.sql.syntax.parameters.parameter_node import ValueNeededError

PRICES: tuple[dict[str, Any], ...] = (
    {"epsilon": Fraction(1)}, {"epsilon": Fraction(1, 7)}, {"epsilon": Fraction(1), "delta": Fraction(1, 10**6)},
    {"epsilon": Fraction(1), "limits": Limits(max_rows=2)},
    {"epsilon": Fraction(1), "emphasis": (("n", Fraction(3)),)},
)  # fmt: skip


def planned(text: str, price: dict[str, Any], known: reading.Readings | None) -> tuple[Any, int]:
    """All of a plan and its uses, or all that a refusal says; and how many of its releases have an origin."""
    try:
        plan = planner.plan(text, inside.catalog_of(bench.bench().session), known=known, **price)
    except (QueryRefused, InvalidParameter) as error:
        return str(error), 0
    scales = [[one.scale(at) for at in range(len(one.measures))] for one in plan.measured]
    facts = [[getattr(one, name) for name in GENERIC_FACTS] for one in plan.measured]
    found = (
        whole(plan),
        uses_of(plan.whole.measured),
        [generic_release(one).scales for one in plan.measured],
        scales,
        facts,
    )
    return found, sum(origin_of(one) is not None for one in plan.releases)


def compared(seeds: range) -> int:
    """Compare plans at several prices, by turns; how many releases have an origin."""
    used = 0
    for seed in seeds:
        rng = random.Random(seed)
        asked, known = ordinary(rng), reading.Readings()
        alone = cache(lambda text, at: planned(text, PRICES[at], None)[0])
        for text in (*asked[:2], *asked):
            for at in rng.sample(range(len(PRICES)), 2) * 2:
                found, origins = planned(text, PRICES[at], known)
                used += origins
                assert found == alone(text, at), (text, PRICES[at])
    return used


def test_a_plan_of_a_generic_one_is_the_plan_of_its_statement() -> None:
    many = examples(3, 400)
    assert compared(range(many)) > 5 * many


def planted(fault: str, patch: pytest.MonkeyPatch) -> None:
    once = generic_plan.planned_once
    if fault == "a price is passed over":
        patch.setattr(planner, "planned_once", lambda one, key, make: once(one, key[1:], make))
    if fault == "a fact is one that arguments decide":
        patch.setattr(generic_plan, "GENERIC_FACTS", (*GENERIC_FACTS, "parts"))
    if fault == "the first arguments stay":
        right = generic_plan._with_arguments
        kept: dict[int, Arguments] = {}
        patch.setattr(
            generic_plan,
            "_with_arguments",
            lambda plan, builders, arguments: right(plan, builders, kept.setdefault(id(plan), arguments)),
        )


@pytest.mark.parametrize(
    "fault", ["a price is passed over", "the first arguments stay", "a fact is one that arguments decide"]
)
def test_the_plan_of_another_statement_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    planted(fault, monkeypatch)
    with pytest.raises((AssertionError, ValueNeededError)):
        compared(range(20))


def test_a_release_that_is_changed_has_no_origin() -> None:
    """A release whose groups were found, or that is narrowed otherwise, is no longer that of a generic plan."""
    known, catalog = reading.Readings(), inside.catalog_of(bench.bench().session)
    texts = [f"SELECT sex, COUNT(*) AS n FROM t WHERE y < {at} GROUP BY sex" for at in range(3, 9)]
    plans = [planner.plan(text, catalog, Fraction(1), known=known) for text in texts]
    (release,) = plans[-1].releases
    assert origin_of(release) is not None
    assert generic_release(release) is not release
    changed = replace(release, name="other")
    assert origin_of(changed) is None
    assert generic_release(changed) is changed


def test_a_thing_that_no_argument_decides_is_made_once_and_others_once_for_each_statement() -> None:
    known, catalog = reading.Readings(), inside.catalog_of(bench.bench().session)
    texts = [f"SELECT sex, COUNT(*) AS n FROM t WHERE y < {at} GROUP BY sex" for at in range(3, 9)]
    releases = [planner.plan(text, catalog, Fraction(1), known=known).releases[0] for text in texts]
    templated = [release for release in releases if origin_of(release) is not None]
    assert len(templated) > 2
    made: list[object] = []

    def of_all(release: PlannedRelease) -> int:
        made.append(release)
        return len(release.keys)

    def of_each(release: PlannedRelease) -> str:
        made.append(release)
        return spell(conditions(release), named("duckdb"))

    def conditions(release: PlannedRelease) -> Expression:
        relation = release.parts[0].rows.relation
        assert isinstance(relation, Select)
        assert relation.where is not None
        return relation.where

    assert {for_all_arguments(release, "keys", of_all) for release in templated} == {1}
    assert made == [generic_release(templated[0])]
    made.clear()
    assert len({for_all_arguments(release, "where", of_each) for release in templated}) == len(templated)
    assert made == [generic_release(templated[0]), *templated]


def test_no_more_than_so_many_things_are_kept_beside_a_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their names hold numbers that analysts choose."""
    plan = planner.plan("SELECT COUNT(*) AS n FROM t", inside.catalog_of(bench.bench().session), Fraction(1))
    (release,) = plan.releases
    before = len(release.memo)
    monkeypatch.setattr(generic_plan, "MOST_FACTS", before + 2)
    for _ in range(2):
        for at in range(5):
            assert for_all_arguments(release, f"errors for {at} rows", lambda _, at=at: at) == at  # type: ignore[misc]
        assert len(release.memo) == before + 2


def test_tables_that_are_measured_together_are_planned_for_each_statement() -> None:
    known = reading.Readings()
    for at in (3, 4, 5, 6):
        text = f"SELECT sex, city, COUNT(*) AS n FROM t WHERE z < {at} GROUP BY ROLLUP (sex, city)"
        plan = planner.plan(text, inside.catalog_of(bench.bench().session), Fraction(1), known=known)
        assert plan.workloads
        assert not any(origin_of(release) for release in plan.releases)
        assert planned(text, PRICES[0], known) == planned(text, PRICES[0], None)


def test_few_plans_of_a_reading_are_kept() -> None:
    known, catalog = reading.Readings(), inside.catalog_of(bench.bench().session)
    for at in range(3, 20):
        text = f"SELECT sex, COUNT(*) AS n FROM t WHERE z < {at} GROUP BY sex"
        planner.plan(text, catalog, Fraction(1, at), known=known)
    (generics,) = known.templates.values()
    (generic,) = generics._readings
    assert 0 < len(generic.plans) <= generic_plan.MOST_PLANS
