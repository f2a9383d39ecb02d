"""Answers that are larger than memory should be are written, read and checked piece by piece."""

from __future__ import annotations

import io
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from discreet.errors import InvalidParameter, LedgerCorrupt
from discreet.ledger import Account, Loss, open_ledger, rows, store
from discreet.ledger.sqlite import rows as sqlite_rows

ANSWER = bytes(range(256)) * 40


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "AT_ONCE", 1000)
    monkeypatch.setattr(sqlite_rows, "PIECE", 1000)
    monkeypatch.setattr(store, "PIECE", 1000)


def test_a_file_is_kept_and_comes_back(place: str | None) -> None:
    with open_ledger(place) as ledger:
        charge = ledger.charge("q", Loss(1), [Account("d", Loss(2))])
        ledger.settle(charge, io.BytesIO(ANSWER))
        assert ledger.replay("q") == ANSWER
        out = io.BytesIO()
        assert ledger.replay_into("q", out)
        assert out.getvalue() == ANSWER
        assert not ledger.replay_into("another", out)
        assert ledger.verify() == 2


def test_bytes_and_a_file_are_the_same_answer(durable: str) -> None:
    with open_ledger(durable) as ledger:
        for question, answer in (("bytes", ANSWER), ("file", io.BytesIO(ANSWER))):
            ledger.settle(ledger.charge(question, Loss(1), [Account("d", Loss(2))]), answer)
        digests = {entry.digest for entry in ledger.entries() if entry.kind == "settle"}
        assert len(digests) == 1


@pytest.mark.parametrize("broken", ["zeroblob(10240)", "NULL", "'text'", "zeroblob(3)"])
def test_a_large_answer_that_was_altered_is_found(broken: str, tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with open_ledger(path) as ledger:
        ledger.settle(ledger.charge("q", Loss(1), [Account("d", Loss(2))]), io.BytesIO(ANSWER))
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("DROP TRIGGER discreet_entry_update")
        raw.execute(f"UPDATE discreet_entry SET answer = {broken} WHERE number = 2")
    with open_ledger(path) as ledger:
        with pytest.raises(LedgerCorrupt):
            ledger.replay_into("q", io.BytesIO())
        with pytest.raises(LedgerCorrupt):
            ledger.verify()


class Failing(io.BytesIO):
    """A file whose second reading ends in an error, as a disk may."""

    readings = 0

    def seek(self, offset: int, whence: int = 0, /) -> int:
        self.readings += (offset, whence) == (0, io.SEEK_SET)
        return super().seek(offset, whence)

    def read(self, size: int | None = -1, /) -> bytes:
        if self.readings > 1 and self.tell() > 2000:
            raise OSError("the disk is gone")
        return super().read(size)


def test_a_settlement_that_fails_half_way_leaves_nothing_but_the_charge(durable: str) -> None:
    with open_ledger(durable) as ledger:
        charge = ledger.charge("q", Loss(1), [Account("d", Loss(2))])
        with pytest.raises(Exception, match=r"disk|ledger"):
            ledger.settle(charge, Failing(ANSWER))
        assert ledger.replay("q") is None
        assert [entry.kind for entry in ledger.entries()] == ["charge"]
        ledger.settle(charge, io.BytesIO(ANSWER))
        assert ledger.replay("q") == ANSWER


def test_what_is_no_file_of_bytes_is_refused() -> None:
    with open_ledger(None) as ledger:
        charge = ledger.charge("q", Loss(1), [Account("d", Loss(2))])
        for answer in ("text", io.StringIO("text"), 3):
            with pytest.raises(InvalidParameter):
                ledger.settle(charge, answer)  # type: ignore[arg-type]
