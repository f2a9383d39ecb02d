"""Questions are kept for their analysts, and an answer of another process is held back until its slot."""

from __future__ import annotations

import contextvars
import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from discreet.ledger import Loss
from discreet.server.history import Settled
from discreet.server.problems import NotThere
from discreet.server.records.asks import Asks, Began
from discreet.session.analyst import PlanSummary
from tests.server.conftest import OpenState


class History:
    """The charges of a data set, made up."""

    def __init__(self) -> None:
        self.kept: dict[str, Settled] = {}

    def of(self, name: str) -> dict[str, Any]:
        return {}

    def answered(self, key: str) -> bool:
        return key in self.kept

    def catch_up(self, *, here: bool) -> None:
        assert here

    def settled(self, key: str) -> Settled | None:
        return self.kept.get(key)


def at(seconds: float) -> dt.datetime:
    return dt.datetime.fromtimestamp(seconds, dt.UTC)


def began(came: int) -> Began:
    """A question that this thread asks."""
    found = Began("hospital", came)
    found.see(PlanSummary("k", 1, Loss(1)), known=False)
    return found


def charged(asks: Asks, name: str, came: int) -> bool:
    """Ask a question that is charged; whether it is a new one."""

    def ask() -> bool:
        one = Began("hospital", came)
        one.see(PlanSummary("k", 1, Loss(1)), known=False)
        new = asks.note(name, "hospital", "k", {"query": "q"}, one)
        one("reading the data")
        one("finishing the answer")
        return new

    return contextvars.copy_context().run(ask)  # in a thread of its own


def test_an_answer_is_held_back_until_the_slot_of_its_question(open_state: OpenState, tmp_path: Path) -> None:
    now, history = [1000.0], History()
    state = open_state(tmp_path / "service.db", lambda: now[0])
    asks = Asks(state, {"hospital": history}, list, 0.25)  # type: ignore[dict-item]
    assert charged(asks, "ana", state.exactly())
    assert not asks.held_back("hospital", "k"), "there is nothing to hold back"
    now[0] = 1000.6
    history.kept["k"] = Settled(at(1000.1), at(1000.6), "ana")  # the slot is at 1 s
    assert asks.held_back("hospital", "k")
    now[0] = 1001.001
    assert not asks.held_back("hospital", "k")
    asks.note("ben", "hospital", "k", {"query": "q"}, began(state.exactly()))
    assert not asks.held_back("hospital", "k"), "who asks later has it at once"
    assert asks.asked("ana", "hospital", "k") == {"query": "q"}
    with pytest.raises(NotThere):
        asks.asked("cyd", "hospital", "k")
    state.close()


def test_who_asked_long_ago_in_vain_keeps_nobody_waiting(open_state: OpenState, tmp_path: Path) -> None:
    now, history = [1000.0], History()
    state = open_state(tmp_path / "service.db", lambda: now[0])
    asks = Asks(state, {"hospital": history}, list, 0.25)  # type: ignore[dict-item]
    charged(asks, "ben", state.exactly())
    now[0] = 9000.0
    charged(asks, "ana", state.exactly())
    history.kept["k"] = Settled(at(9000.05), at(9000.1), "ana")
    now[0] = 9000.26
    assert not asks.held_back("hospital", "k")
    state.close()


def test_an_answer_to_a_question_of_an_early_version_is_not_held_back(
    open_state: OpenState, tmp_path: Path
) -> None:
    """That version did not note when it came; from 1970 on, the next slot would be in 2038."""
    history = History()
    state = open_state(tmp_path / "service.db", lambda: 1.6e9 + 1)
    asks = Asks(state, {"hospital": history}, list, 0.25)  # type: ignore[dict-item]
    charged(asks, "ana", 0)
    history.kept["k"] = Settled(at(1.6e9 - 0.1), at(1.6e9), "ana")
    assert asks.answered("hospital", "k")
    state.close()


def test_a_question_that_is_asked_again_before_its_answer_came_anew(
    open_state: OpenState, tmp_path: Path
) -> None:
    now, history = [1000.0], History()
    state = open_state(tmp_path / "service.db", lambda: now[0])
    asks = Asks(state, {"hospital": history}, list, 0.25)  # type: ignore[dict-item]
    charged(asks, "ana", state.exactly())
    now[0] = 2000.0
    assert not charged(asks, "ana", state.exactly())
    history.kept["k"] = Settled(at(2000.05), at(2000.1), "ana")
    assert asks.held_back("hospital", "k")
    now[0] = 2000.26
    assert not asks.held_back("hospital", "k")
    state.close()


def test_who_asks_the_same_waits_for_the_slot_of_the_one_that_was_charged(
    open_state: OpenState, tmp_path: Path
) -> None:
    now, history = [1000.0], History()
    desk: list[Began] = []
    state = open_state(tmp_path / "service.db", lambda: now[0])
    asks = Asks(state, {"hospital": history}, lambda: desk, 0.25)  # type: ignore[dict-item]
    charged(asks, "ana", state.exactly())
    first = began(state.exactly())
    desk.append(first)
    first("reading the data")
    history.kept["k"] = Settled(at(1000.1), at(1000.6), "ana")  # the slot is at 1 s
    assert not asks.to_wait_for("hospital", "k"), "its own answer is for the one who bought it"
    for late in (0.3, 0.4):  # two of them, who must not wait for each other
        now[0] = 1000 + late
        desk.append(began(state.exactly()))
        asks.note("ben", "hospital", "k", {}, began(state.exactly()))
    assert asks.to_wait_for("hospital", "k")
    now[0] = 1001.001
    assert asks.to_wait_for("hospital", "k"), "it is at work until its slot, whatever the clock of the ledger"
    desk.remove(first)
    assert not asks.to_wait_for("hospital", "k")
    desk.clear()
    now[0] = 1000.9
    assert asks.to_wait_for("hospital", "k"), "the slot of another process has not come"
    state.close()


