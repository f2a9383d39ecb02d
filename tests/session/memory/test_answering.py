"""What was answered before: free, or asked at the difference; never of other rows, and never what the data decides."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from tests.depth import few

import discreet as dp
from discreet.errors import InvalidParameter
from discreet.rational import show
from discreet.session.analyst import AnalystSession
from discreet.session.memory import answering
from discreet.session.parameters import MOST_GROUP_ROWS
from discreet.session.question import SessionQuestion
from discreet.sql.finish import recall
from discreet.sql.plan.workloads import places as placing

DRAW = np.random.default_rng(3)
ROWS = 4000
COLUMNS = {
    "sex": DRAW.random(ROWS) < 0.5,
    "age": DRAW.integers(0, 80, ROWS),
    "pay": DRAW.integers(0, 1000, ROWS),
    "ward": DRAW.choice(["a", "b", "c", "d"], ROWS),
    "id": DRAW.integers(0, 900, ROWS),
}
FILES: dict[int, str] = {}
OPENED: dict[bool, duckdb.DuckDBPyConnection] = {}
BY_WARD = "SELECT ward, COUNT(*) AS n FROM data GROUP BY ward"
TABLE = "SELECT sex, age, COUNT(*) AS n FROM data GROUP BY sex, age"
BY_BOTH = "SELECT sex, ward, COUNT(*) AS n FROM data WHERE sex IS NOT NULL GROUP BY sex, ward"
TOTAL = "SELECT COUNT(*) AS n FROM data"


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Databases of the people, whose columns are declared NOT NULL, or not."""
    place = tmp_path_factory.mktemp("people")
    for rows in (ROWS, ROWS - 1):
        FILES[rows] = str(place / f"{rows}.duckdb")
        _filled(FILES[rows], False, rows).close()
    for nullable in (False, True):
        OPENED[nullable] = _filled(":memory:", nullable, ROWS)
    yield
    for connection in OPENED.values():
        connection.close()
    OPENED.clear()
    FILES.clear()


def _filled(file: str, nullable: bool, rows: int) -> duckdb.DuckDBPyConnection:
    people = pa.table({name: values[:rows] for name, values in COLUMNS.items()})
    kinds = ("BOOLEAN", "BIGINT", "BIGINT", "VARCHAR", "BIGINT")
    end = "" if nullable else " NOT NULL"
    connection = duckdb.connect(file, config={"threads": 1})
    columns = ", ".join(f"{name} {kind}{end}" for name, kind in zip(COLUMNS, kinds, strict=True))
    connection.execute(f"CREATE TABLE data ({columns})")
    connection.register("people", people)
    connection.execute("INSERT INTO data SELECT * FROM people")
    return connection


def protect(nullable: bool = False, ledger: Any = None, rows: int = ROWS, **more: Any) -> dp.Session:
    """People of whom nothing is NULL, as the database says or does not say; one ward is not listed.

    The database is opened once for all sessions whose ledger is in memory.
    """
    given = {"privacy_unit": "row", "bounds": {"age": (0, 79), "pay": (0, 1000)}, "keys": {"ward": ["a", "b", "c"]},
             "budget": 100, **more}  # fmt: skip
    source = FILES[rows] if ledger else OPENED[nullable]
    return dp.protect(source, table="data", ledger=ledger, **given)


def widths(answer: Any, name: str = "n") -> float:
    return float(answer[0][f"{name}_high"] - answer[0][f"{name}_low"]) / 2


FREE = [
    ("SELECT age, sex, COUNT(*) AS n FROM data GROUP BY age, sex", 1),
    ("SELECT sex, COUNT(*) AS n FROM data GROUP BY sex", 80),
    ("SELECT age // 10 AS d, COUNT(*) AS n FROM data GROUP BY d", 20),
    (TOTAL, 160),
    ("SELECT sex, COUNT(*) AS n FROM data WHERE age BETWEEN 20 AND 29 GROUP BY sex", 10),
    ("SELECT COUNT(*) AS n FROM data WHERE sex AND age >= 75", 5),
    ("SELECT age, COUNT(*) AS n FROM data WHERE sex GROUP BY age", 1),
]


