"""Entries that were read before are known by their fields, and by nothing less."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from discreet.errors import BudgetExceeded, LedgerCorrupt
from discreet.ledger import Account, Entry, Ledger, Loss, open_ledger, rows
from discreet.ledger.group_commit import QueuedWork
from discreet.ledger.rows import TableRows
from discreet.ledger.store import NOTHING, Needs

LINE = ("data", 1, 0, "1/2", "0", "1/2", "0", "2", "0", "pure", "1/4", 1)


def test_a_field_of_another_type_is_another_field() -> None:
    assert rows._posting(LINE).count == 1
    with pytest.raises(ValueError, match=r"^$"):
        rows._posting((*LINE[:-1], 1.0))
    with pytest.raises((ValueError, TypeError)):
        rows._posting((*LINE[:3], b"1/2", *LINE[4:]))


def test_a_field_of_another_type_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: 1 and 1.0 are the same to the cache."""
    monkeypatch.setattr(rows, "_read_posting", lru_cache(256)(inspect.unwrap(rows._read_posting)))
    with pytest.raises(pytest.fail.Exception):
        test_a_field_of_another_type_is_another_field()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE discreet_entry SET question = 'other', question_key = 'x' WHERE number = 3",
        "UPDATE discreet_entry SET description = 'other' WHERE number = 3",
        "UPDATE discreet_entry SET hash = replace(hash, substr(hash, 1, 1), 'f') || '' WHERE number = 3 "
        "AND substr(hash, 1, 1) <> 'f'",
        "UPDATE discreet_posting SET loss_epsilon = '1/1000' WHERE number = 3",
        "DELETE FROM discreet_posting WHERE number = 3",
    ],
)
def test_an_entry_that_is_known_and_altered_is_refused(tmp_path: Path, change: str) -> None:
    """By the one who knows it, while the ledger is open."""
    ledger = open_ledger(tmp_path / "l.db")
    account = Account("data", Loss(3))
    for number in range(3):
        ledger.charge(f"question {number}", Loss("1/10"), [account], guarantee="{}")
    connection = ledger._store._connection  # type: ignore[attr-defined]
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    done = connection.execute(change).rowcount
    if done:
        with pytest.raises(LedgerCorrupt):
            ledger.charge("one more", Loss("1/10"), [account], guarantee="{}")


class Untyped(dict):  # type: ignore[type-arg]
    """Knows entries by their fields alone."""

    def get(self, key, default=None):  # type: ignore[no-untyped-def]
        return next((entry for (fields, _), entry in self.items() if fields == key[0]), default)


def see_types() -> None:
    with open_ledger(None) as ledger:
        ledger.charge("question", Loss("1/10"), [Account("data", Loss(3))], guarantee="{}")
        (entry,) = ledger.entries()
    rows._remember(entry)
    number, *fields = (*rows.entry_row(entry), *rows.posting_rows(entry)[0])
    assert rows._entry(len(rows.ENTRY), number, *fields) is entry
    with pytest.raises(LedgerCorrupt):
        rows._entry(len(rows.ENTRY), float(number), *fields)


def see_types_of_postings() -> None:
    with open_ledger(None) as ledger:
        ledger.charge("question", Loss("1/10"), [Account("data", Loss(3))], guarantee="{}")
        (entry,) = ledger.entries()
    rows._remember(entry)
    (line,) = rows.posting_rows(entry)
    assert rows._posting(line) is entry.postings[0]
    assert rows._posting((line[0], line[1], line[2], "1/5", *line[4:])).loss == Loss("1/5")
    with pytest.raises(ValueError, match=r"^$"):
        rows._posting((*line[:-1], float(line[-1])))


def test_a_posting_that_was_written_is_known_by_its_fields_and_their_types() -> None:
    see_types_of_postings()


def test_a_type_of_a_posting_that_is_passed_over_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: 1 and 1.0 are the same to what was written."""
    monkeypatch.setattr(rows, "_posted", Untyped())
    with pytest.raises(pytest.fail.Exception):
        see_types_of_postings()


def test_an_entry_that_was_written_is_known_by_its_fields_and_their_types() -> None:
    see_types()


def test_a_type_that_is_passed_over_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: 1 and 1.0 are the same to what was written."""
    monkeypatch.setattr(rows, "_written", Untyped())
    with pytest.raises(pytest.fail.Exception):
        see_types()


# Rows that are read and written for a whole batch ---------------------------------------------------------


def test_rows_that_were_read_for_a_batch_are_compared_as_any(
    durable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: an account's latest posting is not found, so that its budget would begin anew."""
    fetch = TableRows.fetch

    def forgetful(self: TableRows, needs: Sequence[Needs]) -> None:
        fetch(self, needs)
        self._fetched = dict.fromkeys(self._fetched)

    with open_ledger(durable) as ledger:
        ledger.charge("one", Loss(1), [Account("d", Loss(2))])
        monkeypatch.setattr(TableRows, "fetch", forgetful)
        with pytest.raises(LedgerCorrupt, match="index of postings"):
            ledger.charge("two", Loss(1), [Account("d", Loss(2))])
        monkeypatch.undo()
        with pytest.raises(BudgetExceeded):
            ledger.charge("three", Loss(2), [Account("d", Loss(2))])
        assert ledger.verify() == 1


def settled_twice(ledger: Ledger) -> list[str]:
    """Settle two charges in one batch, one of them twice; the words of each error."""
    charges = [ledger.charge(f"q{at}", Loss(1), [Account("d", Loss(9))]) for at in range(2)]
    one, two = charges
    requests: list[QueuedWork] = []
    store: Any = ledger._store
    write = store.write
    store.write = lambda work, needs=NOTHING: requests.append(QueuedWork(work, True, needs))
    for charge in (one, two, one):
        ledger.settle(charge, charge.question.encode())
    store.write = write
    store._batch([*requests])
    for request in requests:  # those of a batch that failed are tried again alone, as `CommitGroup` does
        if not request.done:
            store._batch([request])
    assert [ledger.replay(charge.question) for charge in charges] == [b"q0", b"q1"]
    assert ledger.verify() == 4
    return [str(request.error or "") for request in requests]


def test_one_batch_settles_each_charge_once(durable: str) -> None:
    with open_ledger(durable) as ledger:
        first, second, third = settled_twice(ledger)
        assert (first, second) == ("", "")
        assert "settled already" in third


def test_of_a_batch_only_the_request_at_fault_fails(durable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: nobody sees that the same batch has settled it; then the database refuses the whole batch."""
    append = TableRows.append

    def forgetful(self: TableRows, entry: Entry, answer: BinaryIO | None = None) -> None:
        kept = dict(self._charges)
        append(self, entry, answer)
        self._charges = kept

    monkeypatch.setattr(TableRows, "append", forgetful)
    with open_ledger(durable) as ledger:
        first, second, third = settled_twice(ledger)
        assert (first, second) == ("", "")
        assert third
