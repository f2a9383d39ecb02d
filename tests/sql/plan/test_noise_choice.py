"""Gaussian noise where it errs less, and nowhere else; its price is what the ledger adds up, and the gate sees it."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests import inside, shared

import discreet as dp
from discreet.accounting.event_text import read
from discreet.accounting.events import Converted
from discreet.accounting.gaussian import gdp
from discreet.accounting.gaussian.gdp import GDP, gdp_of, smoothing
from discreet.accounting.pricing import rho_of, zcdp_of
from discreet.accounting.zcdp import ZCDP
from discreet.errors import InvalidParameter, QueryRefused
from discreet.ledger import Loss
from discreet.mechanisms import GaussianVector
from discreet.release.gate import event_of
from discreet.sql.lower.uses import uses_of
from discreet.sql.plan import noise_choice
from discreet.sql.plan.limits import Limits
from discreet.sql.plan.plan import PlannedRelease, QueryPlan

DELTA = Fraction(1, 10**9)
WARDS = 400
PEOPLE = "SELECT w, COUNT(DISTINCT id) AS n FROM v GROUP BY w"
ROWS = "SELECT w, COUNT(*) AS n, AVG(x) AS a, SUM(x) AS s FROM v GROUP BY w"


def protect(accountant: str = "zcdp", neighbours: str = "add_remove", **more: Any) -> dp.Session:
    people = np.repeat(np.arange(60), 40)
    rows = {"id": people, "w": (people * 7 + np.tile(np.arange(40), 60)) % WARDS, "x": people % 100 * 1.0}
    budget = dp.Budget(epsilon=100, delta="1e-6", accountant=accountant)
    bounds = {"w": (0, WARDS - 1), "x": (0, 100)}
    return shared.protect({"v": pa.table(rows)}, privacy_unit="id", max_rows=40, bounds=bounds, budget=budget,
                      neighbours=neighbours, **more)  # fmt: skip


@pytest.fixture(scope="module")
def session() -> dp.Session:
    return protect()


def planned(session: dp.Session, sql: str, epsilon: Any = 1, **more: Any) -> QueryPlan:
    return inside.plan_of(session, sql, Fraction(epsilon), **{"delta": DELTA, **more})


def limits(**given: int) -> dict[str, Any]:
    return {"limits": Limits(**given)}


def error(plan: QueryPlan, index: int = 0) -> float:
    """The variance of the noise on an integer of a measure, in rows."""
    release = plan.releases[0]
    own = release.gaussian(index)
    variance = 2 * release.scale(index) ** 2 if own is None else own
    return float(variance) / release.measures[index].row_sensitivity ** 2


@pytest.mark.parametrize("groups", [1, 10, 50, 200])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(5)])
def test_the_choice_errs_as_little_as_the_better_noise(
    session: dp.Session, groups: int, epsilon: Fraction
) -> None:
    plan = planned(session, PEOPLE, epsilon, **limits(max_groups=groups))
    loss = Loss(epsilon, DELTA)
    laplace = 2 * (groups / float(epsilon)) ** 2
    converted = groups / (2 * float(ZCDP.bought(loss).rho))
    curve = groups / float(GDP.bought(loss).square) + float(smoothing(groups))
    assert error(plan) <= (1 + 1e-9) * min(laplace, converted, curve)
    assert plan.delta == (DELTA if min(converted, curve) < laplace else 0)


def test_with_a_large_epsilon_the_conversion_errs_less_than_the_curve(session: dp.Session) -> None:
    """Normal noise would have a variance of two steps, to which the smoothing adds another one."""
    plan = planned(session, PEOPLE, 30, **limits(max_groups=40))
    event = event_of(uses_of(plan.measured), Loss(30, DELTA))
    assert rho_of(event) == ZCDP.bought(Loss(30, DELTA)).rho


def test_many_columns_take_it_for_one_group(session: dp.Session) -> None:
    columns = [f"COUNT(*) FILTER (WHERE x < {k}) AS n{k}" for k in range(1, 41)]
    for many, gaussian in ((2, False), (40, True)):
        sql = f"SELECT {', '.join(columns[:many])} FROM v"
        plan = planned(session, sql, **limits(max_rows=1))
        assert (plan.delta > 0) is gaussian
        assert plan.epsilon == 1
        event = event_of(uses_of(plan.measured), Loss(plan.epsilon, plan.delta))
        assert isinstance(event, Converted) is gaussian
        if isinstance(event, Converted):
            assert gdp_of(event.event) == GDP.bought(Loss(1, DELTA), 40)
            # The ledger adds up the rho that the noise has, not the one that its loss would buy.
            assert zcdp_of(event).rho > ZCDP.bought(Loss(1, DELTA)).rho


def test_the_bound_in_a_group_is_what_makes_it_pay_for_rows(session: dp.Session) -> None:
    assert not planned(session, ROWS).delta
    plan = planned(session, ROWS, **limits(max_rows_per_group=1))
    release = plan.releases[0]
    assert plan.delta == DELTA
    measure = release.measures[0]
    assert release.square(measure) == 40 * measure.row_sensitivity**2
    assert release.sensitivity(measure) == 40 * measure.row_sensitivity
    two = planned(session, ROWS, **limits(max_rows_per_group=2, max_groups=15)).releases[0]
    assert (two.parts[0].cap, two.parts[0].square) == (30, 60)
    uneven = planned(session, ROWS, **limits(max_rows_per_group=3)).releases[0].parts[0]
    assert uneven.square == 13 * 9 + 1


@pytest.mark.parametrize("name", ["replace_one", "add_remove"])
def test_the_steward_may_state_the_bound(name: str, tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(
        f"""
        neighbours = "{name}"
        [budget]
        epsilon = 10
        delta = 1e-6
        accountant = "pld"
        [tables.v]
        privacy_unit = "id"
        max_rows = 40
        max_rows_per_group = 1
        [tables.v.columns]
        w = {{ bounds = [0, {WARDS - 1}] }}
        x = {{ bounds = [0, 100] }}
        """
    )
    policy = dp.Policy.from_toml(path)
    path.write_text(policy.to_toml())
    assert dp.Policy.from_toml(path) == policy
    assert "40 of its rows, 1 in one group" in str(policy.lines())
    session = shared.protect({"v": pa.table({"id": [1], "w": [2], "x": [3.0]})}, policy=policy)
    release = planned(session, ROWS).releases[0]
    measure = release.measures[0]
    both = 2 if name == "replace_one" else 1
    assert release.square(measure) == both * 40 * measure.row_sensitivity**2
    assert planned(session, ROWS, **limits(max_rows_per_group=40)).releases[0].parts[0].per_group is None


def test_nobody_else_is_given_it(session: dp.Session) -> None:
    assert planned(session, PEOPLE).delta
    assert not planned(session, PEOPLE, delta=Fraction(0)).delta
    assert not planned(protect("pure"), PEOPLE).delta
    quantile = planned(session, "SELECT w, MEDIAN(x) AS m FROM v GROUP BY w")
    assert not quantile.delta
    rollup = planned(
        session, "SELECT w, COUNT(*) AS n FROM v GROUP BY ROLLUP (w)", **limits(max_rows_per_group=1)
    )
    assert not rollup.delta
    found = "SELECT id % 3 AS k, COUNT(DISTINCT id) AS n FROM v GROUP BY 1"
    assert not any(release.rhos for release in planned(session, found).releases)


def test_a_mixed_question_is_charged_exactly_what_it_was_told() -> None:
    session = protect()
    sql = f"{PEOPLE[: -len(' FROM v GROUP BY w')]}, MEDIAN(x) AS m FROM v GROUP BY w"
    plan = planned(session, sql)
    kinds = [isinstance(use.mechanism, GaussianVector) for use in uses_of(plan.measured).values()]
    assert sorted(kinds) == [False, True]
    preview = session.preview(sql, epsilon=1, delta=DELTA)
    answer = session.sql(sql, epsilon=1, delta=DELTA)
    assert Loss(answer.epsilon, answer.delta) == Loss(1, DELTA)
    (charge,) = (one for one in inside.ledger_of(session).entries() if one.kind == "charge")
    assert charge.postings[0].loss == Loss(1, DELTA)
    event = read(charge.event)
    assert charge.postings[0].squares == pytest.approx(2 * zcdp_of(event).rho, abs=1e-40)
    assert "DiscreteGaussianNoise" in charge.event
    assert preview.cost == session.budget.spent <= 1
    assert inside.ledger_of(session).verify() == 2
    assert session.sql(sql, epsilon=1, delta=DELTA).replayed
    assert "Gaussian noise" in repr(session.preview(sql, epsilon=1, delta=DELTA))
    assert "rho" in repr(session.explain(sql, epsilon=1, delta=DELTA))


@pytest.mark.parametrize("fault", [Fraction(99, 100), Fraction(101, 100)])
def test_a_wrong_sigma_is_refused_before_the_charge(fault: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    session, right = protect(), PlannedRelease.gaussian
    monkeypatch.setattr(PlannedRelease, "gaussian", lambda *args: (right(*args) or 0) * fault or None)
    with pytest.raises(QueryRefused, match="does not add up"):
        session.sql(PEOPLE, epsilon=1, delta=DELTA)
    assert not session.budget.spent


def test_a_rho_that_the_loss_does_not_buy_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    session, right = protect(), noise_choice._best
    monkeypatch.setattr(
        noise_choice, "_best", lambda *args: ({at: 2 * rho for at, rho in right(*args)[0].items()}, True)
    )
    with pytest.raises(QueryRefused, match="does not add up"):
        session.sql(PEOPLE, epsilon=1, delta=DELTA)
    assert not session.budget.spent


def test_noise_without_its_smoothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: discrete noise of the variance that only normal noise may have."""
    session = protect()
    monkeypatch.setattr(gdp, "smoothing", lambda square: Fraction(0))
    plan = planned(session, PEOPLE)
    monkeypatch.undo()
    with pytest.raises(InvalidParameter, match="not the one"):
        event_of(uses_of(plan.measured), Loss(1, DELTA))


def test_what_cannot_be_measured_is_refused(session: dp.Session) -> None:
    with pytest.raises(InvalidParameter, match="max_rows_per_group"):
        session.sql(ROWS, epsilon=1, max_rows_per_group=1, diagnose="0.1")
    assert not session.budget.spent


def test_a_workload_shares_one_rho(session: dp.Session) -> None:
    asked = {f"q{k}": f"SELECT COUNT(*) AS n FROM v WHERE x < w * {k}" for k in range(1, 61)}
    whole = inside.workload_plan_of(session, list(asked.values()), delta=DELTA, **limits(max_rows=1))
    own = [release.gaussian(0) for release in whole.releases]
    square = GDP.bought(Loss(1, DELTA), 60).square
    assert {float(one or 0) for one in own} == {float(60 / square + smoothing(1))}
    assert math.sqrt(float(own[0] or 0)) < math.sqrt(2) * 60  # Laplace noise of epsilon 1/60 each
