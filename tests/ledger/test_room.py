"""Room for the answer is taken before the charge."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests import inside

import discreet as dp
from discreet.errors import LedgerError
from discreet.ledger import Ledger, Loss, room
from discreet.ledger.chain.entry import Entry
from discreet.ledger.room import Room
from discreet.ledger.sqlite.rows import SqlRows
from discreet.sql.finish import serialisation

MAP = "SELECT a, b, COUNT(*) AS n, AVG(a) AS m FROM visits GROUP BY a, b"


@pytest.fixture
def session(tmp_path: Path) -> dp.Session:
    pq.write_table(pa.table({"a": [1, 2], "b": [1, 2]}), tmp_path / "visits.parquet")
    bounds = {"a": (0, 99), "b": (0, 99)}
    return dp.protect(tmp_path / "visits.parquet", privacy_unit="row", bounds=bounds, budget=9)


def test_a_full_disk_is_found_before_the_charge(
    session: dp.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "posix_fallocate", full)
    for ask in (
        lambda: session.sql(MAP, 1),
        lambda: session.write(MAP.replace("99", "9"), 1, tmp_path / "a.csv"),
        lambda: session.release(lambda: 1, 1, 1, what="one"),
    ):
        with pytest.raises(LedgerError) as caught:
            ask()
        assert caught.value.charged is None
    assert session.budget.spent == 0
    assert not list(tmp_path.glob(".discreet-room-*"))


def test_an_answer_without_room_is_found(
    session: dp.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: no room is taken."""
    monkeypatch.setattr(room, "_FULL", set())
    with pytest.raises(pytest.fail.Exception):
        test_a_full_disk_is_found_before_the_charge(session, tmp_path, monkeypatch)


def test_the_room_is_as_large_as_the_answer(session: dp.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    settle = Ledger.settle

    def kept(self: Ledger, charge: object, answer: bytes, *rest: object) -> None:
        sizes.append(len(answer))
        settle(self, charge, answer, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Ledger, "settle", kept)
    questions = (
        (MAP, "1/7"),
        (f"{MAP} ORDER BY n * 2 LIMIT 5000", "1/8"),  # at another price: else it is the answer before
        ("SELECT MEDIAN(a) AS m FROM visits", "1/7"),
        ("SELECT COUNT(*) AS n FROM visits", "1/7"),
    )
    for asked, (sql, epsilon) in enumerate(questions, 1):
        session.sql(sql, epsilon)
        assert len(sizes) == asked
        assert sizes[-1] <= serialisation.size_of(
            inside.plan_of(session, sql, dp.Budget(epsilon=epsilon).epsilon)
        )


def test_it_is_really_there_until_it_is_given_back(tmp_path: Path) -> None:
    with Room(str(tmp_path / "l.db"), 1 << 20) as taken:
        assert os.fstat(taken._fd).st_size == 1 << 20
        assert os.fstat(taken._fd).st_blocks * 512 >= 1 << 20
        assert not list(tmp_path.iterdir())  # it has no name
        fd = taken._fd
        taken.give_back()
        with pytest.raises(OSError, match="descriptor"):
            os.fstat(fd)


def test_a_room_serves_many_answers(session: dp.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    reserve = os.posix_fallocate

    def reserved(fd: int, start: int, size: int) -> None:
        made.append(size)
        reserve(fd, start, size)

    monkeypatch.setattr(os, "posix_fallocate", reserved)
    for at in range(5):
        session.sql(f"SELECT COUNT(*) AS n FROM visits WHERE a < {at + 1}", "1/7")
    assert len(made) == 1
    rooms = session.ledger._rooms
    ((fd, size),) = rooms._idle
    assert os.fstat(fd).st_blocks * 512 >= size == made[0]
    session.close()
    with pytest.raises(OSError, match="descriptor"):
        os.fstat(fd)


def full_until(free: Callable[[], bool], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each settlement find the disk full until some room is free."""
    append = SqlRows.append

    def appended(self: SqlRows, entry: Entry, answer: BinaryIO | None = None) -> None:
        if answer is not None and not free():
            raise OSError(errno.ENOSPC, "full")
        append(self, entry, answer)

    monkeypatch.setattr(SqlRows, "append", appended)


def test_the_room_is_given_back_where_the_disk_is_full(
    session: dp.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[bool] = []
    give_back = Room.give_back

    def give(self: Room) -> bool:
        given.append(give_back(self))
        return given[-1]

    monkeypatch.setattr(Room, "give_back", give)
    full_until(lambda: any(given), monkeypatch)
    assert session.sql("SELECT COUNT(*) AS n FROM visits", 1).replayed is False
    assert session.sql("SELECT COUNT(*) AS n FROM visits", 1).replayed is True
    assert session.budget.spent == 1
    full_until(lambda: False, monkeypatch)
    with pytest.raises(LedgerError, match="full") as caught:
        session.sql("SELECT COUNT(*) AS n FROM visits", 2)
    assert caught.value.charged == Loss(2)


def test_a_room_that_is_kept_from_the_settlement_is_found(
    session: dp.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: the settlement is not handed its room."""
    settle = Ledger.settle
    monkeypatch.setattr(Ledger, "settle", lambda self, charge, answer, room: settle(self, charge, answer))
    with pytest.raises(LedgerError, match="full"):
        test_the_room_is_given_back_where_the_disk_is_full(session, monkeypatch)


def test_where_nothing_can_be_reserved_nothing_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "unknown")

    monkeypatch.setattr(os, "posix_fallocate", unknown)
    with Room(str(tmp_path / "l.db"), 1 << 20) as taken, Room(None, 1 << 40) as none:
        assert (taken._fd, taken._size) == (none._fd, none._size) == (-1, 0)
        assert not taken.give_back()
        assert not none.give_back()
        assert not list(tmp_path.iterdir())