# A deep run asks all seven.
@pytest.mark.parametrize(("question", "cells"), few(FREE, 4))
def test_sums_of_released_groups_cost_nothing(question: str, cells: int) -> None:
    with protect() as session:
        table = session.sql(TABLE, epsilon=1)
        answer = session.sql(question, epsilon=Fraction(1, 20), reuse=True)
        assert session.budget.spent == 1
        assert answer.epsilon == 0
        assert answer.known_from == (1,)
        if question == TOTAL:
            assert answer["n"] == [sum(table["n"])]
        assert "released for question 1" in answer.card()
        assert "made of earlier answers" in repr(answer)
        # 1.96 standard deviations of a sum of many, up to 3 scales of a single one; whole numbers.
        assert 1.9 * (2 * cells) ** 0.5 - 1 < widths(answer) <= 3.3 * cells**0.5


OTHERS = [
    "SELECT COUNT(*) AS n FROM data WHERE pay > 3",
    "SELECT age, COUNT(*) AS n FROM data WHERE ward = 'a' GROUP BY age",
    "SELECT sex, SUM(pay) AS n FROM data GROUP BY sex",
    "SELECT sex, COUNT(DISTINCT age) AS n FROM data GROUP BY sex",
    "SELECT ward, COUNT(*) AS n FROM data GROUP BY ward",
    "SELECT sex, MEDIAN(age) AS n FROM data GROUP BY sex",
]


# A deep run asks all six.
@pytest.mark.parametrize("question", few(OTHERS, 3))
def test_other_rows_and_measures_are_asked_anew(question: str) -> None:
    with protect() as session:
        session.sql(TABLE, epsilon=1)
        answer = session.sql(question, epsilon=Fraction(1, 20), reuse=True)
        assert answer.epsilon == Fraction(1, 20)
        assert answer.known_from == ()


INCOMPLETE = [
    (True, TABLE, "SELECT sex, COUNT(*) AS n FROM data GROUP BY sex"),
    (False, BY_WARD, TOTAL),
    (False, f"{BY_WARD}, age", "SELECT age, COUNT(*) AS n FROM data GROUP BY age"),
    (False, "SELECT age, COUNT(*) AS n FROM data WHERE age > 9 GROUP BY age", TOTAL),
    (False, BY_WARD.replace("GROUP", "WHERE ward = 'a' GROUP"), BY_WARD),
    (False, "SELECT age, ward, COUNT(*) AS n FROM data GROUP BY CUBE (age, ward)", TOTAL),
]
"""Rows may be missing in the groups: of no age, of a ward that is not listed, or of none that was asked for."""


# A deep run asks all six.
@pytest.mark.parametrize(("nullable", "before", "question"), few(INCOMPLETE, 4))
def test_groups_that_may_lack_rows_make_no_total(nullable: bool, before: str, question: str) -> None:
    with protect(nullable) as session:
        session.sql(before, epsilon=5)
        assert session.sql(question, epsilon=1, reuse=True).epsilon == 1


def test_without_that_check_a_total_would_lack_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placing, "_held", lambda *_: True)
    with protect() as session:
        session.sql(INCOMPLETE[1][1], epsilon=5)
        wrong = session.sql(TOTAL, epsilon=1, reuse=True)
        assert wrong[0]["n_high"] < ROWS - 500  # about 1000 rows are of the ward that is not listed


def test_conditions_hold_the_rows_together() -> None:
    with protect(nullable=True) as session:
        session.sql("SELECT ward, age, COUNT(*) AS n FROM data GROUP BY ward, age", epsilon=1)
        for question in (
            "SELECT COUNT(*) AS n FROM data WHERE age > 9 AND ward IN ('a', 'b')",
            "SELECT ward, COUNT(*) AS n FROM data WHERE age < 20 GROUP BY ward",
            "SELECT ward, age // 10 AS d, COUNT(*) AS n FROM data GROUP BY ward, d",
        ):
            assert session.sql(question, epsilon=Fraction(1, 20), reuse=True).epsilon == 0


def test_conditions_that_leave_no_cell_have_an_interval_too() -> None:
    """The estimate from cells and sums of them is 0 then, for no row is there; its interval is that of a cell."""
    session = protect()
    session.sql(TABLE, epsilon=1)
    session.sql("SELECT sex, COUNT(*) AS n FROM data GROUP BY sex", epsilon=1)
    answer = session.sql("SELECT COUNT(*) AS n FROM data WHERE age > 70 AND age < 5", epsilon=1, reuse=True)
    assert answer.epsilon == 0
    assert answer[0]["n"] == 0
    assert 2 < widths(answer) < 4


