"""Whether a question is new is known without a transaction, and never wrongly of one that was settled."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.depth import DEEP
from tests.warm import programs

from discreet.ledger import Account, Ledger, Loss, open_ledger, settled_questions
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
