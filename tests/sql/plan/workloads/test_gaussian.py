"""Running totals and ranges with Gaussian noise: where it is taken, its price, its length, its law and its answers."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests import shared
from tests.inside import engine_of, noisy_of, plan_of, workload_plan_of

import discreet as dp
from discreet.ledger import Loss
from discreet.release.gate import event_of
from discreet.sql.lower.run import NoisyIntegers, exact_integers
from discreet.sql.lower.uses import uses_of
from discreet.sql.lower.workloads import of_pieces, tables_of, windows
from discreet.sql.plan.plan import QueryPlan
from discreet.sql.plan.workloads.linear import LinearLaw

DELTA = Fraction(1, 10**3)
DAYS = 40
NONE: Any = lambda _, exact: exact  # noqa: E731  no noise
RANDOM = np.random.default_rng(3)
ROWS = pa.table(
    {"id": np.arange(600) // 3, "day": RANDOM.integers(0, DAYS, 600), "pay": RANDOM.uniform(0, 9, 600)}
)
TOTALS = ", ".join(f"SUM(SUM(pay * {k})) OVER (ORDER BY day) AS t{k}" for k in range(1, 5))
MANY = f"SELECT day, {TOTALS} FROM data GROUP BY day ORDER BY day"
ONE = "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day) AS t FROM data GROUP BY day ORDER BY day"
SUMS = ", ".join(f"SUM(pay * {k}) AS s{k}" for k in range(1, 5))
RANGES = [f"SELECT {SUMS} FROM data WHERE day <= {last}" for last in range(4, 40, 3)]


def protect(rows: pa.Table = ROWS, **more: Any) -> dp.Session:
    declared: dict[str, Any] = {
        "privacy_unit": "id", "max_rows": 3, "bounds": {"day": (0, DAYS - 1), "pay": (0, 9)},
        "budget": dp.Budget(epsilon=1000, delta="1e-1", accountant="zcdp"),
    }  # fmt: skip
    return shared.protect(rows, **declared | more)


def gaussian(plan: QueryPlan) -> list[bool]:
    return [isinstance(one.estimated, LinearLaw) and one.estimated.gaussian for one in plan.releases]


def many(session: dp.Session) -> QueryPlan:
    return plan_of(session, MANY, Fraction(1), delta=DELTA)


def ranges(session: dp.Session) -> QueryPlan:
    return workload_plan_of(session, RANGES, delta=DELTA)


def test_it_is_taken_where_it_errs_less_and_nowhere_else() -> None:
    session = protect()
    assert gaussian(many(session)) == [True]
    assert gaussian(plan_of(session, ONE, Fraction(1), delta=DELTA)) == [False]
    assert all(gaussian(ranges(protect(privacy_unit="row", max_rows=None))))
    assert gaussian(plan_of(session, MANY, Fraction(1))) == [False]
    own, before = (
        many(session).releases[0].estimated,
        plan_of(session, MANY, Fraction(1)).releases[0].estimated,
    )
    assert isinstance(own, LinearLaw)
    assert isinstance(before, LinearLaw)
    assert own.half_width(np.ones(1), 0, 0.95) < 1.02 * before.half_width(np.ones(1), 0, 0.95)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_its_rho_is_the_one_that_epsilon_and_delta_buy(neighbours: str) -> None:
    plan = many(protect(neighbours=neighbours))
    assert (plan.epsilon, plan.delta) == (Fraction(1), DELTA)
    event_of(uses_of(plan.measured), Loss(Fraction(1), DELTA))


def moved(session: dp.Session, plan: QueryPlan, rows: pa.Table) -> list[float]:
    """The squares of the lengths by which the measured sums move between two tables, over the ones allowed."""
    (workload,) = plan.workloads
    ((_, measured),) = workload.marginals
    found = []
    for own in (session, protect(rows)):
        exact = exact_integers(workload.finest, engine_of(own), 7)
        found.append(
            windows(exact, workload.series)
            if workload.series is not None
            else of_pieces(exact, workload.pieces)  # type: ignore[arg-type]
        )
    squares = (found[0] - found[1]).astype(float) ** 2
    return [
        float(squares[:, part].sum() / measured.square(one))
        for part, one in zip(measured.entries, measured.measures, strict=True)
    ]


def worst() -> float:
    """All rows of a unit on one day, or on three, are taken away."""
    session = protect()
    plan = many(session)
    found = []
    for days in ([9, 9, 9], [0, 0, 0], [39, 39, 39], [3, 20, 37]):
        more = pa.table({"id": [999] * 3, "day": days, "pay": [9.0] * 3})
        found += moved(session, plan, pa.concat_tables([ROWS, more]))
    return max(found)


def test_a_neighbour_moves_the_sums_by_the_length_and_no_more() -> None:
    assert 0.9 < worst() <= 1


def test_a_length_of_single_groups_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: weighted sums that are charged as single groups are."""

    def without_length(one: Any, **changes: Any) -> Any:
        changes.pop("length", None)
        return dataclasses.replace(one, **changes)

    monkeypatch.setattr("discreet.sql.plan.workloads.gaussian.replace", without_length)
    assert worst() > 100


@pytest.mark.parametrize("make", [many, ranges], ids=["totals", "ranges"])
def test_answers_are_right_but_for_noise_of_the_foretold_size(make: Any) -> None:
    """150 releases: an interval of 95 % that held in 75 % would be seen, false alarms at 7 standard errors."""
    session = protect() if make is many else protect(privacy_unit="row", max_rows=None)
    plan = make(session)
    (measured,) = plan.measured
    uses = list(uses_of(plan.measured).values())
    exact = noisy_of(session, plan, NONE)[0].entries
    part, law = measured.entries[0], plan.releases[0].estimated
    assert isinstance(law, LinearLaw)

    def first(nodes: Any) -> np.ndarray:
        entries = exact.copy()
        entries[:, part] = nodes
        one = tables_of(plan, [NoisyIntegers(measured, entries)])[0]
        return one.entries[:, part.start] / 2.0 ** (one.places or (0,))[0]

    truth = first(exact[:, part])
    off = np.array([first(uses[0].mechanism.release(exact[:, part])) - truth for _ in range(150)])
    assert np.allclose(truth, exact_integers(plan.releases[0], engine_of(session), 7)[:, 0], atol=0.51)
    assert np.mean(np.abs(off) > law.half_width(np.ones(1), 0, 0.95), axis=0).max() < 0.05 + 7 * 0.018
    spread = law.variance * float(law.scales[0]) ** 2
    assert 0.4 < np.mean(off**2) / spread < 1.8


def test_a_replay_is_free_and_totals_are_sums_of_days() -> None:
    session = protect()
    sql = MANY.replace("SELECT day,", "SELECT day, SUM(pay * 1) AS d,")
    first, again = (session.sql(sql, epsilon=1, delta=DELTA) for _ in range(2))
    table = first.to_pandas()
    assert (first.replayed, again.replayed) == (False, True)
    assert np.allclose(np.cumsum(table["d"]), table["t1"])
    assert "Gaussian noise" in str(session.preview(MANY, epsilon=1, delta=DELTA))
