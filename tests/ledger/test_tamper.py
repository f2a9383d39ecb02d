"""Whoever changes the file with other tools is found out by `verify`, which names the first bad entry."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.depth import in_turn
from tests.servers import connect

from discreet.accounting.event_text import read, written
from discreet.accounting.events import LaplaceNoise
from discreet.errors import LedgerCorrupt
from discreet.ledger import Account, Entry, Head, Loss, open_ledger
from discreet.ledger.chain.book import Book
from discreet.ledger.chain.book_text import told
from discreet.ledger.postgres.rows import PostgresRows
from discreet.ledger.sqlite.head import HeadFile, head_of
from discreet.ledger.sqlite.rows import SqlRows

ACCOUNTS = [Account("data set visits", Loss(3)), Account("analyst ana", Loss(2))]


def build(place: str) -> None:
    """A ledger of four questions: charges 1, 2, 4, 6 and settlements 3, 5, 7; charge 6 stays open."""
    with open_ledger(place) as ledger:
        first = ledger.charge("one", Loss(0.1), ACCOUNTS)
        second = ledger.charge("two", Loss(0.2), ACCOUNTS[:1])
        ledger.settle(first, b"answer one")
        third = ledger.charge("three", Loss(0.3), ACCOUNTS)
        ledger.settle(second, b"answer two")
        ledger.charge("four", Loss(0.4), ACCOUNTS)
        ledger.settle(third, b"answer three")
        assert ledger.verify() == 7
        ledger.salt("visits")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a ledger in a file, which each test copies."""
    folder = tmp_path_factory.mktemp("built")
    build(str(folder / "ledger.db"))
    return folder


@pytest.fixture
def path(durable: str, built: Path) -> str:
    """A ledger of `build` of its own for each test."""
    if "://" in durable:
        build(durable)
    else:
        shutil.copytree(built, Path(durable).parent, dirs_exist_ok=True)
    return durable


ANSWERS = {
    "UPDATE discreet_entry SET answer = x'00' WHERE number =": (
        "UPDATE discreet_answer SET content = '0' WHERE number ="
    ),
    "UPDATE discreet_entry SET answer = NULL WHERE number =": "DELETE FROM discreet_answer WHERE number =",
}
"""How the same is done in PostgreSQL, which keeps answers in a table of their own."""


@contextmanager
def raw(path: str) -> Iterator[Any]:
    """A connection of whoever may do everything; no trigger of the ledger runs in it."""
    if "://" in path:
        url, _, schema = path.partition("#")
        with connect(url) as connection:
            connection.execute(f"SET search_path = {schema}; SET session_replication_role = replica")
            yield connection
        return
    with closing(sqlite3.connect(path)) as file, file:
        for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            file.execute(f"DROP TRIGGER {name}")
        yield file


def tamper(path: str, *statements: str) -> None:
    with raw(path) as connection:
        for statement in statements:
            before, number, rest = statement.rpartition(" ")
            here = ANSWERS.get(before, before) if "://" in path else before
            connection.execute(f"{here}{number}{rest}")


def found(path: str) -> str:
    with pytest.raises(LedgerCorrupt) as caught, open_ledger(path) as ledger:
        ledger.verify()
    return str(caught.value)


ENTRY_COLUMNS = {
    "time": "'2020-01-01T00:00:00.000000+00:00'",
    "kind": "'settle'",
    "question": "'other'",
    "question_key": "'other'",
    "settles": "6",
    "digest": "'00'",
    "guarantee": "'{}'",
    "event": "'{}'",
    "description": "'another'",
    "totals": "previous",
    "previous": "hash",
    "hash": "previous",
}


@pytest.mark.parametrize(("column", "value"), [*ENTRY_COLUMNS.items(), ("time", "7"), ("question", "x'00'")])
def test_an_altered_entry(path: str, column: str, value: str) -> None:
    tamper(path, f"UPDATE discreet_entry SET {column} = {value} WHERE number = 4")
    assert found(path).startswith("Entry 4 of the ledger")


# A deep run writes each value into both parts of all amounts.
@pytest.mark.parametrize(
    ("place", "value"),
    in_turn(
        [(amount, part) for amount in ("loss", "total", "limit") for part in ("epsilon", "delta")],
        ["1/100", "-1", "1/0", "9e99999999", ""],
    ),
)
def test_an_altered_amount(path: str, place: tuple[str, str], value: str) -> None:
    amount, part = place
    tamper(path, f"UPDATE discreet_posting SET {amount}_{part} = '{value}' WHERE number = 4 AND position = 1")
    assert found(path).startswith("Entry 4 of the ledger")


