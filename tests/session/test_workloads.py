"""Several questions as one: one charge, answers that agree, and the same from the ledger."""

from __future__ import annotations

from fractions import Fraction
from itertools import count
from typing import Any

import pyarrow as pa
import pytest
from tests.depth import in_turn
from tests.sql.plan.workloads.test_together import protect

import discreet as dp
from discreet.engines import sandbox
from discreet.errors import BudgetExceeded, InvalidParameter, QueryRefused
from discreet.session.analyst import AnalystSession

QUESTIONS = {
    "all": "SELECT COUNT(*) AS n FROM data",
    "by sex": "SELECT sex, COUNT(*) AS n FROM data GROUP BY sex",
    "by age": "SELECT age, COUNT(*) AS n FROM data GROUP BY age ORDER BY age",
    "pay": "SELECT AVG(pay) AS p FROM data WHERE age > 3",
}


def test_they_cost_epsilon_together_and_are_replayed() -> None:
    with protect() as session:
        first = session.workload(QUESTIONS, epsilon="0.5")
        assert session.budget.spent == Fraction(1, 2) == first.epsilon
        again = session.workload(QUESTIONS, epsilon="0.5")
        assert session.budget.spent == Fraction(1, 2)
        assert again.replayed
        assert not first.replayed
        assert list(again) == list(QUESTIONS)
        for name, release in first.items():
            assert again[name].to_arrow().equals(release.to_arrow())
            assert again[name].replayed
        assert "0.5, all together" in repr(first)
        session.ledger.verify()


def test_a_notebook_shows_each_answer_under_its_name() -> None:
    named = {"<all>": QUESTIONS["all"], "by sex": QUESTIONS["by sex"]}
    with protect() as session:
        for shown in (session.preview_workload(named, epsilon=1), session.workload(named, epsilon=1)):
            page = shown._repr_html_()
            assert "<b>&lt;all&gt;</b><table>" in page
            assert "<b>by sex</b><table>" in page
            assert page.count("epsilon 1, all together") == 1


DRAWN = {
    "bent": "SELECT SUM(n * n) AS s, MAX(n) AS m FROM (SELECT sex, COUNT(*) AS n FROM data GROUP BY sex) AS q",
    "spread": "SELECT sex, VARIANCE(pay) / AVG(pay) AS v FROM data GROUP BY sex",
    "public": "SELECT 1 AS one",
}


def test_an_interval_that_is_drawn_is_the_same_again() -> None:
    with protect() as session:
        first = session.workload(DRAWN, epsilon=30)
        again = session.workload(DRAWN, epsilon=30)
        assert again.replayed
        for name, release in first.items():
            assert again[name].to_dict() == release.to_dict()
        wider = session.workload(DRAWN, epsilon=30, confidence=0.99)
        assert wider.replayed
        assert width(wider["bent"], "s") > width(first["bent"], "s")


def test_a_total_is_better_known_than_by_itself() -> None:
    with protect() as session:
        answers = session.workload(QUESTIONS, epsilon=1)
        alone = session.sql(QUESTIONS["by age"], epsilon=Fraction(1, 4))
        assert width(answers["by age"], "n") < width(alone, "n")


def width(release: Any, name: str) -> float:
    low, high = release.low[name].to_numpy()[0], release.high[name].to_numpy()[0]
    return float(high - low)


def test_a_refusal_of_one_question_costs_nothing() -> None:
    with protect() as session:
        with pytest.raises(QueryRefused):
            session.workload({**QUESTIONS, "rows": "SELECT * FROM data"}, epsilon=1)
        with pytest.raises(BudgetExceeded):
            session.workload(QUESTIONS, epsilon=2000)
        wrongs: list[Any] = [{}, [], {1: "SELECT 1"}, {"a": 3}]
        for wrong in wrongs:
            with pytest.raises((InvalidParameter, QueryRefused)):
                session.workload(wrong, epsilon=1)
        assert session.budget.spent == 0


def test_public_questions_are_free() -> None:
    with protect() as session:
        answers = session.workload({"one": "SELECT 1 AS x"}, epsilon=1)
        assert answers["one"].to_arrow()["x"].to_pylist() == [1]
        assert session.budget.spent == 0


def test_found_groups_are_in_a_workload_too() -> None:
    with protect() as session:
        questions = {**QUESTIONS, "wards": "SELECT ward, COUNT(*) AS n FROM data GROUP BY ward"}
        answers = session.workload(questions, epsilon=20, delta="1e-6")
        assert answers["wards"].to_arrow()["ward"].to_pylist() == ["a", "b"]
        assert session.budget.spent == 20
        assert answers.delta == dp.Budget(epsilon=1, delta="1e-6").delta


