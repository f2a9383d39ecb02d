"""The file of a service: private, and refused where it is another or of a later version."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from discreet.errors import LedgerError
from discreet.server.records.sqlite import MIGRATIONS
from tests.server.conftest import OpenState


def test_the_audit_log_is_append_only(open_state: OpenState, tmp_path: Path) -> None:
    state = open_state(tmp_path / "service.db")
    state.note("ana", "signed in")
    for statement in ("DELETE FROM audit", "UPDATE audit SET who = 'ben'"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            state.run(statement)
    assert [line.who for line in state.audit(10)] == ["ana"]


def test_nobody_else_may_read_it(open_state: OpenState, tmp_path: Path) -> None:
    open_state(tmp_path / "service.db").close()
    assert (tmp_path / "service.db").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("content", [b"not a database at all, but long enough to be taken for one" * 20])
def test_another_file_is_refused(open_state: OpenState, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "service.db").write_bytes(content)
    with pytest.raises(LedgerError):
        open_state(tmp_path / "service.db")
    with pytest.raises(LedgerError):
        open_state(tmp_path / "missing" / "service.db")


def test_a_later_version_is_refused(open_state: OpenState, tmp_path: Path) -> None:
    state = open_state(tmp_path / "service.db")
    state.run("UPDATE service SET format = ?", (len(MIGRATIONS) + 1,))
    state.close()
    with pytest.raises(LedgerError):
        open_state(tmp_path / "service.db")


def test_a_full_disk_is_told_and_leaves_no_transaction_open(open_state: OpenState, tmp_path: Path) -> None:
    """SQLite undoes a transaction by itself where the disk is full, so that there is none to be undone."""
    state = open_state(tmp_path / "state.db")
    add = "INSERT INTO asks (name, dataset, key, body, made) VALUES (?, 'visits', 'k', ?, 1)"
    db = sqlite3.connect(tmp_path / "state.db")
    (pages,) = db.execute("PRAGMA page_count").fetchone()
    db.close()
    state._tables.read(f"PRAGMA max_page_count = {pages}", ())
    for write in (state.run, lambda *given: state.together(lambda: state.run(*given))):
        with pytest.raises(LedgerError, match="cannot be read or written"):
            write(add, ("ana", "x" * 100_000))
    state._tables.read("PRAGMA max_page_count = 100000", ())
    assert state.run(add, ("ana", "x")) == 1
    state.close()


def test_a_file_that_another_process_writes_to_is_busy_and_not_broken(
    open_state: OpenState, tmp_path: Path
) -> None:
    state = open_state(tmp_path / "state.db")
    state._tables.read("PRAGMA busy_timeout = 0", ())
    other = sqlite3.connect(tmp_path / "state.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError, match="is busy"):
        state.note("ana", "signed in")
    other.execute("ROLLBACK")
    other.close()
    state.note("ana", "signed in")
    assert state.head().number == 1
    state.close()


def test_those_who_asked_the_same_are_found_without_reading_all_questions(
    open_state: OpenState, tmp_path: Path
) -> None:
    """The page of stewards asks for them once for each charge of a month."""
    state = open_state(tmp_path / "service.db")
    (step,) = state.all("EXPLAIN QUERY PLAN SELECT came FROM asks WHERE dataset = ? AND key = ?", ("d", "k"))
    assert "SEARCH" in step["detail"]
    state.close()