@pytest.mark.parametrize(
    ("statement", "number"),
    [
        ("UPDATE discreet_entry SET answer = x'00' WHERE number = 5", 5),
        ("UPDATE discreet_entry SET answer = NULL WHERE number = 5", 5),
        ("UPDATE discreet_entry SET settles = 6 WHERE number = 5", 5),
        ("DELETE FROM discreet_entry WHERE number = 1", 1),
        ("DELETE FROM discreet_entry WHERE number = 4", 4),
        ("DELETE FROM discreet_entry WHERE number = 5", 5),
        ("DELETE FROM discreet_posting WHERE number = 4", 4),
        ("DELETE FROM discreet_posting WHERE number = 4 AND position = 0", 4),
        ("UPDATE discreet_posting SET account = 'analyst bob' WHERE number = 4 AND position = 1", 4),
        ("UPDATE discreet_posting SET position = 1 - position WHERE number = 4", 4),
        ("UPDATE discreet_posting SET number = 2 WHERE number = 4 AND position = 1", 2),
        ("DELETE FROM discreet_entry WHERE number >= 6", 6),  # but its postings were left behind
        ("DELETE FROM discreet_entry", 1),
    ],
)
def test_other_changes(path: str, statement: str, number: int) -> None:
    tamper(path, statement)
    assert found(path).startswith(f"Entry {number} of the ledger")


def test_another_identity(path: str) -> None:
    tamper(path, "UPDATE discreet_ledger SET identity = '00'")
    assert "another ledger" in found(path)


def test_removed_with_its_successors_moved_up(path: str) -> None:
    moved = (
        "UPDATE {0} SET number = -number WHERE number > 2",
        "UPDATE {0} SET number = -number - 1 WHERE number < 0",
    )
    tamper(
        path,
        "DELETE FROM discreet_entry WHERE number = 2",
        "DELETE FROM discreet_posting WHERE number = 2",
        *(statement.format(table) for table in ("discreet_entry", "discreet_posting") for statement in moved),
    )
    assert found(path).startswith("Entry 2 of the ledger")


def test_reordered(path: str) -> None:
    swap = (
        "UPDATE {0} SET number = -1 WHERE number = 2",
        "UPDATE {0} SET number = 2 WHERE number = 4",
        "UPDATE {0} SET number = 4 WHERE number = -1",
    )
    tamper(path, *(s.format(table) for table in ("discreet_entry", "discreet_posting") for s in swap))
    assert found(path).startswith("Entry 2 of the ledger")


def test_inserted(path: str) -> None:
    columns = (
        "time, kind, question, question_key, digest, guarantee, event, description, totals, previous, hash"
    )
    tamper(
        path,
        f"INSERT INTO discreet_entry (number, {columns}) "
        f"SELECT 8, {columns} FROM discreet_entry WHERE number = 6",
    )
    assert found(path).startswith("Entry 8 of the ledger")


def note(path: str, head: Head) -> None:
    """Write the head file anew, as who may write both files can."""
    with open_ledger(None) as ledger:
        for entry in fresh(path, head.number):
            ledger._store.write(lambda rows, entry=entry: rows.append(entry))  # type: ignore[misc]
        book = ledger._store.read(lambda rows: rows.book())
    book = Book(head, book.tallies)
    with raw(path) as connection:
        (identity,) = connection.execute("SELECT identity FROM discreet_ledger").fetchone()
        if "://" in path:
            text = told(identity, book)
            connection.execute("UPDATE discreet_head SET number = %s, book = %s", (head.number, text))
            return
    file = HeadFile(head_of(path))
    file.write(identity, book, both=True)
    file.close()


def fresh(path: str, number: int) -> list[Entry]:
    start = Book(Head(0, ""), {})
    with raw(path) as connection:
        postgres = "://" in path
        rows = PostgresRows(connection, start, 0, "") if postgres else SqlRows(connection, start, 0)
        return rows.after(0, number)


def test_an_entry_rewritten_with_a_right_hash(path: str) -> None:
    from discreet.ledger.chain.entry import make_entry

    with open_ledger(path) as ledger:
        entries = ledger.entries()
    cheap = make_entry(
        Head(5, entries[4].hash),
        "charge",
        "four",
        totals=entries[4].totals,
        postings=[],
        time=entries[5].time,
    )
    tamper(
        path,
        f"UPDATE discreet_entry SET hash = '{cheap.hash}', totals = '{cheap.totals}' WHERE number = 6",
        "DELETE FROM discreet_posting WHERE number = 6",
    )
    assert found(path).startswith("Entry 7 of the ledger does not follow")
    tamper(path, "DELETE FROM discreet_entry WHERE number = 7")
    note(path, Head(6, cheap.hash))
    assert found(path).startswith("Entry 6 of the ledger is no proper charge")


NOISE = LaplaceNoise(20, 2, neighbours="add_remove")


def test_a_charge_is_the_price_of_its_event_and_keeps_it(path: str) -> None:
    with open_ledger(path) as ledger:
        charge = ledger.charge("five", NOISE, [Account("visits", Loss(100))])
        assert charge.loss == Loss("1/10")
        assert read(ledger.newest(1)[0].event) == NOISE
        assert ledger.verify() == charge.number


