"""Several analysts of one data set: two budgets in one transaction, and what each was given."""

from __future__ import annotations

import contextlib
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from tests import shared

import discreet as dp
from discreet.errors import BudgetExceeded, InvalidParameter, QueryRefused
from discreet.ledger import Entry, Ledger
from discreet.ledger.description import who_and_what
from discreet.policy import Policy
from discreet.release.account import AnalystAccount
from discreet.session import Session, queries
from discreet.session.analyst import AnalystSession, account_name, name_of
from discreet.session.budget import DATA_SET
from discreet.session.question import SessionQuestion
from discreet.sql.plan import planner

COUNT = "SELECT COUNT(*) AS n FROM data"
AGES = pa.table({"age": [31, 47, 62]})


def over(budget: object = 2, ledger: Path | None = None, neighbours: str = "add_remove") -> Session:
    source: object = AGES
    if ledger is not None:  # a file keeps its version
        source = ledger.with_name("data.parquet")
        if not source.exists():
            parquet.write_table(AGES, source)
    return shared.protect(
        source,
        privacy_unit="row",
        bounds={"age": (0, 120)},
        budget=budget,
        ledger=ledger,
        neighbours=neighbours,
    )


def test_a_question_is_charged_to_both_in_one_entry() -> None:
    session = over()
    ana = AnalystSession(session, "ana", 1)
    ana.sql(COUNT, epsilon=0.5)
    (charge,) = (entry for entry in session.ledger.entries() if entry.kind == "charge")
    assert [line.account for line in charge.postings] == [DATA_SET, account_name("ana")]
    assert who_and_what(charge.description)[0] == "ana"


def test_the_own_budget_and_that_of_all_hold() -> None:
    session = over(budget=1)
    ana, ben = AnalystSession(session, "ana", "0.6"), AnalystSession(session, "ben", "0.6")
    ana.sql(COUNT, epsilon=0.5)
    with pytest.raises(BudgetExceeded, match="analyst ana"):
        ana.sql("SELECT SUM(age) AS n FROM data", epsilon=0.2)
    with pytest.raises(BudgetExceeded, match="data set"):
        ben.sql("SELECT SUM(age) AS n FROM data", epsilon=0.6)
    assert session.budget.spent == Fraction(1, 2)  # neither was charged to either
    assert (ana.budget.spent, ben.budget.spent) == (Fraction(1, 2), Fraction(0))
    assert (ana.budget.left, ben.budget.left) == (Fraction(1, 10), Fraction(1, 2))


def test_a_refusal_tells_an_analyst_of_their_own_budget_first() -> None:
    session = over(budget=1)
    ana, ben = AnalystSession(session, "ana", "0.6"), AnalystSession(session, "ben", "0.9")
    ben.sql(COUNT, epsilon="0.7")
    with pytest.raises(BudgetExceeded, match=r"analyst ana has epsilon 0\.6 left") as own:  # and so would all
        ana.sql("SELECT SUM(age) AS n FROM data", epsilon="0.8")
    assert "data set" not in str(own.value)
    with pytest.raises(BudgetExceeded, match="the data set has epsilon") as whole:
        ana.sql("SELECT SUM(age) AS n FROM data", epsilon="0.5")
    assert "Your own budget has epsilon 0.6 left" in whole.value.fix


def test_an_answer_of_another_is_charged_to_the_own_account_alone_and_once() -> None:
    session = over()
    ana, ben = AnalystSession(session, "ana", 1), AnalystSession(session, "ben", 1)
    first = ana.sql(COUNT, epsilon=0.5)
    for free in (False, True):  # the first one is charged, so that it says its price
        answer = ben.sql(COUNT, epsilon=0.5)
        assert answer["n"] == first["n"]
        assert answer.replayed is free
        assert ("free: asked before" in repr(answer)) is free
    assert session.budget.spent == ana.budget.spent == ben.budget.spent == Fraction(1, 2)
    with pytest.raises(BudgetExceeded, match="analyst cyd"):
        AnalystSession(session, "cyd", "0.4").sql(COUNT, epsilon=0.5)
    session.ledger.verify()


def test_answers_of_another_to_several_questions_say_their_price_too() -> None:
    session = over()
    ana, ben = AnalystSession(session, "ana", 1), AnalystSession(session, "ben", 1)
    questions = {"all": COUNT, "old": COUNT + " WHERE age > 60"}
    assert not ana.workload(questions, epsilon=0.5).replayed
    assert [ben.workload(questions, epsilon=0.5).replayed for _ in range(2)] == [False, True]
    assert ben.budget.spent == Fraction(1, 2)


def test_an_account_that_forgets_what_it_was_given_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AnalystAccount, "owes", lambda self, question: False)  # the planted fault
    session = over()
    AnalystSession(session, "ana", 1).sql(COUNT, epsilon=0.5)
    ben = AnalystSession(session, "ben", 1)
    ben.sql(COUNT, epsilon=0.5)
    assert ben.budget.spent == 0


