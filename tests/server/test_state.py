"""The file of the service: private, append-only where it must be, and refused where it is another."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest

from discreet.errors import LedgerError
from discreet.server.state import State


def test_the_audit_log_is_append_only(tmp_path: Path) -> None:
    state = State(tmp_path / "service.db")
    state.note("ana", "signed in")
    for statement in ("DELETE FROM audit", "UPDATE audit SET who = 'ben'"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            state.run(statement)
    assert [row["who"] for row in state.audit(10)] == ["ana"]
    assert state.audit(10, before=1) == []


def test_it_is_kept_and_nobody_else_may_read_it(tmp_path: Path) -> None:
    place = tmp_path / "service.db"
    first = State(place)
    first.note("ana", "signed in")
    first.close()
    assert place.stat().st_mode & 0o077 == 0
    assert len(State(place).audit(10)) == 1


def test_a_transaction_that_fails_leaves_nothing(tmp_path: Path) -> None:
    state = State(tmp_path / "service.db")

    def fails() -> None:
        with state.writing():
            state.note("ana", "signed in")
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fails()
    assert state.audit(10) == []


@pytest.mark.parametrize("content", [b"not a database at all, but long enough to be taken for one" * 20])
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "service.db").write_bytes(content)
    with pytest.raises(LedgerError):
        State(tmp_path / "service.db")
    with pytest.raises(LedgerError):
        State(tmp_path / "missing" / "service.db")


def test_a_later_version_is_refused(tmp_path: Path) -> None:
    state = State(tmp_path / "service.db")
    state.run("UPDATE service SET format = 2")
    state.close()
    with pytest.raises(LedgerError):
        State(tmp_path / "service.db")


def test_threads_and_processes_share_it(tmp_path: Path) -> None:
    states = [State(tmp_path / "service.db") for _ in range(3)]

    def write(state: State) -> None:
        for at in range(20):
            with state.writing():
                state.note("ana", str(at))

    threads = [threading.Thread(target=write, args=(state,)) for state in states for _ in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(states[0].audit(1000)) == 120
