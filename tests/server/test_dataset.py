"""Data sets in plain words, and the sessions of their analysts."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from discreet.ledger import Ledger
from discreet.ledger.terms import Terms
from discreet.server.dataset import open_dataset
from discreet.server.records.asks import Asks, Began
from discreet.server.records.state import ServiceState
from discreet.session.analyst import AnalystSession
from tests.server.conftest import OpenState, make_hospital


def test_a_data_set_is_told_in_words_and_columns(tmp_path: Path) -> None:
    found = open_dataset(make_hospital(tmp_path / "hospital"))
    assert found.name == "hospital"
    said = dict(found.words())
    assert said["visits"].startswith("Protected is each patient_id, with all of its rows")
    assert "epsilon 50" in said["budget"]
    (table,) = found.schema()
    assert {one["column_name"]: one["values"] for one in table["columns"]}["county"] == ["A", "B", "C"]
    found.session.close()


@pytest.mark.parametrize(
    ("most", "words"), [(1, "At most 1 row of each counts."), (3, "At most 3 rows of each count.")]
)
def test_how_many_rows_of_each_count(tmp_path: Path, most: int, words: str) -> None:
    place = make_hospital(tmp_path / "hospital")
    place.write_text(place.read_text().replace("max_rows = 3", f"max_rows = {most}"))
    found = open_dataset(place)
    assert dict(found.words())["visits"].endswith(words)
    found.session.close()


def test_an_analyst_keeps_a_session_until_the_budget_changes(tmp_path: Path) -> None:
    found = open_dataset(make_hospital(tmp_path / "hospital"))
    first = found.analyst("ana", Terms(Fraction(1)))
    assert found.analyst("ana", Terms(Fraction(1))) is first
    first.sql("SELECT COUNT(*) AS n FROM visits", epsilon="0.5")
    assert found.analyst("ana", Terms(Fraction(2))).budget.left == Fraction(3, 2)
    assert found.analyst("ana", Terms(Fraction(1, 4))).budget.left == 0
    found.session.close()


def test_no_preview_tells_of_an_answer_before_its_slot(tmp_path: Path, open_state: OpenState) -> None:
    """The moment at which a preview became free would tell how long the question took."""
    now = [4e9]
    found = open_dataset(make_hospital(tmp_path / "hospital"))
    state = open_state(tmp_path / "service.db", lambda: now[0])
    desk: list[object] = []
    ana = found.analyst("ana", Terms(Fraction(5)))
    asked: dict[str, Any] = {"query": "SELECT COUNT(*) AS n FROM visits", "epsilon": "0.5"}
    key = ana.look(**asked).key
    ana.sql(**asked)
    assert ana.preview(**asked).replayed, "without a service there are no slots"
    found.asks = Asks(state, {"hospital": found.history}, lambda: desk, 1024.0)
    assert found.history.paid("ana", key)
    settled = found.history.settled(key)
    assert settled is not None
    now[0] = settled.kept.timestamp() + 1
    assert not ana.preview(**asked).replayed, "the slot of another process has not come"
    now[0] += 2000
    assert ana.preview(**asked).replayed
    began = Began("hospital", 0)
    began.key = key
    desk.append(began)
    assert not ana.preview(**asked).replayed, "this process is at work on it"
    desk.clear()
    assert ana.preview(**asked).replayed
    found.session.close()


def test_a_preview_reads_the_same_whether_an_answer_waits_for_its_slot_or_is_not_there(
    tmp_path: Path, open_state: OpenState, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its time would tell when the answer came; and one who has not paid reads nothing of an answer at all."""
    found = open_dataset(make_hospital(tmp_path / "hospital"))
    state = open_state(tmp_path / "service.db", lambda: 4e9)
    found.asks = Asks(state, {"hospital": found.history}, list, 1024.0)
    ana, ben = (found.analyst(name, Terms(Fraction(5))) for name in ("ana", "ben"))
    asked: dict[str, Any] = {"query": "SELECT COUNT(*) AS n FROM visits", "epsilon": "0.5"}
    read: list[str] = []
    has_settled, every = Ledger.has_settled, ServiceState.all

    def settlement(ledger: Ledger, question: str, **given: bool) -> bool:
        read.append("a settlement")
        return has_settled(ledger, question, **given)

    def rows(own: ServiceState, *given: Any) -> Any:
        read.append("rows")
        return every(own, *given)

    monkeypatch.setattr(Ledger, "has_settled", settlement)
    monkeypatch.setattr(ServiceState, "all", rows)

    def reads(session: AnalystSession) -> list[str]:
        read.clear()
        assert not session.preview(**asked).replayed
        return read.copy()

    nobody = reads(ana)
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "settle", lambda *_, **__: [][0])
        with pytest.raises(IndexError):
            ana.sql(**asked)
    charged = reads(ana)
    ana.sql(**asked)
    key = ana.look(**asked).key
    assert found.history.paid("ana", key)
    settled = found.history.settled(key)
    assert settled is not None
    monkeypatch.setattr(state, "_clock", lambda: settled.kept.timestamp() + 1)
    assert reads(ana) == charged != nobody
    assert reads(ben) == nobody == []
    found.session.close()


def test_who_asks_what_is_being_answered_waits_for_its_slot_and_pays_then(tmp_path: Path) -> None:
    """The moment of a second answer, or of its charge, would tell how long the first question took."""
    found = open_dataset(make_hospital(tmp_path / "hospital"))
    ana, ben = (found.analyst(name, Terms(Fraction(5))) for name in ("ana", "ben"))
    asked: dict[str, Any] = {"query": "SELECT COUNT(*) AS n FROM visits", "epsilon": "0.5"}
    ana.sql(**asked)
    spent: list[Fraction] = []

    class Slots:
        def to_wait_for(self, dataset: str, key: str) -> bool:
            assert (dataset, key) == ("hospital", ben.look(**asked).key)
            spent.append(ben.budget.spent)
            return len(spent) < 4

    found.asks = Slots()  # type: ignore[assignment]
    assert not ben.sql(**asked).replayed
    assert len(spent) >= 4
    assert set(spent) == {0}, "nothing is charged before the slot"
    assert ben.budget.spent == Fraction(1, 2)
    found.session.close()
