"""Whether a question is new is known without a transaction, and never wrongly of one that was settled."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.depth import DEEP
from tests.warm import programs

from discreet.ledger import Account, Ledger, Loss, open_ledger, settled_questions
from discreet.ledger.chain.entry import Entry
from discreet.ledger.faults import SettledElsewhere
from discreet.ledger.rows import key_of
from discreet.ledger.settled_questions import SettledQuestions
from discreet.ledger.sqlite import store
from discreet.ledger.sqlite.store import SqliteStore

VISITS = Account("data set visits", Loss(1000))
MANY = 100 if DEEP else 30
LAST = f"old {MANY - 1}"


def answered(ledger: Ledger, question: str) -> None:
    ledger.settle(ledger.charge(question, Loss(1), [VISITS]), question.encode())


def reads(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Every transaction that only reads, from now on."""
    seen: list[object] = []
    read = SqliteStore.read

    def watched(self: SqliteStore, work: Any) -> Any:
        seen.append(work)
        return read(self, work)

    monkeypatch.setattr(SqliteStore, "read", watched)
    return seen


def test_a_new_question_needs_no_transaction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_ledger(tmp_path / "l.db") as ledger:
        for at in range(MANY):
            answered(ledger, f"old {at}")
    with open_ledger(tmp_path / "l.db") as ledger:
        answered(ledger, "first")
        seen = reads(ledger, monkeypatch)
        assert ledger.replay("new") is None
        assert [ledger.has_settled(one) for one in ("new", "old 0", LAST, "first")] == [
            False,
            True,
            True,
            True,
        ]
        assert not seen
        for question in ("old 0", LAST, "first"):
            assert ledger.replay(question) == question.encode()
        answered(ledger, "new")
        assert ledger.replay("new") == b"new"
        assert ledger.verify() == 2 * MANY + 4


ELSEWHERE = """
import sys
from discreet.ledger import Account, Loss, open_ledger
with open_ledger(sys.argv[1]) as ledger:
    ledger.settle(ledger.charge("theirs", Loss(1), [Account("data set visits", Loss(1000))]), b"theirs")
"""


def test_what_another_process_settled_is_seen(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "l.db") as ledger:
        answered(ledger, "first")
        assert ledger._store.has_settled("theirs") is False
        subprocess.run(
            [programs() / "python", "-", tmp_path / "l.db"], input=ELSEWHERE, text=True, check=True
        )
        assert ledger._store.has_settled("theirs")
        assert ledger.replay("theirs") == b"theirs"
        answered(ledger, "second")
        assert ledger._store.has_settled("third") is False
        assert ledger._store.has_settled("theirs")


def test_a_stale_memory_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: nobody looks at how far the ledger reaches now."""
    monkeypatch.setattr(store, "read_number", lambda path: 0)
    with pytest.raises(AssertionError):
        test_what_another_process_settled_is_seen(tmp_path)


def test_a_settlement_that_nobody_noted_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: entries are followed by their number alone."""
    monkeypatch.setattr(
        settled_questions.SettledQuestions,
        "follow",
        lambda self, number, last: setattr(self, "_number", number),
    )
    with pytest.raises(AssertionError):
        test_a_new_question_needs_no_transaction(tmp_path, monkeypatch)


def test_many_settlements_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settled_questions, "MOST", 3)
    with open_ledger(tmp_path / "l.db") as ledger:
        for at in range(9):
            answered(ledger, f"{at}")
            assert ledger.replay(f"{at}") == f"{at}".encode()
    with open_ledger(tmp_path / "l.db") as ledger:
        answered(ledger, "x")
        assert ledger._store.has_settled("y") is None
        assert ledger.replay("8") == b"8"
        assert ledger.has_settled("8")
        assert not ledger.has_settled("y")


def test_a_closed_or_headless_ledger_knows_nothing(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path / "l.db")
    answered(ledger, "first")
    (tmp_path / "l.db-head").rename(tmp_path / "away")
    assert ledger._store.has_settled("new") is None
    (tmp_path / "away").rename(tmp_path / "l.db-head")
    assert ledger._store.has_settled("new") is False
    ledger.close()
    assert ledger._store.has_settled("new") is None


def charged_once(ledger: Ledger, question: str) -> bool:
    """Whether a question is charged that is to be charged once."""
    try:
        ledger.charge(question, Loss(1), [VISITS], once=True)
    except SettledElsewhere:
        return False
    return True


@pytest.mark.parametrize("many", [False, True])
def test_a_question_that_another_process_settled_is_not_charged_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: bool
) -> None:
    if many:  # more than are kept: then each is looked up
        monkeypatch.setattr(settled_questions, "MOST", 2)
    with open_ledger(tmp_path / "l.db") as ours, open_ledger(tmp_path / "l.db") as theirs:
        for at in range(5):
            answered(ours, f"ours {at}")
            answered(theirs, f"theirs {at}")
        known = ours.has_settled("theirs 4", here=True)
        assert known is many  # else it is not known here yet
        before = ours.spent(VISITS.name)
        assert not any(charged_once(ours, f"{who} {at}") for who in ("ours", "theirs") for at in range(5))
        assert ours.spent(VISITS.name) == before
        assert charged_once(ours, "new")
        assert charged_once(ours, "new")  # it has no answer yet
        assert theirs.verify() == ours.verify() == 22


def test_a_charge_that_looks_no_further_than_its_process_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault."""
    monkeypatch.setattr(
        SettledQuestions, "has_within", lambda self, question, number, last: self.has_here(question)
    )
    with open_ledger(tmp_path / "l.db") as ours, open_ledger(tmp_path / "l.db") as theirs:
        answered(ours, "first")
        answered(theirs, "second")
        assert charged_once(ours, "second")


def test_a_transaction_that_read_no_further_than_a_gap_knows_nothing(tmp_path: Path) -> None:
    """Of the entries after those that are known, the first are not there: one of them may settle the question."""
    with open_ledger(tmp_path / "l.db") as ledger:
        for at in range(4):
            answered(ledger, f"{at}")
        entries = ledger.since(0)
    known = SettledQuestions(lambda: 8, key_of)
    known.load(2, [key_of("0")])

    def within(question: str, last: list[Entry], number: int = 8) -> bool | None:
        return known.has_within(question, number, last)

    for question, settled in (("0", True), ("1", True), ("3", True), ("new", False)):
        assert within(question, entries[2:]) is settled
        assert within(question, entries) is settled
    for last in (entries[3:], entries[4:], entries[2:7], []):
        assert within("1", last) is within("new", last) is None
        assert within("0", last), "one that is known to be settled stays so"
    assert within("new", [], 2) is False


def test_questions_of_one_batch_are_charged_once(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "l.db") as ledger:
        answered(ledger, "first")
        with ThreadPoolExecutor(16) as pool:
            assert not any(pool.map(charged_once, [ledger] * 64, ["first"] * 64))
            assert all(pool.map(charged_once, [ledger] * 64, map(str, range(64))))
