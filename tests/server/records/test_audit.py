"""A line of the audit log that was altered, removed, moved or cut off is found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet.errors import LedgerCorrupt, LedgerError
from discreet.ledger import Head
from discreet.server.records.audit import AuditEntry, followed, next_line, start, verify_export
from discreet.server.records.state import ServiceState
from tests.server.conftest import OpenState
from tests.servers import connect


def tampered(place: str, statement: str) -> None:
    if "://" in place:
        url, _, schema = place.partition("#")
        with connect(url) as connection:
            connection.execute(f"SET search_path = {schema}; SET session_replication_role = replica")
            connection.execute(statement)
        return
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(place)) as file, file:
        for verb in ("update", "delete"):
            file.execute(f"DROP TRIGGER audit_{verb}")
        file.execute(statement)


@pytest.fixture
def place(open_state: OpenState, kept: str) -> str:
    state = open_state(kept)
    for at in range(5):
        state.note("stella", "token made", str(at))
    assert state.verify() == state.head()
    state.close()
    return kept


@pytest.mark.parametrize(
    ("statement", "number"),
    [
        *(
            (f"UPDATE audit SET {name} = 'x' WHERE number = 3", 3)
            for name in ("who", "action", "about", "previous")
        ),
        ("UPDATE audit SET made = 7 WHERE number = 3", 3),
        ("UPDATE audit SET hash = previous WHERE number = 3", 3),
        ("DELETE FROM audit WHERE number = 1", 1),
        ("DELETE FROM audit WHERE number = 3", 3),
        ("DELETE FROM audit WHERE number = 5", 5),
        ("DELETE FROM audit", 1),
        ("UPDATE head SET identity = 'x'", 1),
        ("UPDATE head SET number = 9", 6),
    ],
)
def test_a_change_is_found(open_state: OpenState, place: str, statement: str, number: int) -> None:
    tampered(place, statement)
    state = open_state(place)
    with pytest.raises(LedgerCorrupt, match=f"Line {number} of the audit log"):
        state.verify()
    state.close()


def test_a_log_that_was_cut_with_its_head_is_found_by_a_noted_one(open_state: OpenState, place: str) -> None:
    state = open_state(place)
    noted = state.head()
    fourth = state.audit(1, before=5)[0]
    state.close()
    tampered(place, "DELETE FROM audit WHERE number = 5")
    state = open_state(place)
    state.run("UPDATE head SET number = ?, hash = ?", fourth.head)
    assert state.verify() == fourth.head
    with pytest.raises(LedgerCorrupt, match="Line 5"):
        state.verify(noted)
    state.note("stella", "another thing")
    with pytest.raises(LedgerCorrupt, match="Line 5"):
        state.verify(noted)
    state.close()


def test_a_chain_is_followed_from_an_export_alone() -> None:
    head, lines = start("0f"), list[AuditEntry]()
    for at in range(3):
        lines.append(next_line(lines[-1].head if lines else head, at, "ana", "signed in", ""))
    exported: list[dict[str, Any]] = [vars(line) for line in lines]
    assert list(followed(head, map(AuditEntry.of, exported)))[-1] == lines[-1].head
    with pytest.raises(LedgerCorrupt, match="Line 2"):
        list(followed(head, [lines[0], lines[2]]))
    with pytest.raises(LedgerCorrupt, match="Line 1"):
        list(followed(Head(0, "00"), lines))


def test_the_lines_of_an_earlier_version_become_the_beginning_of_the_chain(
    open_state: OpenState, tmp_path: Path
) -> None:
    import sqlite3
    from contextlib import closing

    from discreet.server.records.sqlite import MIGRATIONS

    place = tmp_path / "service.db"
    with closing(sqlite3.connect(place)) as file, file:
        for statement in MIGRATIONS[0]:
            file.execute(statement)
        file.execute("INSERT INTO people VALUES ('ana', 'analyst', 5)")
        file.execute("INSERT INTO grants VALUES ('ana', 'hospital', '1/3')")
        file.execute(
            "INSERT INTO audit (made, who, action, about) VALUES (5, 'stella', 'person added', 'ana')"
        )
        file.execute(
            "INSERT INTO audit (number, made, who, action, about) VALUES (9, 6, 'ana', 'signed in', '')"
        )
    state = open_state(place)
    assert [(line.number, line.who) for line in state.audit(9)] == [(2, "ana"), (1, "stella")]
    assert state.verify().number == 2
    state.note("stella", "budget set")
    assert state.verify().number == 3
    state.close()


def test_an_export_is_verified_by_itself(open_state: OpenState, kept: str) -> None:
    state = open_state(kept)
    for at in range(4):
        state.note("stella", "token made", str(at))
    lines, head = list(state.export()), state.head()
    state.close()
    assert verify_export(lines) == verify_export(lines, head) == head
    for wrong in (lines[:-1], [lines[0], *lines[2:]], [lines[0], lines[2], lines[1], *lines[3:]]):
        with pytest.raises(LedgerCorrupt, match="of the audit log was altered"):
            verify_export(wrong)
    with pytest.raises(LedgerCorrupt):
        verify_export([line.replace("stella", "stello") for line in lines])
    with pytest.raises(LedgerCorrupt):
        verify_export(lines, Head(5, head.hash))
    for other in ([], ["{}"], ["nothing"], ["[1]"]):
        with pytest.raises(LedgerError, match="no export"):
            verify_export(other)


def test_verify_reads_the_disk_and_not_its_memory_of_it(tmp_path: Path) -> None:
    state = ServiceState(tmp_path / "service.db")
    for at in range(20):
        state.note("stella", "token made", f"[{at}] for ana")
    state._tables.read("PRAGMA wal_checkpoint(TRUNCATE)", ())
    assert state.verify().number == 20
    data = (tmp_path / "service.db").read_bytes()
    with (tmp_path / "service.db").open("r+b") as file:  # no connection writes this, so that none hears of it
        file.write(data.replace(b"[7] for ana", b"[7] for eve"))
    with pytest.raises(LedgerCorrupt, match="Line 8 "):
        state.verify()
    state.close()
