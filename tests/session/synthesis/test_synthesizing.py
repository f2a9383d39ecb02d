"""Session.synthesize: one charge, the same table again for nothing, no value beyond the policy, on every path."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests import shared

import discreet as dp
from discreet.errors import BudgetExceeded, InvalidParameter, QueryRefused
from discreet.session.analyst import AnalystSession

ROWS = 3000


def people(rows: int = ROWS) -> pa.Table:
    random = np.random.default_rng(2)
    age = random.integers(15, 99, rows)  # some are outside their bounds
    county = np.array(["a", "b", "outside"])[np.minimum(age // 30, 2) - (age > 95)]
    return pa.table(
        {
            "who": np.arange(rows) // 2, "age": age, "pay": pa.array(age * 99.5, mask=random.random(rows) < 0.1),
            "county": pa.array(county.tolist(), mask=random.random(rows) < 0.1),
            "day": [dt.date(2019, 1, 1) + dt.timedelta(days=int(one)) for one in random.integers(0, 900, rows)],
            "ok": pa.array(age > 50, mask=random.random(rows) < 0.2), "name": ["secret"] * rows,
        }
    )  # fmt: skip


PEOPLE = people()


def opened(table: pa.Table | None = None, **more: Any) -> dp.Session:
    return shared.protect(
        PEOPLE if table is None else table, privacy_unit="who", max_rows=2, budget=5, keys={"county": ["a", "b"]},
        bounds={"age": (18, 90), "pay": (0, 5000), "day": (dt.date(2020, 1, 1), dt.date(2020, 12, 31))}, **more,
    )  # fmt: skip


def test_values_are_those_of_the_policy() -> None:
    with opened() as session:
        made = session.synthesize(epsilon=2)
        table = made.to_arrow()
        assert made.columns == ["age", "pay", "county", "day", "ok"]
        assert set(made.left_out) == {"who", "name"}
        ends = {name: pc.min_max(table[name]).as_py() for name in ("age", "pay", "day")}
        assert 18 <= ends["age"]["min"] <= ends["age"]["max"] <= 90
        assert 0 <= ends["pay"]["min"] <= ends["pay"]["max"] <= 5000
        assert dt.date(2020, 1, 1) <= ends["day"]["min"] <= ends["day"]["max"] <= dt.date(2020, 12, 31)
        assert set(table["county"].to_pylist()) <= {"a", "b", None}
        kinds = [pa.int64(), pa.float64(), pa.string(), pa.date32(), pa.bool_()]
        assert table.schema.types == kinds
        assert session.budget.spent == 2


def test_it_is_like_the_table() -> None:
    # At epsilon 200 the noise is a few rows; each bound is ten times as wide as what a run is off by.
    with shared.protect(
        PEOPLE,
        privacy_unit="row",
        budget=500,
        keys={"county": ["a", "b", "outside"]},
        bounds={"age": (15, 99)},
    ) as session:
        frame = session.synthesize(epsilon=200).to_pandas()
        true = PEOPLE.to_pandas()
        assert abs(len(frame) - ROWS) < 60
        assert abs(frame["age"].mean() - true["age"].mean()) < 2
        assert abs(frame["county"].isna().mean() - true["county"].isna().mean()) < 0.03
        young, all_young = frame[frame["county"] == "a"], true[true["county"] == "a"]
        assert abs(young["age"].mean() - all_young["age"].mean()) < 3  # columns that depend on each other


def test_again_is_free_and_the_same() -> None:
    with opened() as session:
        first = session.synthesize("data", 1, columns=["age", "county"])
        again = session.synthesize(like="DATA", epsilon="1.0", columns=["COUNTY", "age"])
        assert again.replayed
        assert again.values.equals(first.values)
        assert again.report == first.report
        assert session.budget.spent == 1
        more = session.synthesize(epsilon=1, columns=["age", "county"], rows=7)
        assert (more.replayed, len(more)) == (True, 7)  # drawn from the same released numbers
        session.synthesize(epsilon=1, columns=["age", "county"], degree=1)
        assert session.budget.spent == 2


def test_a_table_that_another_analyst_bought_is_not_said_to_be_free() -> None:
    with opened() as session:
        ana, ben = (AnalystSession(session, name, 5) for name in ("ana", "ben"))
        told = [one.synthesize(epsilon=1, columns=["age", "county"]).replayed for one in (ana, ben, ben)]
        assert told == [False, False, True]
        assert ben.budget.spent == 1
        assert session.budget.spent == 1


def test_earlier_answers_are_looked_for_beside_a_synthetic_table() -> None:
    with opened() as session:
        session.synthesize(epsilon=1, columns=["ok"], rows=3)
        question = "SELECT COUNT(*) AS n FROM data"
        assert session.preview(question, epsilon=1).epsilon == 1
        assert session.sql(question, within={"n": 10}).epsilon > 0


def test_refused_before_the_charge() -> None:
    with opened() as session:
        wrong: list[dict[str, Any]] = [
            {"rows": 0}, {"rows": 2**30}, {"degree": 4}, {"degree": True}, {"workload": [("age", "name")]},
            {"workload": ["age"]}, {"epsilon": 0}, {"max_rows": 0},
        ]  # fmt: skip
        for given in wrong:
            with pytest.raises(InvalidParameter) as caught:
                session.synthesize(**{"epsilon": 1, **given})
            assert caught.value.charged is None
        with pytest.raises(QueryRefused):
            session.synthesize("nobody", 1)
        with pytest.raises(BudgetExceeded):
            session.synthesize(epsilon=6)
        with pytest.raises(InvalidParameter):
            session.synthesize(epsilon=Fraction(1, 10**25))
        assert session.budget.spent == 0


@pytest.mark.parametrize("rows", [0, 1])
def test_hardly_any_rows(rows: int) -> None:
    with opened(people(5).slice(0, rows)) as session:
        for epsilon in ("0.001", 1):
            made = session.synthesize(epsilon=epsilon)
            assert len(made.columns) == 5
        assert len(session.synthesize(epsilon=1, columns=["age"], rows=3)) == 3


def test_a_workload_decides() -> None:
    with opened() as session:
        made = session.synthesize(epsilon=1, workload=[("age", "county"), ("county", "age", "ok"), ("pay",)])
        found = {tuple(one.columns) for one in made.report.errors if len(one.columns) > 1}
        assert found == {(0, 2), (0, 2, 4)}


def test_max_rows_scales_the_noise() -> None:
    with opened() as session:
        session.synthesize(epsilon=1, max_rows=1, columns=["age"])
        session.synthesize(epsilon=1, columns=["age"])
        assert session.budget.spent == 2  # two questions


def test_the_ledger_says_it() -> None:
    with opened() as session:
        session.synthesize(epsilon=1, columns=["age", "ok"])
        assert (
            "a synthetic table like data, 2 columns, discrete Laplace noise"
            in session.ledger.entries()[0].description
        )


def test_a_preview_reads_and_costs_nothing() -> None:
    """Of one row and of many, and of tables without the values of another: it is the same, and so is the price."""
    seen = []
    for rows in (people(), people(1), people(10).slice(0, 0)):
        with opened(rows) as session:
            seen.append(session.preview_synthesis(epsilon=1, degree=3))
            assert session.budget.spent == 0
            assert not session.ledger.entries()
    assert seen[0] == seen[1] == seen[2]
    assert seen[0].cost == 1
    assert seen[0].left == 4
    assert "name" in seen[0].left_out
    assert len(seen[0].marginals) == 5 + 10 + 10
    assert "nothing was read" in repr(seen[0])


def test_previews_of_gaussian_noise_cost_as_much_as_the_release() -> None:
    budget = dp.Budget(epsilon=5, delta="1e-6", accountant="zcdp")
    bounds = {"age": (18, 90), "pay": (0, 5000), "day": (dt.date(2020, 1, 1), dt.date(2020, 12, 31))}
    given: dict[str, Any] = {"keys": {"county": ["a", "b"]}, "bounds": bounds, "budget": budget}
    with shared.protect(PEOPLE, privacy_unit="who", max_rows=2, **given) as session:
        seen = session.preview_synthesis(epsilon=1, delta="1e-7")
        before = session.budget.left
        session.synthesize(epsilon=1, delta="1e-7", rows=10)
        assert abs(float(before - session.budget.left - seen.cost)) < 1e-9
        assert seen.gaussian


@pytest.mark.parametrize(
    "wrong", [{"degree": 9}, {"table_rows": 0}, {"columns": ["nobody"]}, {"bins": {"age": 0}}]
)
def test_a_preview_refuses_what_the_table_would(wrong: dict[str, Any]) -> None:
    with opened() as session, pytest.raises(InvalidParameter):
        session.preview_synthesis(epsilon=1, **wrong)
