"""The charges of a ledger as the service reads them: each once, in order, also while others write."""

from __future__ import annotations

import contextlib
import datetime as dt
import threading
from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import DiscreetError, LedgerError
from discreet.ledger import Ledger
from discreet.server import history as history_of
from discreet.server.history import History
from discreet.session.analyst import AnalystSession

AGES = pa.table({"age": [31, 47, 62]})


def query(at: int) -> str:
    return f"SELECT COUNT(*) AS n FROM data WHERE age > {at}"


def test_charges_are_read_as_they_come_and_only_once() -> None:
    session = dp.protect(AGES, privacy_unit="row", bounds={"age": (0, 120)}, budget=5)
    history, ana, ben = (
        History(session.ledger),
        *(AnalystSession(session, name, 2) for name in ("ana", "ben")),
    )
    assert history.newest(10) == []
    ana.sql(query(1), epsilon="1/2")
    ben.sql(query(1), epsilon="1/2")
    ana.sql(query(2), epsilon="1/4")
    lines = history.newest(10)
    assert [(line.who, line.epsilon, line.whole) for line in lines] == [
        ("ana", Fraction(1, 4), True),
        ("ben", Fraction(1, 2), False),
        ("ana", Fraction(1, 2), True),
    ]
    assert [line.number for line in history.newest(2)] == [line.number for line in lines[:2]]
    assert lines[0].question == query(2)
    assert list(history.of("ben")) == [ana.look(query(1), epsilon="1/2").key]
    assert all(history.answered(line.key) for line in lines)
    assert not history.answered("0" * 64)
    assert history.of("cyd") == {}


def test_recent_charges_are_the_late_ones_and_those_without_an_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = dp.protect(AGES, privacy_unit="row", bounds={"age": (0, 120)}, budget=5)
    history, ana = History(session.ledger), AnalystSession(session, "ana", 2)
    ana.sql(query(1), epsilon="1/2")

    def broken(*_: object, **__: object) -> None:
        raise LedgerError("full", "")

    monkeypatch.setattr(Ledger, "settle", broken)
    with contextlib.suppress(DiscreetError):
        ana.sql(query(2), epsilon="1/4")
    monkeypatch.undo()
    later = dt.datetime.now(dt.UTC)
    assert {line.epsilon for line in history.recent(later - dt.timedelta(1))} == {
        Fraction(1, 2),
        Fraction(1, 4),
    }
    assert [line.epsilon for line in history.recent(later)] == [Fraction(1, 4)]
    ana.sql(query(2), epsilon="1/4")
    assert history.recent(dt.datetime.now(dt.UTC)) == []


def test_nothing_is_left_out_while_others_write() -> None:
    session = dp.protect(AGES, privacy_unit="row", bounds={"age": (0, 120)}, budget=100)
    history = History(session.ledger)
    names = [f"a{at}" for at in range(3)]

    def ask(name: str) -> None:
        own = AnalystSession(session, name, 50)
        for at in range(8):
            own.sql(
                f"SELECT COUNT(*) AS n FROM data WHERE age > {at + 10 * names.index(name)}", epsilon="0.1"
            )

    threads = [threading.Thread(target=ask, args=(name,)) for name in names]
    for one in threads:
        one.start()
    while any(one.is_alive() for one in threads):
        history.newest(5)
    numbers = [line.number for line in history.newest(1000)]
    assert len(numbers) == len(set(numbers)) == 24
    assert numbers == sorted(numbers, reverse=True)


def test_entries_that_come_between_two_pages_are_not_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    session = dp.protect(AGES, privacy_unit="row", bounds={"age": (0, 120)}, budget=100)
    monkeypatch.setattr(history_of, "PAGE", 3)

    class Late:
        """A ledger of small pages, after each of which two more entries are written."""

        def __init__(self) -> None:
            self.asked = 0

        def since(self, number: int, *, here: bool) -> object:
            found = session.ledger.since(number, here=here)[:3]
            if self.asked < 4:
                self.asked += 1
                session.sql(query(self.asked), epsilon="0.1")
            return found

    session.sql(query(0), epsilon="0.1")
    session.sql(query(9), epsilon="0.1")
    late: Ledger = Late()  # type: ignore[assignment]
    history = History(late)
    found = [len(history.newest(100)) for _ in range(3)]
    assert found[0] > 2
    assert found[-1] == 6


def test_each_charge_for_one_answer_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    session = dp.protect(AGES, privacy_unit="row", bounds={"age": (0, 120)}, budget=5)
    history = History(session.ledger)
    ana, ben = (AnalystSession(session, name, 2) for name in ("ana", "ben"))
    key = ana.look(query(1), epsilon="1/4").key
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "settle", lambda *_, **__: [][0])
        for _ in range(2):
            with pytest.raises(IndexError):
                ana.sql(query(1), epsilon="1/4")
    assert set(history.of("ana")) == {key}
    assert (history.times("ana", key), history.answered(key)) == (2, False)
    ana.sql(query(1), epsilon="1/4")
    ben.sql(query(1), epsilon="1/4")
    ana.sql(query(1), epsilon="1/4")
    assert len(history.newest(9)) == 4
    assert [history.times(name, key) for name in ("ana", "ben", "cyd")] == [3, 1, 0]
    assert history.latest("ana", key) == history.newest(9)[1].made > history.of("ana")[key].made
    assert history.latest("cyd", key) is None
