"""The very same question again is free, and a preview, an explanation and a workload's preview say so."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pyarrow as pa
import pytest
from tests import shared

from discreet.ledger.ledger import Ledger
from discreet.session import Session
from discreet.session.analyst import AnalystSession

COUNT = "SELECT COUNT(*) AS n FROM data"


@pytest.fixture
def session() -> Iterator[Session]:
    ages = pa.table({"age": [31, 47, 62]})
    with shared.protect(ages, privacy_unit="row", bounds={"age": (0, 120)}, budget=10) as session:
        yield session


def test_what_was_answered_is_free_in_every_writing_of_it(session: Session) -> None:
    before = session.preview(COUNT, epsilon="0.5")
    assert not before.replayed
    session.sql(COUNT, epsilon="0.5")
    for seen in (
        session.preview(COUNT, epsilon="0.5"),
        session.preview("select count( * ) as people FROM data", epsilon="0.5", confidence=0.9),
        session.preview(COUNT, epsilon="0.5", reuse=True),
        session.preview(COUNT, epsilon="0.5", reuse=False),
    ):
        assert seen.replayed
        assert (seen.cost, seen.left) == (Fraction(0), session.budget.left)
    said = repr(session.preview(COUNT, epsilon="0.5"))
    assert said.startswith("free: answered before, for epsilon 0.5 · 9.5 left"), said
    assert session.sql(COUNT, epsilon="0.5").replayed
    assert not session.preview(COUNT, epsilon="0.4", reuse=False).replayed
    assert session.preview(COUNT, epsilon="0.4", reuse=False).cost
    assert "answered before" in repr(session.explain(COUNT, epsilon="0.5"))
    assert "answered before" not in repr(session.explain(COUNT, epsilon="0.4"))


def test_the_epsilon_that_an_error_needs_may_have_been_paid(session: Session) -> None:
    paid = session.sql(COUNT, within={"n": 20}, reuse=False)
    seen = session.preview(COUNT, within={"n": 20}, reuse=False)
    assert (seen.epsilon, seen.cost, seen.replayed) == (paid.epsilon, Fraction(0), True)


def test_a_workload_that_was_answered_is_free(session: Session) -> None:
    asked = {"all": COUNT, "mean": "SELECT AVG(age) AS age FROM data", "none": "SELECT 1 AS one"}
    assert not session.preview_workload(asked, epsilon=1).replayed
    session.workload(asked, epsilon=1)
    seen = session.preview_workload(asked, epsilon=1)
    assert seen.replayed
    assert [one.cost for one in seen.values()] == [0, 0, 0]
    assert "free: asked before" in repr(seen)


def test_a_question_that_costs_nothing_is_no_replay(session: Session) -> None:
    assert not session.preview("SELECT * FROM information_schema.tables", epsilon=1).replayed


def test_an_analyst_is_told_of_nothing_that_others_paid_for(session: Session) -> None:
    ana, ben = (AnalystSession(session, name, 2) for name in ("ana", "ben"))
    ana.sql(COUNT, epsilon=1)
    assert ana.preview(COUNT, epsilon=1).replayed
    seen = ben.preview(COUNT, epsilon=1)
    assert (seen.replayed, seen.cost, seen.known) == (False, Fraction(1), "")
    assert "answered before" not in repr(ben.explain(COUNT, epsilon=1))
    ben.sql(COUNT, epsilon=1)
    assert ben.preview(COUNT, epsilon=1).replayed


def test_an_account_that_forgets_who_paid_would_be_seen(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana, ben = (AnalystSession(session, name, 2) for name in ("ana", "ben"))
    ana.sql(COUNT, epsilon=1)
    monkeypatch.setattr(type(ben._account), "owes", lambda *_: False)
    assert ben.preview(COUNT, epsilon=1).replayed, "the check above would see this fault"


def test_a_charge_without_an_answer_is_not_free(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError

    monkeypatch.setattr(Ledger, "settle", full)
    with pytest.raises(OSError):
        session.sql(COUNT, epsilon=1)
    monkeypatch.undo()
    assert not session.preview(COUNT, epsilon=1).replayed


def test_an_answer_that_is_kept_back_is_as_good_as_not_there(session: Session) -> None:
    kept_back: list[bool] = [True]
    ana = AnalystSession(session, "ana", 2, hidden=lambda _: kept_back[0])
    ana.sql(COUNT, epsilon=1)
    assert not ana.preview(COUNT, epsilon=1).replayed
    kept_back[0] = False
    assert ana.preview(COUNT, epsilon=1).replayed
