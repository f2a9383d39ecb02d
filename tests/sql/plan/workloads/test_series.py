"""Tables whose running totals are asked for: their price, their sensitivity, their agreement, and their law."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests import shared
from tests.depth import examples
from tests.inside import engine_of, plan_of

import discreet as dp
from discreet.ledger import Loss
from discreet.planning.ranges.factors import WHOLE_WEIGHT
from discreet.release import gate
from discreet.release.plan import ReleasePlan
from discreet.sql.lower.run import exact_integers
from discreet.sql.lower.uses import uses_of
from discreet.sql.lower.workloads import windows
from discreet.sql.plan.plan import QueryPlan

DAYS = 100
RUNNING = "SELECT day, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY day) AS total FROM data GROUP BY day ORDER BY day"
BY_SEX = (
    "WITH d AS (SELECT sex, day, COUNT(*) AS n, SUM(pay) AS p FROM data GROUP BY sex, day) SELECT sex, day, "
    "SUM(n) OVER w AS total, SUM(p) OVER w AS paid FROM d WINDOW w AS (PARTITION BY sex ORDER BY day) ORDER BY ALL"
)
RELEASE: Any = ReleasePlan("q", "q", Loss(Fraction(1)), {}, lambda draw: None, lambda noisy: (None, b""))
RANDOM = np.random.default_rng(8)
ROWS = pa.table(
    {
        "id": RANDOM.integers(0, 200, 900),
        "day": RANDOM.integers(0, DAYS, 900),
        "sex": RANDOM.choice(["m", "f"], 900),
        "pay": RANDOM.uniform(0, 50, 900),
    }
)


def protect(rows: pa.Table = ROWS, **more: Any) -> dp.Session:
    declared: dict[str, Any] = {
        "privacy_unit": "id", "max_rows": 3, "bounds": {"day": (0, DAYS - 1), "pay": (0, 50)},
        "keys": {"sex": ["m", "f"]}, "budget": 10_000,
    }  # fmt: skip
    return shared.protect(rows, **declared | more)


def planned(sql: str, **more: Any) -> QueryPlan:
    plan = plan_of(protect(**more), sql, Fraction(1))
    assert plan.workloads
    return plan


@pytest.mark.parametrize("sql", [RUNNING, BY_SEX])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_the_uses_cost_the_epsilon_and_no_more(sql: str, neighbours: str) -> None:
    plan = planned(sql, neighbours=neighbours)
    (measured,) = plan.measured
    assert plan.epsilon == 1
    assert measured.times == WHOLE_WEIGHT
    assert measured.cells == plan.workloads[0].series.factors.nodes * (2 if sql == BY_SEX else 1)  # type: ignore[union-attr]
    gate.see_loss(dataclasses.replace(RELEASE, uses=uses_of(plan.measured)), neighbours)


@pytest.mark.parametrize("sql", [RUNNING, BY_SEX])
def test_a_neighbour_moves_the_sums_by_no_more_than_the_sensitivity(sql: str) -> None:
    assert 0.2 < largest(sql) <= 1  # so a sensitivity that is five times too small would be seen


def test_a_sensitivity_without_the_weights_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: windows that are charged as single groups are."""
    monkeypatch.setattr("discreet.sql.plan.workloads.series.replace", _without_times)
    assert largest(RUNNING) > 20


def _without_times(one: Any, **changes: Any) -> Any:
    changes.pop("times", None)
    return dataclasses.replace(one, **changes)


def largest(sql: str) -> float:
    """How much of the sensitivity a unit moves that is taken away, at most; three rows of each unit count."""
    (workload,) = planned(sql).workloads
    ((_, measured),) = workload.marginals
    allowed = [measured.sensitivity(one) for one in measured.measures]

    def sums(rows: pa.Table) -> np.ndarray:
        assert workload.series is not None
        return windows(exact_integers(workload.finest, engine_of(protect(rows)), 7), workload.series)

    whole, found = sums(ROWS), []
    for unit in range(examples(3, 6)):
        moved = np.abs(whole - sums(ROWS.filter(np.asarray(ROWS["id"]) != unit)))
        found += [moved[:, part].sum() / most for part, most in zip(measured.entries, allowed, strict=True)]
    return float(max(found))


def test_a_replay_is_the_same_and_free_and_totals_are_the_sums_of_the_shown_days() -> None:
    session = protect()
    first, again = (session.sql(RUNNING, epsilon=1) for _ in range(2))
    assert (first.replayed, again.replayed) == (False, True)
    table = first.to_pandas()
    assert table.iloc[:, :3].equals(again.to_pandas().iloc[:, :3])
    assert session.budget.spent == 1
    assert len(table) == DAYS
    assert np.array_equal(np.cumsum(table["n"]), table["total"])


def test_answers_are_right_with_hardly_any_noise() -> None:
    data = ROWS.set_column(0, "id", pa.array(range(len(ROWS))))  # no row of anybody is dropped
    shuffled = protect(data, keys={"sex": ["f", "m"]}, budget=10**9).sql(BY_SEX, epsilon=10**5).to_pandas()
    truth = ROWS.to_pandas().groupby(["sex", "day"]).agg(n=("pay", "size"), p=("pay", "sum"))
    every = truth.reindex([(sex, day) for sex in ("f", "m") for day in range(DAYS)], fill_value=0)
    sums = every.groupby("sex").cumsum()
    assert np.allclose(shuffled["total"], sums["n"], atol=0.1)
    assert np.allclose(shuffled["paid"], sums["p"], atol=2)


def test_keys_in_another_order_and_null_are_put_in_order() -> None:
    data = pa.table({"k": [None, "b", "a", "c"] * 3})
    listed = [
        "z",
        "c",
        "a",
        "b",
        "d",
        "e",
        "f",
        "g",
        "h",
        "i",
        "j",
        "k",
        "l",
        "m",
        "n",
        "o",
        "p",
        "q",
        "r",
        "s",
        "t",
        "u",
    ]
    session = shared.protect(data, privacy_unit="row", keys={"k": listed}, budget=10**9)
    sql = "SELECT k, SUM(COUNT(*)) OVER (ORDER BY k) AS total FROM data GROUP BY k ORDER BY k"
    assert plan_of(session, sql, Fraction(1)).workloads
    found = session.sql(sql, epsilon=10**5).to_pandas()
    assert np.allclose(found["total"][:3], [3, 6, 9], atol=0.2)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT day, SUM(COUNT(DISTINCT id)) OVER (ORDER BY day) AS t FROM data GROUP BY day",
        "SELECT day, SUM(MEDIAN(pay)) OVER (ORDER BY day) AS t FROM data GROUP BY day",
        "SELECT sex, SUM(COUNT(*)) OVER (ORDER BY sex) AS t FROM data GROUP BY sex",
        "SELECT day, COUNT(*) AS n FROM data GROUP BY day",
    ],
)
def test_others_are_measured_by_group(sql: str) -> None:
    assert not plan_of(protect(), sql, Fraction(1)).workloads


def test_explain_names_the_windows_and_the_saving() -> None:
    session = protect()
    said = str(session.explain(RUNNING, epsilon=1)), str(session.preview(RUNNING, epsilon=1))
    assert all("sums along day, estimated from each group and smooth windows" in text for text in said)
    assert all("running totals" in text and "instead of" in text for text in said)
