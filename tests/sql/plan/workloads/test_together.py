"""Which releases are measured together, for which epsilon, and that the gate sees a wrong share."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests import shared
from tests.inside import plan_of

import discreet as dp
from discreet.errors import QueryRefused
from discreet.ledger import Loss
from discreet.planning.marginal_shares import MarginalStrategy, strategy
from discreet.release import gate
from discreet.release.plan import ReleasePlan
from discreet.sql.lower.uses import uses_of
from discreet.sql.plan.plan import QueryPlan

RANDOM = np.random.default_rng(6)
ROWS = pa.table(
    {
        "id": RANDOM.integers(0, 150, 400),
        "sex": RANDOM.choice(["f", "m", "x"], 400),
        "age": RANDOM.integers(0, 16, 400),
        "pay": RANDOM.uniform(0, 50, 400),
        "ward": RANDOM.choice(["a", "b"], 400),
    }
)
CUBE = "SELECT sex, age, COUNT(*) AS n FROM data GROUP BY CUBE (sex, age)"
ROLLUP = "SELECT sex, age, COUNT(*) AS n, AVG(pay) AS p FROM data GROUP BY ROLLUP (sex, age)"
BRANCHES = "SELECT 'all' AS k, COUNT(*) AS n FROM data UNION ALL SELECT sex, COUNT(*) FROM data GROUP BY sex"

PARTED = (
    "SELECT sex, COUNT(*) FILTER (WHERE pay < 9) AS a, COUNT(*) FILTER (WHERE pay >= 9) AS b FROM data "
    "GROUP BY CUBE (sex, age)"
)
"""No row is in both counts, so that they cost epsilon once."""
SEVERAL = "SELECT sex, AVG(pay) AS p, VARIANCE(age) AS v, CORR(pay, age) AS c FROM data GROUP BY CUBE (sex)"
RELEASE: Any = ReleasePlan("q", "q", Loss(Fraction(1)), {}, lambda draw: None, lambda noisy: (None, b""))
"""A plan whose uses and loss a test puts in."""


@pytest.fixture(scope="module")
def session() -> dp.Session:
    return protect()


def protect(**more: Any) -> dp.Session:
    declared: dict[str, Any] = {
        "privacy_unit": "id", "max_rows": 3, "bounds": {"age": (0, 15), "pay": (0, 50)}, "keys": {"sex": ["f", "m"]},
        "budget": dp.Budget(epsilon=1000, delta="1e-3"),
    }  # fmt: skip
    return shared.protect(ROWS, **declared | more)


def plan(session: dp.Session, sql: str, epsilon: Fraction = Fraction(1), **more: Any) -> QueryPlan:
    return plan_of(session, sql, epsilon, **more)


@pytest.mark.parametrize("sql", [CUBE, ROLLUP, BRANCHES, PARTED, SEVERAL])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_the_marginals_cost_the_epsilon_of_the_question(sql: str, neighbours: Any) -> None:
    with protect(neighbours=neighbours) as own:
        found = plan(own, sql, Fraction(3, 10))
        assert len(found.workloads) == 1
        assert found.epsilon == Fraction(3, 10)
        uses = uses_of(found.measured)
        checked = dataclasses.replace(RELEASE, uses=uses, loss=Loss(Fraction(3, 10)))
        gate.see_loss(checked, neighbours)


def test_a_wrong_share_is_found_and_nothing_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    true = strategy

    def wrong(*given: Any, **more: Any) -> MarginalStrategy:
        found = true(*given, **more)
        (keys, share), *rest = found.shares
        return dataclasses.replace(found, shares=((keys, share * Fraction(11, 10)), *rest))

    monkeypatch.setattr("discreet.sql.plan.workloads.together.strategy", wrong)
    with protect() as own:
        for sql in (CUBE, ROLLUP, BRANCHES):
            with pytest.raises(QueryRefused, match="does not add up"):
                own.sql(sql, epsilon=1)
        assert own.budget.spent == 0


def test_a_marginal_has_the_sensitivity_and_the_scale_of_its_share(session: dp.Session) -> None:
    (workload,) = plan(session, ROLLUP).workloads
    for _, marginal in workload.marginals:
        for index, measure in enumerate(marginal.measures):
            assert marginal.sensitivity(measure) == 3 * measure.row_sensitivity
            assert marginal.scale(index) == marginal.sensitivity(measure) / marginal.shares[index]
    assert len({marginal.measures for _, marginal in workload.marginals}) == 1


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sex, COUNT(DISTINCT id) AS n FROM data GROUP BY ROLLUP (sex)",
        "SELECT sex, MEDIAN(pay) AS m FROM data GROUP BY ROLLUP (sex)",
        "SELECT age // 4 AS g, age, COUNT(*) AS n FROM data GROUP BY CUBE (g, age)",
        "SELECT 'all' AS k, COUNT(*) AS n FROM data WHERE pay<age UNION ALL SELECT sex, COUNT(*) FROM data GROUP BY 1",
        "SELECT 'all' AS k, SUM(pay) AS n FROM data UNION ALL SELECT sex, COUNT(*) FROM data GROUP BY sex",
        "SELECT COUNT(*) AS n FROM data WHERE age < (SELECT AVG(age) FROM data)",
        "SELECT sex, COUNT(*) AS n FROM data GROUP BY sex",
    ],
)
def test_others_are_measured_by_themselves(session: dp.Session, sql: str) -> None:
    found = plan(session, sql)
    assert not found.workloads
    assert found.measured == found.releases


def test_groups_that_must_be_found_are_measured_by_themselves(session: dp.Session) -> None:
    sql = "SELECT ward, sex, COUNT(*) AS n FROM data GROUP BY ROLLUP (ward, sex)"
    found = plan(session, sql, delta=Fraction(1, 10**4))
    assert all(release.estimated is None for release in found.releases if release.discovery is not None)


def test_the_same_strategy_at_each_epsilon(session: dp.Session) -> None:
    strategies = [
        plan(session, CUBE, epsilon).releases[0].estimated.strategy  # type: ignore[union-attr]
        for epsilon in (Fraction(1, 10), Fraction(7))
    ]
    assert strategies[0] == strategies[1]