@pytest.mark.parametrize("event", [written(LaplaceNoise(10, 2, neighbours="add_remove")), "{}", "some noise"])
def test_a_charge_below_the_price_of_its_event_is_found_though_all_hashes_fit(
    path: str, event: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_ledger(path) as ledger:
        monkeypatch.setattr("discreet.ledger.ledger.priced", lambda _: (Loss("1/10"), event))
        ledger.charge("five", NOISE, [Account("visits", Loss(100))])
        number = ledger.head().number
    assert found(path).startswith(f"Entry {number} of the ledger has another loss than the price")
    # Without the price nothing is wrong with it.
    monkeypatch.setattr("discreet.ledger.chain.verify.see_price", lambda _: None)
    with open_ledger(path) as ledger:
        assert ledger.verify() == number


CUT = tuple(f"DELETE FROM {table} WHERE number >= 6" for table in ("discreet_entry", "discreet_posting"))


def test_a_tail_cut_off_is_found_by_the_head(path: str) -> None:
    tamper(path, *CUT)
    with pytest.raises(LedgerCorrupt, match="Entry 6 of the ledger is gone, with all after it"):
        open_ledger(path)


def test_a_tail_cut_off_from_both_files_is_found_by_a_noted_head_only(path: str) -> None:
    with open_ledger(path) as ledger:
        noted, fifth = ledger.head(), ledger.entries()[4]
    tamper(path, *CUT)
    if "://" in path:
        tamper(path, "DELETE FROM discreet_answer WHERE number >= 6")
    note(path, Head(5, fifth.hash))
    with open_ledger(path) as ledger:
        assert ledger.verify() == 5  # the two files cannot know; SECURITY.md says so
        with pytest.raises(LedgerCorrupt, match="Entry 6 of the ledger is gone"):
            ledger.verify(noted)


def test_nothing_is_built_on_a_tampered_entry(path: str) -> None:
    with open_ledger(path) as ledger:
        tamper(
            path,
            "UPDATE discreet_entry SET answer = x'00' WHERE number = 3",
            "UPDATE discreet_posting SET total_epsilon = '0' WHERE number = 6 AND position = 1",
        )
        with pytest.raises(LedgerCorrupt, match="Entry 3 "):
            ledger.replay("one")
        with pytest.raises(LedgerCorrupt, match="Entry 6 "):
            ledger.charge("more", Loss(0.1), ACCOUNTS)
        with pytest.raises(LedgerCorrupt, match=r"Entry 6 |index of postings"):
            ledger.spent("analyst ana")
    assert found(path).startswith("Entry 6 of the ledger")


def test_nothing_is_charged_once_verify_rejected_the_ledger(path: str) -> None:
    with open_ledger(path) as ledger:
        for at in range(70):  # so that no charge looks at the answer of entry 3, nor at entry 1
            ledger.charge(f"q{at}", Loss("1/1000"), ACCOUNTS[:1])
    tamper(path, "UPDATE discreet_entry SET question = 'other' WHERE number = 1")
    with open_ledger(path) as ledger:
        ledger.charge("before", Loss("1/1000"), ACCOUNTS[:1])  # the check of the tail is bounded
        assert ledger.spent("data set visits") == Loss("1.071"), "and no total depends on what it leaves out"
        with pytest.raises(LedgerCorrupt, match="Entry 1 "):
            ledger.verify()
        with pytest.raises(LedgerCorrupt, match="Entry 1 "):
            ledger.charge("after", Loss("1/1000"), ACCOUNTS[:1])


@pytest.mark.parametrize(("found", "said"), [("question [3]", "Entry 7 "), ("answer [4]", "Entry 10 ")])
def test_verify_reads_the_disk_and_not_its_memory_of_it(tmp_path: Path, found: str, said: str) -> None:
    place = tmp_path / "l.db"
    with open_ledger(place) as ledger:
        for at in range(40):
            ledger.settle(
                ledger.charge(f"question [{at}]", Loss("1/1000"), ACCOUNTS), f"answer [{at}]".encode()
            )
        assert ledger.verify() == 80
        data = place.read_bytes().replace(found.encode(), found.upper().encode())
        with place.open("r+b") as file:  # no connection writes this, so that none hears of it
            file.write(data)
        with pytest.raises(LedgerCorrupt, match=said):
            ledger.verify()


@pytest.mark.parametrize("statement", ["UPDATE discreet_salt SET salt = 'no number'"])
def test_an_altered_secret_is_an_error_with_a_name(path: str, statement: str) -> None:
    tamper(path, statement)
    with open_ledger(path) as ledger, pytest.raises(LedgerCorrupt, match="secret"):
        ledger.salt("visits")