def test_more_exact_costs_the_difference_and_less_nothing() -> None:
    """Two measurements for e1 and e2 are as exact as one for the root of e1^2 + e2^2."""
    with protect() as session, protect() as other:
        session.sql(TABLE, epsilon="0.3")
        previewed = session.preview(TABLE, epsilon="0.5", reuse=True)
        answer = session.sql(TABLE, epsilon="0.5", reuse=True)
        assert (
            previewed.epsilon == answer.epsilon == Fraction("0.4") == session.budget.spent - Fraction("0.3")
        )
        assert previewed.known.startswith("or free, from question 1 alone: n ± ")
        assert widths(answer) <= widths(other.sql(TABLE, epsilon="0.5")) + 1
        again = session.sql(TABLE, epsilon="0.5", reuse=True)
        assert again.epsilon == 0
        assert again.known_from == (1, 3)
        assert again["n"] == answer["n"]
        assert session.sql(TABLE, epsilon="0.3", reuse=True).replayed  # the very same question
        session.ledger.verify()


def test_an_epsilon_buys_noise_of_its_own_unless_told_otherwise() -> None:
    with protect() as session:
        session.sql(TABLE, epsilon=1)
        preview = session.preview(TOTAL, epsilon="0.1")
        assert preview.epsilon == Fraction("0.1")
        price = session.preview(TOTAL, epsilon="0.1", reuse=True).epsilon  # 160 cells are not that exact
        assert 0 < price < preview.epsilon
        assert preview.known.startswith(
            f"as exact with reuse=True (--reuse): epsilon {show(price)}; or free, from question 1 alone: n ± "
        )
        less = session.preview(TOTAL, epsilon="0.05")
        assert less.known.startswith("as exact with reuse=True (--reuse): free, from question 1: n ± ")
        assert session.preview(TOTAL, epsilon="0.05", reuse=True).epsilon == 0
        assert session.preview(TOTAL, epsilon="0.1", reuse=False).known == ""
        answer = session.sql(TOTAL, epsilon="0.1")
        assert answer.epsilon == Fraction("0.1")
        assert answer.known_from == ()
        assert session.budget.spent == Fraction("1.1")


def test_the_finest_table_of_a_cube_is_known_though_a_key_may_be_missing() -> None:
    """Its rows are those of the same question by itself; of the totals, rows of no listed ward are missing."""
    with protect(nullable=True) as session:
        cube = session.sql("SELECT sex, ward, COUNT(*) AS n FROM data GROUP BY CUBE (sex, ward)", epsilon=1)
        finest = {(row["sex"], row["ward"]): row["n"] for row in cube}
        answer = session.sql(BY_BOTH, epsilon="0.5", reuse=True)
        assert answer.epsilon == 0
        assert {
            (row["sex"], row["ward"]): row["n"] for row in answer if row["sex"] is not None and row["ward"]
        } == {cell: n for cell, n in finest.items() if None not in cell}


