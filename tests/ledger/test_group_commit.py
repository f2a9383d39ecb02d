"""Threads that come together share a commit; none loses its charge, its error or its turn."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import BudgetExceeded, InvalidParameter, LedgerError
from discreet.ledger import Account, Ledger, Loss, open_ledger
from discreet.ledger.chain.entry import Entry
from discreet.ledger.group_commit import CommitGroup, QueuedWork
from discreet.ledger.sqlite import head
from discreet.ledger.sqlite.rows import SqlRows
from discreet.ledger.sqlite.store import SqliteStore
from discreet.ledger.store import LedgerRows

VISITS = Account("data set visits", Loss(1))


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with open_ledger(tmp_path / "ledger.db", timeout=5) as opened:
        yield opened


def store_of(ledger: Ledger) -> SqliteStore:
    assert isinstance(ledger._store, SqliteStore)
    return ledger._store


class Gathered:
    """Holds the store until so many requests wait, so that they become one batch."""

    def __init__(self, ledger: Ledger, count: int) -> None:
        self.store, self.count = store_of(ledger), count
        self.batches: list[int] = []
        run = self.store._group._run

        def watched(requests: list[QueuedWork]) -> None:
            self.batches.append(len(requests))
            run(requests)

        self.store._group._run = watched

    def all(self, *asks: Any) -> list[Any]:
        """Do all at once and return results or errors."""

        def one(ask: Any) -> Any:
            try:
                return ask()
            except Exception as error:
                return error

        with ThreadPoolExecutor(len(asks) + 1) as pool:
            with ThreadPoolExecutor(1) as holder:
                holder.submit(self.store.hold).result()
                first = pool.submit(one, asks[0])
                while not self.batches:  # the first leads, and waits for the store
                    threading.Event().wait(0.001)
                rest = [pool.submit(one, ask) for ask in asks[1:]]
                while len(self.store._group._waiting) < len(rest):
                    threading.Event().wait(0.001)
                holder.submit(self.store.let_go).result()
            return [done.result() for done in (first, *rest)]


def charging(ledger: Ledger, number: int, loss: str = "1/100") -> Any:
    return lambda: ledger.charge(f"q{number}", Loss(loss), [VISITS])


def test_sixteen_charges_are_two_commits(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    gathered, syncs, sync = Gathered(ledger, 16), list[int](), head._sync

    def counted(fd: int) -> None:
        syncs.append(fd)
        sync(fd)

    monkeypatch.setattr(head, "_sync", counted)
    charges = gathered.all(*(charging(ledger, at) for at in range(16)))
    assert gathered.batches == [1, 15]
    assert len(syncs) == 2, "each commit has its head"
    assert sorted(charge.number for charge in charges) == list(range(1, 17))
    assert ledger.spent(VISITS) == Loss("16/100")
    for charge in charges:
        ledger.settle(charge, b"answer")
    assert ledger.verify() == 32


def test_the_last_that_fits_is_granted_and_the_next_is_refused_in_one_commit(ledger: Ledger) -> None:
    found = Gathered(ledger, 4).all(*(charging(ledger, at, "3/10") for at in range(4)))
    assert sum(isinstance(one, BudgetExceeded) for one in found) == 1
    assert ledger.spent(VISITS) == Loss("9/10")
    assert ledger.verify() == 3


def test_what_is_read_beside_a_charge_is_what_was_committed(ledger: Ledger) -> None:
    gathered = Gathered(ledger, 3)
    found = gathered.all(
        charging(ledger, 0), charging(ledger, 1), lambda: ledger.spent(VISITS), lambda: ledger.head().number
    )
    assert found[2:] == [Loss("1/100"), 1]


def test_one_that_fails_in_the_database_takes_no_other_along(ledger: Ledger) -> None:
    with closing(sqlite3.connect(store_of(ledger).where)) as raw, raw:
        raw.execute(
            "CREATE TRIGGER broken BEFORE INSERT ON discreet_entry WHEN NEW.question = 'q2' "
            "BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
    raw.close()
    gathered = Gathered(ledger, 5)
    found = gathered.all(*(charging(ledger, at) for at in range(5)))
    assert [at for at, one in enumerate(found) if isinstance(one, LedgerError)] == [2]
    assert ledger.spent(VISITS) == Loss("4/100")
    assert ledger.verify() == 4
    assert max(gathered.batches) == 4


def test_a_head_that_cannot_be_written_fails_the_whole_batch(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    gathered = Gathered(ledger, 4)
    real = head._sync

    def broken(fd: int) -> None:
        raise OSError(5, "planted")

    with monkeypatch.context() as patch:
        patch.setattr(head, "_sync", broken)
        found = gathered.all(*(charging(ledger, at) for at in range(4)))
    assert all(isinstance(one, LedgerError) for one in found)
    assert len({id(one) for one in found}) == 4, "each notes its own charge, which the others are not told"
    assert head._sync is real
    ledger.charge("after", Loss("1/100"), [VISITS])
    assert ledger.verify() == ledger.head().number
    assert ledger.spent(VISITS) == Loss(f"{ledger.head().number}/100"), "what was written stays charged"


def test_an_interrupted_leader_leaves_the_others_their_turn() -> None:
    done: list[str] = []
    interrupt = [True]

    def run(requests: Sequence[QueuedWork]) -> None:
        if interrupt.pop() if interrupt else False:
            gate.wait()
            while len(group._waiting) < 2:
                threading.Event().wait(0.001)
            raise KeyboardInterrupt
        for request in requests:
            done.append(request.work(None))
            request.done = True

    group, gate = CommitGroup(run), threading.Barrier(2)

    def ask(name: str) -> object:
        try:
            return group.submit(QueuedWork(lambda _: name, True), 5)
        except KeyboardInterrupt:
            return "interrupted"

    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(ask, "first")
        gate.wait()
        others = [pool.submit(ask, name) for name in ("second", "third")]
        assert first.result() == "interrupted"
        assert [other.result() for other in others] == [True, True]
    assert sorted(done) == ["second", "third"]
    assert not group._busy


def test_who_waits_too_long_leaves_the_queue_in_order() -> None:
    gate, entered = threading.Event(), threading.Event()

    def run(requests: Sequence[QueuedWork]) -> None:
        entered.set()
        gate.wait()
        for request in requests:
            request.done = True

    group = CommitGroup(run)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(group.submit, QueuedWork(lambda _: None, True), 5)
        entered.wait()
        assert not group.submit(QueuedWork(lambda _: None, True), 0.01)
        with pytest.raises(LedgerError, match="busy") as late:
            group.perform(lambda _: None, True, 0.01, "here")
        assert late.value.unwritten
        gate.set()
        assert first.result()
    assert group.submit(QueuedWork(lambda _: None, True), 5)
    assert not group._waiting
    assert not group._busy


def test_a_commit_that_is_interrupted_is_not_done_twice(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(fd: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(head, "_sync", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ledger.charge("q", Loss("1/100"), [VISITS])
    ledger.charge("after", Loss("1/100"), [VISITS])
    assert [entry.question for entry in ledger.entries()] == ["q", "after"]
    assert ledger.verify() == 2


def early(finish: Any) -> bool:
    """Whether a reader goes on while the leader of its batch is still at work."""
    free, gone, went = threading.Event(), threading.Event(), []

    def run(batch: Sequence[QueuedWork]) -> None:
        free.wait(10)
        for one in batch:
            if not one.writes:
                finish(one)
                went.append(gone.wait(0.5))
        for one in batch:
            one.done = True

    group = CommitGroup(run)
    requests = [QueuedWork(lambda rows: None, writes) for writes in (True, True, False)]
    threads = []

    def submit(one: QueuedWork) -> None:
        group.submit(one, 10)
        if not one.writes:
            gone.set()

    for at, request in enumerate(requests):
        thread = threading.Thread(target=submit, args=(request,))
        thread.start()
        threads.append(thread)
        while (
            len(group._waiting) < at
        ):  # the first is at work, the second leads the next batch, with the third in it
            gone.wait(0.001)
    free.set()
    for thread in threads:
        thread.join(10)
    assert all(one.done for one in requests)
    return went == [True]


def test_a_reader_goes_on_before_the_commit() -> None:
    assert early(QueuedWork.finish)


def test_a_reader_that_waits_for_the_commit_is_found() -> None:
    """The planted fault: it is marked as done, and not woken."""
    assert not early(lambda one: setattr(one, "done", True))


def test_those_who_come_while_another_process_writes_share_the_commit(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    syncs, sync = list[int](), head._sync

    def counted(fd: int) -> None:
        syncs.append(fd)
        sync(fd)

    monkeypatch.setattr(head, "_sync", counted)
    gathered = Gathered(ledger, 6)
    other = head.HeadFile(head.head_of(store_of(ledger).where))
    assert other.lock(1)
    with ThreadPoolExecutor(6) as pool:
        charges = [pool.submit(charging(ledger, at)) for at in range(6)]
        while (
            len(store_of(ledger)._group._waiting) < 5 or not (one := store_of(ledger)._head) or not one.waited
        ):
            threading.Event().wait(0.001)
        other.unlock()
        assert sorted(one.result().number for one in charges) == list(range(1, 7))
    other.close()
    assert len(gathered.batches) == 1
    assert len(syncs) == 1
    assert ledger.verify() == 6


@pytest.mark.parametrize("fault", [MemoryError(), sqlite3.OperationalError("no")], ids=["memory", "database"])
def test_an_entry_that_is_not_written_while_a_later_request_reads_is_not_granted(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    whole = SqlRows.add
    faults = [fault]

    def failing(rows: SqlRows, entries: Sequence[tuple[Entry, bytes | None]]) -> None:
        if faults and any(entry.question == "q1" for entry, _ in entries):
            raise faults.pop()
        whole(rows, entries)

    def reading() -> object:
        def work(rows: LedgerRows) -> None:
            rows.first_settlement("another")  # what was appended before is written first
            raise InvalidParameter("Refused.", "Ask another.")

        return store_of(ledger).write(work)

    monkeypatch.setattr(SqlRows, "add", failing)
    gathered = Gathered(ledger, 3)
    found = gathered.all(charging(ledger, 0), charging(ledger, 1), reading)
    assert gathered.batches[:2] == [1, 2]
    assert isinstance(found[2], InvalidParameter), "the fault was not of this one"
    granted = [one for one in found if not isinstance(one, Exception)]
    assert ledger.verify() == len(granted)
    assert ledger.spent(VISITS).epsilon == Fraction(len(granted), 100)
