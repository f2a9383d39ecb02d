"""Entries that were read before are known by their fields, and by nothing less."""

from __future__ import annotations

import inspect
from functools import lru_cache
from pathlib import Path

import pytest

from discreet.errors import LedgerCorrupt
from discreet.ledger import Account, Loss, open_ledger, rows

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