def test_an_answer_is_never_counted_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing may be the very epsilon of an earlier answer, whose replay is no second measurement."""
    with protect() as session:
        first = session.sql(TOTAL, epsilon=1)
        asked = Fraction("1.414")  # two measurements for 1 are nearly this exact
        answer = session.sql(TOTAL, epsilon=asked, reuse=True)
        assert not answer.replayed
        assert 1 < answer.epsilon == session.budget.spent - first.epsilon <= Fraction("1.01")
    monkeypatch.setattr(answering, "_unasked", lambda _, question: question)
    with protect() as session:
        session.sql(TOTAL, epsilon=1)
        assert session.sql(TOTAL, epsilon=asked, reuse=True).replayed  # planted: the same noise twice


def test_a_question_chosen_by_an_answer_is_covered_by_noise_of_its_own() -> None:
    """The largest of 1000 like groups is asked for again: noise of its own covers it, reused numbers do not.

    That 7 intervals at 95 % all miss has a chance of 8e-10; that the largest noise of 1000 is within one, of 1e-11.
    """
    covered = {True: 0, False: 0}
    people = pa.table({"age": np.arange(1000)})
    for _ in range(7):
        with dp.protect(people, privacy_unit="row", bounds={"age": (0, 999)}, budget=1) as session:
            counts = session.sql("SELECT age, COUNT(*) AS n FROM data GROUP BY age", epsilon="0.1")
            largest = max((row["n"], row["age"]) for row in counts if row["age"] is not None)[1]
            for reuse in covered:
                question = f"SELECT COUNT(*) AS n FROM data WHERE age = {largest}"
                answer = session.sql(question, epsilon="0.1", reuse=reuse)
                covered[reuse] += answer[0]["n_low"] <= 1 <= answer[0]["n_high"]
                assert ("earlier answers may be why" in answer.card()) == reuse
    assert covered[True] == 0 < covered[False]


def test_within_spends_the_least_that_reaches_the_error() -> None:
    with protect() as session:
        first = session.sql(TABLE, within={"n": 10})
        assert widths(first) <= 10
        assert session.sql(TABLE, within={"n": 10}).epsilon == 0
        total = session.preview(TOTAL, within={"n": 500})
        assert total.epsilon == 0
        assert "free, from question 1: n ±" in repr(total)
        nearer = session.preview(TOTAL, within={"n": 40})
        answer = session.sql(TOTAL, within={"n": 40})
        assert (
            0
            < answer.epsilon
            == nearer.epsilon
            < session.preview(TOTAL, within={"n": 40}, reuse=False).epsilon
        )
        assert widths(answer) <= 40
        assert session.budget.spent == first.epsilon + answer.epsilon
        with pytest.raises(InvalidParameter):
            session.sql(TOTAL, epsilon=1, within={"n": 40})
        with pytest.raises(InvalidParameter):
            session.sql(TOTAL, within={"m": 40})
        assert session.sql("SELECT 1 AS one", within={"one": 1}).epsilon == 0


def test_an_error_that_depends_on_the_size_of_groups_is_said_to_be_foreseen() -> None:
    with protect() as session:
        mean = "SELECT ward, COUNT(*) AS n, AVG(pay) AS pay FROM data GROUP BY ward"
        warned = session.sql(mean, within={"pay": 50, "n": 20}).warnings
        assert len(warned) == 1
        assert "a group had 1,000 rows" in warned[0]
        assert "the error of pay depends" in warned[0]
        assert session.sql(mean, within={"pay": 50, "n": 20}).warnings == warned  # replayed or made of it
        assert session.sql(TABLE, within={"n": 10}).warnings == ()


def test_a_preview_says_before_the_charge_how_an_error_may_be_missed() -> None:
    mean = "SELECT ward, COUNT(*) AS n, AVG(pay) AS pay FROM data GROUP BY ward"
    with protect() as session:
        seen = session.preview(mean, within={"pay": 50, "n": 20})
        (said,) = (one for one in seen.warnings if "had 1,000 rows" in one)
        missed = session.preview(mean, epsilon=seen.epsilon, group_rows=100).errors["pay"]
        assert f"in one of 100 rows pay would be ± {missed:,.4g}; " in said
        assert "; ask it with" not in said
        other = session.preview(mean, within={"pay": 50}, group_rows=50)
        (said,) = (one for one in other.warnings if "had 50 rows" in one)
        assert "; ask it with group_rows=50" in said
        assert session.preview(TABLE, within={"n": 10}).warnings == ()
        assert session.budget.spent == 0


def test_an_error_is_reckoned_for_groups_of_the_size_that_is_named() -> None:
    mean = "SELECT ward, AVG(pay) AS pay FROM data GROUP BY ward"
    with protect() as session:
        costs = {
            rows: session.sql(mean, within={"pay": 50}, group_rows=rows, reuse=False)
            for rows in (10_000, 100)
        }
        for rows, answer in costs.items():
            assert (
                answer.epsilon
                == session.preview(mean, within={"pay": 50}, group_rows=rows, reuse=False).epsilon
            )
            assert f"a group had {rows:,} rows" in answer.warnings[0]
        assert costs[10_000].epsilon * 50 < costs[100].epsilon
        for odd in (0, -1, 1.5, True, "9"):
            with pytest.raises(InvalidParameter, match="group_rows must be a positive whole number"):
                session.sql(mean, within={"pay": 50}, group_rows=odd)  # type: ignore[arg-type]
        spread = "SELECT STDDEV(pay) AS s, SUM(pay) AS total FROM data"
        assert session.sql(spread, within={"s": 50}, group_rows=MOST_GROUP_ROWS, reuse=False).epsilon > 0
        with pytest.raises(InvalidParameter, match="group_rows is more than 1,000,000,000"):
            session.sql(mean, within={"pay": 50}, group_rows=MOST_GROUP_ROWS + 1)
        with pytest.raises(InvalidParameter, match="group_rows decides the price of an error"):
            session.sql(mean, epsilon=1, group_rows=10_000)
        assert float(session.budget.spent - sum(answer.epsilon for answer in costs.values())) < 0.01


def test_another_process_knows_it_from_the_ledger_and_other_data_does_not(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    with protect(ledger=str(ledger)) as session:
        session.sql(TABLE, epsilon=1)
    with protect(ledger=str(ledger)) as session:
        assert session.sql(TOTAL, epsilon="0.05", reuse=True).known_from == (1,)
        assert session.budget.spent == 1
    with protect(ledger=str(ledger), rows=ROWS - 1) as session:
        assert session.sql(TOTAL, epsilon="0.05", reuse=True).known_from == ()


def test_averages_and_several_measures_of_one_question() -> None:
    both = "COUNT(*) AS n, AVG(pay) AS p FROM data"
    with protect() as session:
        session.sql(f"SELECT sex, age, {both} GROUP BY sex, age", epsilon=2)
        for end in ("", " WHERE age < 40"):
            answer = session.sql(f"SELECT {both}{end}", epsilon="0.05", reuse=True)
            assert answer.epsilon == 0
            chosen = COLUMNS["age"] < (40 if end else 80)
            assert abs(answer["n"][0] - chosen.sum()) < 400
            assert abs(answer["p"][0] - COLUMNS["pay"][chosen].mean()) < 100
        ratio = session.sql("SELECT AVG(pay) / 10 AS r FROM data", epsilon="0.05", reuse=True)
        assert ratio[0]["r_low"] <= ratio["r"][0] <= ratio[0]["r_high"]


def test_units_with_several_rows_keep_the_same_rows_only() -> None:
    with protect(privacy_unit="id", max_rows=3) as session:
        session.sql(TABLE, epsilon=1)
        assert session.sql(TABLE, epsilon="1.25", reuse=True).epsilon == Fraction("0.75")
        # Others of their rows may be kept.
        assert session.sql(TOTAL, epsilon="0.05", reuse=True).known_from == ()


def test_an_analyst_is_given_nothing_of_the_answers_of_others() -> None:
    with protect() as session:
        session.sql(TABLE, epsilon=1)
        ana = AnalystSession(session, "ana", 2)
        answer = ana.sql(TOTAL, epsilon="0.05")
        assert answer.known_from == ()
        assert ana.budget.spent == Fraction("0.05")
        assert ana.sql(TOTAL, within={"n": 40}).epsilon > 0


def test_intervals_of_combined_answers_cover() -> None:
    """1000 groups: a share of 0.95 has a standard deviation of 0.007; 6.1 of them are allowed, false alarms at 1e-9.

    Intervals with 25 % less width cover 0.87, and are found with a power of 99 %. The sharp test is that of the law, in
    tests/sql/plan/test_recalled.py.
    """
    wide = "SELECT pay, sex, COUNT(*) AS n FROM data GROUP BY pay, sex"
    narrow = "SELECT pay, COUNT(*) AS n FROM data GROUP BY pay"
    truth = np.bincount(COLUMNS["pay"], minlength=1001)
    with protect() as session:
        session.sql(wide, epsilon="0.5")
        for epsilon in ("0.4", "0.6"):
            answer = session.sql(narrow, epsilon=epsilon, reuse=True)
            assert 0 < answer.epsilon < Fraction(epsilon)
            low, high = (np.array(answer[f"n_{end}"]) for end in ("low", "high"))
            assert np.mean((low <= truth) & (truth <= high)) > 0.95 - 0.043
            assert widths(answer) <= widths(protect().sql(narrow, epsilon=epsilon)) + 1


def test_gaussian_noise_and_rows_dropped_by_group_are_asked_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """The law of an estimate is that of sums of Laplace variables over the same rows; planted: all pass for that."""
    budget = dp.Budget(epsilon=9, delta="1e-5", accountant="zcdp")
    session = protect(privacy_unit="id", max_rows=40, budget=budget)
    capped: dict[str, Any] = {"max_rows_per_group": 1}
    given: dict[str, Any] = {"epsilon": 1, "delta": "1e-9", **capped}
    assert "Gaussian" in str(session.explain(TABLE, **given))
    table = session.sql(TABLE, **given)
    again = session.sql(TABLE, epsilon="0.5", reuse=True, **capped)
    assert not again.replayed
    assert not again.known_from
    assert len(table) == len(again) == 160
    assert not session.sql(TABLE, epsilon="0.4", reuse=True).known_from
    monkeypatch.setattr(recall, "_summable", lambda _: True)
    assert session.sql(TABLE, epsilon="0.45", reuse=True, **capped).known_from


@pytest.mark.parametrize("limits", [{}, {"max_rows_per_group": 3}, {"max_rows": 4, "max_groups": 2}])
def test_the_parameters_of_a_question_are_read_again(limits: dict[str, Any]) -> None:
    asked = SessionQuestion.read(TOTAL, "1/3", delta="1e-9", split={"n": 2}, **limits)
    assert SessionQuestion.of_json(asked.to_json()) == asked
