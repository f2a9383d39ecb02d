"""Conditions that exclude each other cost epsilon once, through every door; those that only seem to cost it each."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests import inside, shared

import discreet as dp
from discreet.sql.plan import alternatives
from discreet.sql.plan.plan import PlannedRelease
from discreet.sql.plan.strategies import choose

N = 3_000
RNG = np.random.default_rng(5)
DATA = pa.table({
    "id": np.arange(N) // 3, "k": RNG.choice(list("abc"), N), "x": RNG.uniform(0, 100, N), "flag": RNG.random(N) < 0.3,
    "g": RNG.choice(["u", "v"], N),
})  # fmt: skip
BY_K = ("k = 'a'", "k = 'b'", "k = 'c'")


def session(unit: str = "row", **more: Any) -> dp.Session:
    if unit != "row":
        more["max_rows"] = 3
    return shared.protect(
        DATA, privacy_unit=unit, bounds={"x": (0, 100)}, keys={"g": ["u", "v"]}, budget=10_000, **more
    )


def asked(form: str, conditions: tuple[str, ...] = BY_K) -> str:
    items = ", ".join(f"{form.format(p=p)} AS v{at}" for at, p in enumerate(conditions))
    return f"SELECT {items} FROM data"


@cache
def reading(unit: str) -> dp.Session:
    """A session that plans are made of: nothing is charged to it."""
    return session(unit)


def planned(sql: str, unit: str = "row") -> PlannedRelease:
    (release,) = inside.plan_of(reading(unit), sql, Fraction(1)).releases
    return release


@pytest.mark.parametrize("unit", ["row", "id"])
@pytest.mark.parametrize("form", [
    "COUNT(*) FILTER (WHERE {p})", "count_if({p})", "SUM({p})", "SUM(CASE WHEN {p} THEN 1 END)",
    "SUM(CASE WHEN {p} THEN 1 ELSE 0 END)", "AVG(x) FILTER (WHERE {p})", "SUM(CASE WHEN {p} THEN x ELSE 0 END)",
    "VAR_SAMP(x) FILTER (WHERE {p})", "COUNT(DISTINCT x) FILTER (WHERE {p})", "CORR(x, x * x) FILTER (WHERE {p})",
    "SUM(CAST({p} AS INTEGER) * x)",
])  # fmt: skip
def test_conditions_that_exclude_each_other_have_the_error_of_one(form: str, unit: str) -> None:
    release = planned(asked(form), unit)
    assert set(release.sets) == {0}
    assert release.shares == (Fraction(1),) * 3
    assert release.epsilon == 1
    alone = planned(asked(form, BY_K[:1]), unit)
    assert release.scale(0) == release.scale(1) == alone.scale(0)


@pytest.mark.parametrize(("sql", "sets"), [
    ("COUNT(*) FILTER (WHERE k = 'a'), COUNT(*) FILTER (WHERE k IN ('a', 'b'))", 2),
    ("AVG(x) FILTER (WHERE k = 'a'), COUNT(*) FILTER (WHERE k = 'a')", 2),
    ("COUNT(*) FILTER (WHERE x <= 1), COUNT(*) FILTER (WHERE x >= 1)", 2),
    ("COUNT(*) FILTER (WHERE k = 'a'), COUNT(*) FILTER (WHERE g = 'u')", 2),
    ("AVG(CASE WHEN k = 'a' THEN x ELSE 0 END), AVG(CASE WHEN k = 'b' THEN x ELSE 0 END)", 2),
    ("SUM(CASE WHEN k = 'a' THEN x ELSE 1 END), SUM(CASE WHEN k = 'b' THEN x ELSE 1 END)", 2),
    ("SUM(clamp(CASE WHEN k = 'a' THEN x ELSE 0 END, 1, 9)), SUM(clamp(CASE WHEN k = 'b' THEN x ELSE 0 END, 1, 9))",
     2),
    ("COUNT(*), COUNT(*) FILTER (WHERE k = 'a'), COUNT(*) FILTER (WHERE k = 'b')", 2),
    ("COUNT(x), COUNT(*) FILTER (WHERE x IS NULL)", 1),
    ("AVG(x), COUNT(*) FILTER (WHERE x IS NULL)", 2),  # the mean reads the column as it is stored
    ("AVG(x) FILTER (WHERE k = 'a'), COUNT(*) FILTER (WHERE k = 'b'), SUM(x) FILTER (WHERE k IS NULL)", 1),
    ("COUNT(*) FILTER (WHERE k = 'a'), COUNT(*) FILTER (WHERE flag), count_if(k = 'b'), count_if(NOT flag)", 2),
])  # fmt: skip
def test_how_many_times_epsilon_is_spent(sql: str, sets: int) -> None:
    release = planned(f"SELECT {sql} FROM data")
    assert len(set(release.sets)) == sets
    assert release.epsilon == 1


def test_rows_that_are_chosen_for_each_median_are_no_alternatives() -> None:
    form = asked("MEDIAN(x) FILTER (WHERE {p})")
    assert len(set(planned(form, "row").sets)) == 1
    assert len(set(planned(form, "id").sets)) == 3
    units = asked("COUNT(DISTINCT id) FILTER (WHERE {p})")
    assert len(set(planned(units, "id").sets)) == 3  # a person may be in all of them


@pytest.mark.parametrize("sql", [
    "count_if(flag) AS a, sum(flag) AS b, COUNT(*) FILTER (WHERE flag) AS c, "
    "SUM(CASE WHEN flag THEN 1 ELSE 0 END) AS d, "
    "COUNT(CASE WHEN flag THEN 'yes' END) AS e, SUM(CAST(flag AS INTEGER)) AS f, SUM(CASE WHEN flag THEN 1.0 END) AS h",
    "count_if(flag AND k = 'a') AS a, sum('a' = k AND flag) AS b, count_if(flag) FILTER (WHERE k = 'a') AS c",
    "count_if(flag) AS a, avg(CAST(flag AS INTEGER)) AS b, sum(flag) AS c",
    "AVG(x) FILTER (WHERE flag) AS a, SUM(CASE WHEN flag THEN x ELSE 0 END) AS b, COUNT(x) FILTER (WHERE flag) AS c",
    "COUNT(*) FILTER (WHERE x IS NOT NULL) AS a, AVG(x) AS b, COUNT(x) AS c",
    "SUM(1) AS a, COUNT(*) AS b, COUNT(1) AS c",
    "corr(x, x * x) AS a, regr_slope(x * x, x) AS b, corr(x * x, x) AS c, regr_slope(x, x * x) AS d, "
    "covar_pop(x * x, x) AS e, regr_intercept(x, x * x) AS f, regr_avgx(x * x, x) AS h, regr_avgy(x * x, x) AS i",
    "corr(x, x * x) FILTER (WHERE flag) AS a, regr_r2(x * x, x) FILTER (WHERE flag) AS b",
])  # fmt: skip
def test_one_question_in_several_forms_is_measured_once_and_answered_like_sql(sql: str) -> None:

    with session() as opened:
        (release,) = inside.plan_of(opened, f"SELECT {sql} FROM data", Fraction(1)).releases
        assert len(release.measures) == 1
        got = opened.sql(f"SELECT {sql} FROM data", epsilon=900).to_arrow().to_pylist()[0]
    data = DATA  # noqa: F841  DuckDB finds it by its name
    found = shared.plain().execute(f"SELECT {sql} FROM data").fetchnumpy()
    true = {name: np.asarray(values)[0].item() for name, values in found.items()}
    for name, value in true.items():
        assert math.isclose(got[name], float(value), rel_tol=2e-3), (name, got[name], value)
        if isinstance(value, int):
            assert isinstance(got[name], int)


def test_a_pair_in_two_orders_agrees_with_itself() -> None:
    with session() as opened:
        answer = opened.sql("SELECT corr(x, x * x) AS a, corr(x * x, x) AS b, regr_slope(x, x * x) AS s, "
                            "regr_slope(x * x, x) AS t FROM data", epsilon=1).to_arrow().to_pylist()[0]  # fmt: skip
    assert answer["a"] == answer["b"]
    if 0 < answer["a"] < 1:  # the product of both slopes is the square of the correlation
        assert math.isclose(answer["s"] * answer["t"], answer["a"] ** 2, rel_tol=1e-6)


@pytest.mark.parametrize("unit", ["row", "id"])
def test_the_whole_way(unit: str, tmp_path: Any) -> None:
    counts = ", ".join(
        f"COUNT(*) FILTER (WHERE {p}) AS n{at}, AVG(x) FILTER (WHERE {p}) AS m{at}"
        for at, p in enumerate(BY_K)
    )
    sql = f"SELECT g, {counts} FROM data GROUP BY g ORDER BY g"
    with session(unit) as opened:
        preview = opened.preview(sql, epsilon=20)
        release = opened.sql(sql, epsilon=20)
        assert opened.budget.spent == 20
        again = opened.sql(sql, epsilon=20)
        assert again.replayed
        assert again.to_arrow().equals(release.to_arrow())
        assert opened.budget.spent == 20
        written = tmp_path / "answer.parquet"
        opened.write(sql, 21, written)
        assert opened.budget.spent == 41
        assert pq.read_table(written).num_rows == 2
        explained = opened.explain(sql, epsilon=20)
        assert "no row moves two of the measures" in str(explained)
    for row in release.to_arrow().to_pylist():
        for at, p in enumerate("abc"):
            here = (np.array(DATA["g"]) == row["g"]) & (np.array(DATA["k"]) == p)
            assert abs(row[f"n{at}"] - here.sum()) < 20
            assert row[f"n{at}_low"] <= row[f"n{at}"] <= row[f"n{at}_high"]
            assert abs(row[f"m{at}"] - np.array(DATA["x"])[here].mean()) < 5
    assert preview.errors["n0"] == preview.errors["n1"] == preview.errors["n2"]


def test_an_answer_of_another_layout_is_another_question(monkeypatch: pytest.MonkeyPatch) -> None:
    with session() as opened:
        now = inside.plan_of(opened, asked("count_if({p})"), Fraction(1)).statement
        plain = inside.plan_of(opened, "SELECT COUNT(*) AS n FROM data", Fraction(1)).statement
    monkeypatch.setattr(alternatives, "exclude", lambda one, other: False)
    with session() as opened:
        assert inside.plan_of(opened, asked("count_if({p})"), Fraction(1)).statement != now
        assert inside.plan_of(opened, "SELECT COUNT(*) AS n FROM data", Fraction(1)).statement == plain


def test_a_thousand_conditions_are_planned_soon() -> None:
    release = planned(asked("count_if({p})", tuple(f"k = '{at}'" for at in range(600))))
    assert len(release.measures) == 600
    assert len(set(release.sets)) == 1 + 600 - alternatives.MOST
    assert release.epsilon == 1


def test_the_number_of_all_rows_comes_from_a_measure_that_is_alone() -> None:
    release = planned("SELECT COUNT(*), AVG(x), count_if(k = 'a'), count_if(k = 'b') FROM data")
    assert len(release.measures) == 3
    assert [m.with_null for m in release.measures] == [True, False, False]
    assert choose([]).choices == []
