"""Models from tables of sessions: near those from arrays, and charged to the session."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("sklearn")

import discreet as dp
from discreet.errors import DiscreetError, InvalidParameter
from discreet.learning import (
    PCA,
    GaussianNB,
    KMeans,
    LearningBudget,
    LinearRegression,
    LogisticRegression,
    fit_table,
)
from discreet.learning.models.tables import literal, moved_sql
from tests import servers, shared

RNG = np.random.default_rng(3)
ROWS = 12_000
AGE, YEARS = RNG.uniform(18, 90, ROWS), RNG.uniform(0, 20, ROWS)
PAY = 20 + 0.3 * AGE + 2 * YEARS + RNG.normal(0, 3, ROWS)
BOUNDS = [(18, 90), (0, 20)]
NAMES = ["age", "years"]


def session(**more: Any) -> dp.Session:
    table = pa.table(
        {
            "id": np.arange(ROWS) // 2,
            "age": AGE,
            "years": YEARS,
            "pay": PAY,
            "rich": np.where(PAY > 55, "yes", "no"),
        }
    )
    return shared.protect(
        table,
        privacy_unit="id",
        max_rows=2,
        bounds={"age": (18, 90), "years": (0, 20), "pay": (0, 100)},
        keys={"rich": ["yes", "no"]},
        budget=100,
        **more,
    )


def test_a_line_from_a_table_is_that_from_arrays() -> None:
    """At epsilon 50 the noise on a sum of products is some rows of 12,000; slopes within 0.05 and 0.2."""
    people = session()
    made = LinearRegression(50, bounds=BOUNDS, target_bounds=(0, 100))
    fit_table(made, people, "data", features=NAMES, target="pay")
    assert abs(made.coef_[0] - 0.3) < 0.05
    assert abs(made.coef_[1] - 2) < 0.2
    assert people.budget.spent == 50
    low, high = made.intervals().T
    assert (low < high).all()
    assert made.predict(np.array([[40.0, 10.0]])).shape == (1,)


def fitted_on(engine: dp.Session, table: str, epsilon: int = 500) -> LinearRegression:
    made = LinearRegression(epsilon, bounds=BOUNDS, target_bounds=(0, 100))
    return fit_table(made, engine, table, features=NAMES, target="pay")


def people_of(rows: int) -> tuple[pa.Table, dict[str, Any]]:
    """Some people, one of whom has no age, and their policy."""
    ages = pa.array(AGE[:rows], mask=np.arange(rows) == 3)
    table = pa.table({"id": np.arange(rows) // 2, "age": ages, "years": YEARS[:rows], "pay": PAY[:rows]})
    bounds = {"age": (18, 90), "years": (0, 20), "pay": (0, 100)}
    return table, {
        "privacy_unit": "id",
        "max_rows": 2,
        "bounds": bounds,
        "budget": 1000,
        "ledger": ":memory:",
    }


def near(found: LinearRegression) -> None:
    """At epsilon 500 noise on the sums of 1,500 rows is far below a row: slopes are those of all engines."""
    assert abs(found.coef_[0] - 0.3) < 0.1
    assert abs(found.coef_[1] - 2) < 0.4
    assert np.isfinite(found.intervals()).all()


@pytest.mark.skipif("DISCREET_DEEP" not in os.environ, reason="deep: a Spark session takes long")
def test_spark_adds_up_the_same() -> None:
    table, policy = people_of(1500)
    frame = servers.spark().createDataFrame(table.to_pylist())
    with dp.protect(frame, **policy) as there:
        near(fitted_on(there, "data"))


def test_postgresql_and_clickhouse_add_up_the_same() -> None:
    table, policy = people_of(1500)
    servers.load(servers.postgres(), "learned", {"people": table})
    with dp.protect(servers.postgres(), table="learned.people", **policy) as there:
        near(fitted_on(there, "people"))
        assert there.budget.spent == 500
    servers.load_clickhouse("learned", {"people": table})
    with dp.protect(servers.clickhouse(), table="learned.people", **policy) as there:
        near(fitted_on(there, "people"))


def test_a_budget_for_the_moments_alone_leaves_no_ends() -> None:
    table, policy = people_of(1500)
    with shared.protect(table, **{**policy, "budget": 450}) as here:
        made = fitted_on(here, "data")
        assert here.budget.spent == 400
        assert not np.isfinite(made.intervals()).any()


def test_leftovers_of_people_with_several_rows_count_for_as_many() -> None:
    """The same rows, of people with one row and with two at most: variances are twice as large."""
    table, policy = people_of(1500)
    found = []
    for rows in (1, 2):
        with shared.protect(
            table.set_column(0, "id", pa.array(np.arange(1500))),
            **{**policy, "max_rows": rows, "budget": 50_000},
        ) as one:
            moments = fitted_on(one, "data", 50_000)._line.moments
            assert moments is not None
            found.append(moments.variances)
    assert np.abs(found[1] / found[0] - 2).max() < 0.1


def test_classes_and_components_from_a_table() -> None:
    people = session()
    rows, rich = np.column_stack([AGE, YEARS]), np.where(PAY > 55, "yes", "no")
    for made in (
        LogisticRegression(20, bounds=BOUNDS, classes=("no", "yes")),
        GaussianNB(20, bounds=BOUNDS, classes=("no", "yes")),
    ):
        fit_table(made, people, "data", features=NAMES, target="rich")
        assert made.score(rows, rich) > 0.85
    axes = fit_table(PCA(1, epsilon=20, bounds=BOUNDS), people, "data", features=NAMES)
    assert axes.components_.shape == (1, 2)
    odd = GaussianNB(1, bounds=BOUNDS, classes=("no", "yes", "perhaps"))
    assert len(fit_table(odd, people, "data", features=NAMES, target="rich").class_prior_) == 3


def test_refusals_are_free() -> None:
    people = session()
    line = LinearRegression(1, bounds=BOUNDS, target_bounds=(0, 100))
    wrong: list[tuple[Any, dict[str, Any]]] = [
        (line, {"features": ["age"], "target": "pay"}),
        (line, {"features": NAMES}),
        (line, {"features": ["age", "nothing"], "target": "pay"}),
        (
            LinearRegression(1, bounds=BOUNDS, target_bounds=(0, 1), budget=LearningBudget(3)),
            {"features": NAMES},
        ),
        (PCA(3, bounds=BOUNDS), {"features": NAMES}),
        (PCA(1, bounds=BOUNDS), {"features": NAMES, "target": "pay"}),
        (GaussianNB(1, bounds=BOUNDS), {"features": NAMES, "target": "rich"}),
        (LogisticRegression(1, bounds=BOUNDS, classes=(0, 1.5)), {"features": NAMES, "target": "rich"}),
        (LinearRegression(1, bounds=BOUNDS), {"features": NAMES, "target": "pay"}),
        (
            LinearRegression(1, bounds=BOUNDS, target_bounds=(0, 1), ridge=-1),
            {"features": NAMES, "target": "pay"},
        ),
        (KMeans(2, bounds=BOUNDS), {"features": NAMES}),
    ]
    for made, arguments in wrong:
        with pytest.raises(DiscreetError):
            fit_table(made, people, "data", **arguments)
    assert people.budget.spent == 0


def test_columns_without_numbers_are_refused_by_their_types() -> None:
    """Texts were read as the middle of the bounds: the fit was charged and knew nothing."""
    table = pa.table(
        {
            "name": ["ann", "bob"], "told": ["1", "2"], "day": pa.array([1, 2], pa.date32()),
            "list": [[1], [2]], "raw": [b"a", b"b"], "x": [0.0, 1.0], "Whole": [0, 1], "true": [True, False],
        }
    )  # fmt: skip
    with shared.protect(table, privacy_unit="row", bounds={"x": (0, 1), "Whole": (0, 1)}, budget=3) as people:
        for name in ("name", "NAME", "told", "day", "list", "raw"):
            for features, target in (([name], "x"), (["x"], name)):
                line = LinearRegression(1, bounds=[(0, 1)], target_bounds=(0, 1))
                with pytest.raises(InvalidParameter, match="holds no numbers"):
                    fit_table(line, people, "Data", features=features, target=target)
            with pytest.raises(InvalidParameter, match="holds no numbers"):
                fit_table(PCA(1, bounds=(0, 1)), people, "data", features=["x", name])
        assert people.budget.spent == 0
        line = LinearRegression(1, bounds=(0, 1), target_bounds=(0, 1))
        fit_table(line, people, "data", features=["whole", "true"], target="x")
        assert people.budget.spent == 1


def test_a_column_of_a_csv_file_is_of_numbers_where_its_bounds_are_declared_in_the_policy(
    tmp_path: Path,
) -> None:
    (tmp_path / "pay.csv").write_text("age,pay\n30,2\n40,3\n", encoding="utf-8")
    line = LinearRegression(1, bounds=[(0, 99)], target_bounds=(0, 9))
    known: dict[str, Any] = {"privacy_unit": "row", "budget": 1}
    with dp.protect(tmp_path / "pay.csv", bounds={"pay": (0, 9)}, **known) as people:
        with pytest.raises(InvalidParameter, match="declare bounds"):
            fit_table(line, people, "pay", features=["age"], target="pay")
        assert people.budget.spent == 0
    with dp.protect(tmp_path / "pay.csv", bounds={"pay": (0, 9), "age": (0, 99)}, **known) as people:
        fit_table(line, people, "pay", features=["age"], target="pay")
        assert people.budget.spent == 1


def test_names_and_labels_are_quoted() -> None:
    assert moved_sql('a"b', np.array([0.0, 2.0])).count('"a""b"') == 1
    assert [literal(one) for one in ("it's", 3, True)] == ["'it''s'", "3", "TRUE"]
    with pytest.raises(InvalidParameter):
        literal(1.5)


def test_classes_are_named_once() -> None:
    table = pa.table({"k": ["a", "b"], "x": [0.0, 1.0]})
    keys = {"k": ["a", "b"]}
    with shared.protect(table, privacy_unit="row", bounds={"x": (0, 1)}, keys=keys, budget=1) as session:
        for classes in (("a", "a"), ("a",), ()):
            model = GaussianNB(bounds=[(0, 1)], classes=classes)
            with pytest.raises(InvalidParameter, match="classes"):
                fit_table(model, session, "data", features=["x"], target="k")
        assert session.budget.spent == 0