def test_what_an_analyst_was_given_outlives_the_process(tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    with over(ledger=place) as session:
        ana = AnalystSession(session, "ana", 1)
        number = ana.sql(COUNT, epsilon=0.5)["n"]
    with over(ledger=place) as session:
        ana = AnalystSession(session, "ana", 1)
        assert ana.sql(COUNT, epsilon=0.5)["n"] == ana.again(COUNT, epsilon=0.5)["n"] == number
        assert ana.budget.spent == Fraction(1, 2)


def test_again_shows_what_was_paid_for_and_charges_nothing() -> None:
    session = over()
    ana, ben = AnalystSession(session, "ana", 1), AnalystSession(session, "ben", 1)
    with pytest.raises(QueryRefused, match="never given to you"):
        ana.again(COUNT, epsilon=0.5)
    ana.sql(COUNT, epsilon=0.5)
    with pytest.raises(QueryRefused, match="never given to you"):
        ben.again(COUNT, epsilon=0.5)
    look = ana.look(COUNT, epsilon=0.5)
    assert look.key == next(entry.question for entry in session.ledger.entries())
    assert (look.groups, str(look.loss)) == (1, "epsilon 0.5")
    assert ana.look("SHOW TABLES").key == ana.look(f"EXPLAIN {COUNT}").key == ""
    with pytest.raises(InvalidParameter, match="epsilon is missing"):
        ana.look(COUNT)
    assert len(ana.again("SHOW TABLES")) == 1
    assert session.budget.spent == ana.budget.spent == Fraction(1, 2)
    assert ben.budget.spent == 0


def test_a_charge_without_an_answer_is_not_bought_again_by_again(monkeypatch: pytest.MonkeyPatch) -> None:
    session = over()
    ana = AnalystSession(session, "ana", 1)
    with monkeypatch.context() as broken:
        broken.setattr(Ledger, "settle", lambda *args: (_ for _ in ()).throw(OSError("gone")))
        with pytest.raises(OSError, match="gone"):
            ana.sql(COUNT, epsilon=0.5)
    with pytest.raises(QueryRefused, match="keeps no answer"):
        ana.again(COUNT, epsilon=0.5)
    assert session.budget.spent == ana.budget.spent == Fraction(1, 2)


def test_a_change_of_the_guarantee_counts_for_the_analyst_too(tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    with over(ledger=place) as session:
        AnalystSession(session, "ana", 2).sql(COUNT, epsilon="0.25")
    with over(ledger=place, neighbours="replace_one", budget=3) as session:
        ana = AnalystSession(session, "ana", 2)
        assert ana.budget.spent == session.budget.spent == Fraction(1, 2)
        ana.sql("SELECT SUM(age) AS n FROM data", epsilon="0.25")
        assert ana.budget.spent == session.budget.spent == Fraction(3, 4)
        assert session.ledger.verify() == 6


def test_threads_of_two_analysts_never_overdraw() -> None:
    session = over(budget=1)
    faces = [AnalystSession(session, name, "0.7") for name in ("ana", "ben")]

    def ask(face: AnalystSession, at: int) -> None:
        with contextlib.suppress(BudgetExceeded):
            face.sql(f"SELECT COUNT(*) AS n FROM data WHERE age > {at}", epsilon="0.1")

    threads = [threading.Thread(target=ask, args=(faces[at % 2], at)) for at in range(24)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert session.budget.spent == 1
    assert sum(face.budget.spent for face in faces) == 1
    assert all(face.budget.spent <= Fraction(7, 10) for face in faces)
    session.ledger.verify()


@pytest.mark.parametrize("accountant", ["zcdp", "pld"])
def test_the_accountant_of_the_policy_counts_for_the_analyst(accountant: str) -> None:
    budget = {"epsilon": 1, "delta": 1e-6, "accountant": accountant}
    policy = Policy.for_table("data", privacy_unit="row", bounds={"age": (0, 120)}, budget=budget)
    session = dp.protect(AGES, policy=policy)
    ana = AnalystSession(session, "ana", "0.5")
    for at in range(30):
        ana.sql(f"SELECT COUNT(*) AS n FROM data WHERE age > {at}", epsilon="0.02")
    assert 0 < ana.budget.spent <= Fraction(1, 2)
    assert ana.budget.spent == session.budget.spent


def test_closing_an_analysts_session_leaves_the_data_open() -> None:
    session = dp.protect(AGES, privacy_unit="row", budget=2)  # shared ones close otherwise
    with AnalystSession(session, "ana", 1):
        pass
    session.sql(COUNT, epsilon=1)


@pytest.mark.parametrize(
    "name", ["", "Ana", "a b", "ana asked: x", "\u0430na", "ana\n", "ana..b", "1ana", "a" * 61, None]
)
def test_names_that_look_like_others_are_refused(name: object) -> None:
    with pytest.raises(InvalidParameter):
        name_of(name)


def test_an_answer_that_another_process_paid_for_is_not_charged_again(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    here, there = (AnalystSession(over(ledger=path), "ana", 1) for _ in range(2))
    number = here.sql(COUNT, epsilon=0.5)["n"]
    assert there.again(COUNT, epsilon=0.5)["n"] == number
    assert there.sql(COUNT, epsilon=0.5)["n"] == number
    assert there.budget.spent == Fraction(1, 2)


def test_a_budget_begins_anew_only_with_a_version_that_was_never_named(tmp_path: Path) -> None:
    def policy(version: str) -> dp.Policy:
        budget = dp.Budget(epsilon=1, version=version)
        return dp.Policy.for_table("data", privacy_unit="row", bounds={"age": (0, 120)}, budget=budget)

    def left(version: str, number: int) -> tuple[Fraction, Fraction]:
        table = pa.table({"age": [31, 47, 62, number]})
        with dp.protect(table, policy=policy(version), ledger=tmp_path / "ledger.db") as session:
            ana = AnalystSession(session, "ana", 1)
            ana.sql("SELECT COUNT(*) AS n FROM data", epsilon="0.25")
            return session.budget.left, ana.budget.left

    assert left("", 1) == (Fraction(3, 4), Fraction(3, 4))
    assert left("", 2) == (Fraction(1, 2), Fraction(1, 2)), "other data alone are no new budget"
    assert left("2025", 3) == (Fraction(3, 4), Fraction(3, 4))
    assert left("", 4) == (Fraction(1, 4), Fraction(1, 4)), "an earlier version goes on where it was"
    assert left("2025", 5) == (Fraction(1, 2), Fraction(1, 2))
    for wrong in ("Two Words", "a" * 41, "-x", 3):
        with pytest.raises(dp.errors.PolicyError, match="version"):
            dp.Budget(epsilon=1, version=wrong)  # type: ignore[arg-type]


def test_a_preview_shrinks_the_analysts_own_budget_by_the_price_whatever_others_have_spent() -> None:
    session = over(3)
    ana, ben = AnalystSession(session, "ana", 2), AnalystSession(session, "ben", "0.5")
    ana.sql(COUNT, epsilon=1)
    other = "SELECT COUNT(*) AS n FROM data WHERE age > 40"
    for price in ("0.1", "0.5"):
        seen = ben.preview(other, epsilon=price)
        assert (seen.cost, seen.available) == (Fraction(price), Fraction(1, 2))
        assert seen.left == Fraction(1, 2) - Fraction(price)
    ana.sql("SELECT SUM(age) AS n FROM data", epsilon="0.9")
    tight = AnalystSession(session, "carl", 3).preview(other, epsilon="0.2")  # the data set has less left
    assert (tight.cost, tight.available) == (Fraction(1, 5), Fraction(11, 10))


def see_own_plans(session: Session) -> int:
    """Look at questions that differ in one thing each, then ask them; how many plans were made."""
    made = 0
    planned = planner.plan

    def counted(*given: Any) -> Any:
        nonlocal made
        made += 1
        return planned(*given)

    ana = AnalystSession(session, "ana", 2)
    asked: list[dict[str, Any]] = [*({"epsilon": one} for one in (0.25, 0.5, 0.125)),
                                   {"epsilon": 0.25, "confidence": 0.9}]  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(queries, "make_plan", counted)
        looks = [ana.look(COUNT, **one) for one in asked]
        for one, look in zip(asked, looks, strict=True):
            assert ana.look(COUNT, **one) == look
            assert look.loss.epsilon == Fraction(str(one["epsilon"]))
            before = ana.budget.spent
            release = ana.sql(COUNT, **one)
            assert (release.replayed, release.epsilon) == (ana.budget.spent == before, look.loss.epsilon)
            assert release.confidence == one.get("confidence", 0.95)
    return made


def test_a_question_that_was_looked_at_is_planned_once_and_no_other_one_has_its_plan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert see_own_plans(over()) == 4
    monkeypatch.setattr(queries, "CELLS", 0)
    assert see_own_plans(over()) == 12


def test_a_plan_of_another_question_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: a plan is known by the text of its question alone."""
    monkeypatch.setattr(SessionQuestion, "__hash__", lambda self: hash(self.text))
    monkeypatch.setattr(SessionQuestion, "__eq__", lambda self, other: self.text == other.text)
    with pytest.raises(AssertionError):
        see_own_plans(over())


def test_the_charges_of_a_long_ledger_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session, other = over(9, tmp_path / "ledger.db"), over(9, tmp_path / "ledger.db")
    here, there = AnalystSession(session, "ana", 9), AnalystSession(other, "ana", 9)
    read: list[int] = []
    since = Ledger.since

    def noted(self: Ledger, number: int) -> list[Entry]:
        read.append(number)
        return since(self, number)

    monkeypatch.setattr(Ledger, "since", noted)
    for number in range(1, 9):
        there.sql(f"{COUNT} WHERE age < {number + 30}", epsilon=0.25)
        assert here.sql(f"{COUNT} WHERE age < {number + 30}", epsilon=0.25).replayed
    assert read == list(range(0, 16, 2)), "an entry was read twice, or an empty page was asked for"
    assert here.budget.spent == 2