def test_a_preview_says_what_has_but_a_share_of_epsilon() -> None:
    median = {"middle": "SELECT MEDIAN(pay) AS p FROM data"}
    with protect() as session:
        seen = session.preview_workload(QUESTIONS | median, epsilon="0.5")
        said = seen.together[-1]
        assert said.startswith("measured apart, each with a share of epsilon 0.5: AVG(pay) with 0.")
        assert "MEDIAN(pay) with 0." in said
        assert said in repr(seen)
        assert session.preview_workload(median, epsilon=1).together == ()


def test_a_preview_is_free_and_tells_the_errors_of_the_answers() -> None:
    with protect() as session:
        seen = session.preview_workload(QUESTIONS, epsilon="0.5")
        assert session.budget.spent == 0
        assert (list(seen), len(seen), seen.epsilon) == (list(QUESTIONS), len(QUESTIONS), Fraction(1, 2))
        assert any("estimated from marginals" in line for line in seen.together)
        assert not any("CASE" in line for line in seen.together)
        assert "epsilon 0.5, all together" in repr(seen)
        assert all(one.cost == Fraction(1, 2) for one in seen.values())
        answers = session.workload(QUESTIONS, epsilon="0.5")
        for name in ("all", "by sex", "by age"):
            found = answers[name]
            assert (found.high["n"][0].as_py() - found.low["n"][0].as_py()) / 2 == pytest.approx(
                seen[name].errors["n"], rel=0.01
            )
        with pytest.raises(InvalidParameter, match="from 1 to 64"):
            session.preview_workload({}, epsilon=1)


@pytest.fixture
def few_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three seconds before a charge, of which each statement takes one."""
    monkeypatch.setattr(sandbox, "UNCHARGED_SECONDS", 3.0)
    monkeypatch.setattr(sandbox, "monotonic", count().__next__)


def reads_public(number: int) -> str:
    return f"SELECT COUNT(*) AS n FROM data WHERE age < (SELECT MAX(i) FROM range({number}) AS r(i))"


@pytest.mark.parametrize("way", ["workload", "preview_workload", "look_at_workload", "try_out_workload"])
@pytest.mark.usefixtures("few_seconds")
def test_the_public_parts_of_all_share_one_time_before_the_charge(way: str) -> None:
    few, many = ({str(n): reads_public(n) for n in numbers} for numbers in ([2], range(3, 8)))
    with protect() as session:
        asked = getattr(AnalystSession(session, "eve", 9), way)
        asked(few, epsilon=1)
        spent = session.budget.spent
        with pytest.raises(QueryRefused, match=r"before its charge, take more than 3 seconds"):
            asked(many, epsilon=1)
        assert session.budget.spent == spent


# A deep run asks at each price in both ways.
@pytest.mark.parametrize(
    ("way", "price"), in_turn(["sql", "preview"], [{"epsilon": 1}, {"within": {"n": 1000}}])
)
@pytest.mark.usefixtures("few_seconds")
def test_a_reading_and_its_rehearsal_share_one_time(way: str, price: dict[str, Any]) -> None:
    parts = " UNION ALL ".join(map(reads_public, range(3)))
    above = f"SELECT SUM(n) + 1 AS n FROM ({parts}) AS d"
    with protect() as session:
        asked = AnalystSession(session, "eve", 9)
        asked.look(above, epsilon=1)  # reads it, and rehearses nothing
    with protect() as session:
        with pytest.raises(QueryRefused, match=r"before its charge, take more than 3 seconds"):
            getattr(session, way)(above, **price)
        assert session.budget.spent == 0
        getattr(session, way)(above, **price)  # it was read, and is rehearsed in a time of its own


def test_a_workload_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A service looks at it and tries it out before it is asked: its public parts are computed once."""
    run, seen = sandbox.Sandbox.run, list[str]()

    def noted(box: sandbox.Sandbox, sql: str, timeout: float = 60.0) -> pa.Table:
        seen.append(sql)
        return run(box, sql, timeout)

    monkeypatch.setattr(sandbox.Sandbox, "run", noted)
    asked = {"a": reads_public(8), "b": reads_public(9), "c": reads_public(9)}
    with protect() as session:
        first = session.preview_workload(asked, epsilon=1)
        assert [text for text in seen if "MAX" in text]
        seen.clear()
        assert session.preview_workload(asked, epsilon=1).epsilon == first.epsilon
        session.workload(asked, epsilon=2)
        assert not [text for text in seen if "MAX" in text]