def test_a_clock_that_is_set_back_keeps_nobody_waiting_longer_than_the_slot(
    open_state: OpenState, tmp_path: Path
) -> None:
    now, steady, history = [5000.0], [70.0], History()
    state = open_state(tmp_path / "service.db", lambda: now[0])
    asks = Asks(state, {"hospital": history}, list, 0.25, lambda: steady[0])  # type: ignore[dict-item]
    charged(asks, "ana", state.exactly())
    history.kept["k"] = Settled(at(5000.1), at(5000.6), "ana")  # the slot is 0.4 s later
    now[0] = 1000.0  # set back by more than an hour
    for waited in (0.0, 0.2, 0.39):
        steady[0] = 70 + waited
        assert asks.to_wait_for("hospital", "k")
    assert now[0] < 5001.0, "by the clock of the machine the slot is an hour away"
    steady[0] = 70.41
    assert not asks.to_wait_for("hospital", "k")
    assert asks.answered("hospital", "k")
    state.close()


def test_a_clock_that_is_right_shortens_no_slot(open_state: OpenState, tmp_path: Path) -> None:
    now, history = [1000.0], History()
    state = open_state(tmp_path / "service.db", lambda: now[0])
    asks = Asks(state, {"hospital": history}, list, 0.25, lambda: now[0])  # type: ignore[dict-item]
    charged(asks, "ana", state.exactly())
    history.kept["k"] = Settled(
        at(1000.0), at(1100.0), "ana"
    )  # longer than any time-out: the slot is at 128 s
    seen = []
    for now[0] in (1100.0, 1110.0, 1127.9, 1128.1):
        seen.append(asks.held_back("hospital", "k"))
    assert seen == [True, True, True, False]
    state.close()


def test_who_asks_again_before_the_answer_does_not_move_its_slot(
    open_state: OpenState, tmp_path: Path
) -> None:
    """In another process, before the charge and after it: a second slot would tell more of the time."""
    now, history = [1000.0], History()
    state = open_state(tmp_path / "service.db", lambda: now[0])
    asks = Asks(state, {"hospital": history}, list, 0.25)  # type: ignore[dict-item]
    first = Began("hospital", state.exactly())
    first.see(PlanSummary("k", 1, Loss(1)), known=False)
    assert asks.note("ana", "hospital", "k", {}, first)
    for now[0], name in ((1000.05, "ana"), (1000.06, "ben")):
        asks.note(name, "hospital", "k", {}, began(state.exactly()))
    first("reading the data")
    now[0] = 1000.4
    assert not asks.note("ana", "hospital", "k", {}, began(state.exactly()))
    history.kept["k"] = Settled(at(1000.1), at(1000.6), "ana")  # the slot is at 1 s
    seen = []
    for now[0] in (1000.61, 1000.99, 1001.001):
        seen.append(asks.held_back("hospital", "k"))
    assert seen == [True, True, False]
    state.close()


def test_who_is_charged_for_a_question_that_they_asked_before_has_the_slot_of_the_second_time(
    open_state: OpenState, tmp_path: Path
) -> None:
    """Their own first question may have failed, or another thread of theirs may have been the first."""
    now, history = [1000.0], History()
    state = open_state(tmp_path / "service.db", lambda: now[0])
    asks = Asks(state, {"hospital": history}, list, 0.25)  # type: ignore[dict-item]
    assert asks.note("ana", "hospital", "k", {}, began(state.exactly()))
    now[0] = 1000.3
    assert not charged(asks, "ana", state.exactly())
    history.kept["k"] = Settled(at(1000.35), at(1000.4), "ana")
    for now[0], held in ((1000.54, True), (1000.56, False)):
        assert asks.held_back("hospital", "k") is held
    state.close()


def test_the_desk_is_told_when_the_ledger_kept_the_answer(open_state: OpenState, tmp_path: Path) -> None:
    history = History()
    state = open_state(tmp_path / "service.db", lambda: 1000.0)
    asks = Asks(state, {"hospital": history}, list, 0.25)  # type: ignore[dict-item]
    one = began(state.exactly())
    history.kept["k"] = Settled(at(1000.1), at(1000.6), "ana")
    assert asks.took(one) is None, "it was not charged"
    one("reading the data")
    assert asks.took(one) == pytest.approx(0.6)
    later = began(state.exactly() + 1_000_000)
    later("reading the data")
    assert asks.took(later) is None, "an earlier answer is not its own"
    state.close()


def test_a_question_that_another_process_has_answered_hides_that_answer_from_nobody(
    open_state: OpenState, tmp_path: Path
) -> None:
    """It was not known to be answered when the question began; its own slot is then no other answer's."""
    now, history, desk = [1000.0], History(), list[Began]()
    state = open_state(tmp_path / "service.db", lambda: now[0])
    asks = Asks(state, {"hospital": history}, lambda: desk, 0.25)  # type: ignore[dict-item]
    desk.append(began(state.exactly()))
    assert asks.at_work("hospital", "k")
    history.kept["k"] = Settled(at(900.0), at(900.1), "ben")
    assert not asks.to_wait_for("hospital", "k")
    assert asks.answered("hospital", "k")
    state.close()
