"""A ledger in PostgreSQL when the network or the server fails, and for users who may only read."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import psycopg
import pytest
from tests.ledger.postgres.proxy import Cut, Proxy
from tests.servers import connect, new_schema, new_server, postgres

from discreet.errors import BudgetExceeded, LedgerCorrupt, LedgerError
from discreet.ledger import Account, Charge, Ledger, Loss, open_ledger
from discreet.ledger.faults import UnknownOutcome
from discreet.ledger.postgres import store as store_module
from discreet.ledger.postgres.rows import PostgresRows
from discreet.ledger.postgres.store import PostgresStore

VISITS = Account("data set visits", Loss(1))


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    with Proxy(postgres()) as opened:
        yield opened


def behind(proxy: Proxy) -> str:
    return f"{proxy.url}#{new_schema().partition('#')[2]}"


@pytest.mark.parametrize("how", ["before", "after", "while"])
def test_a_commit_that_is_lost_from_sight_is_found_out_by_its_entry(proxy: Proxy, how: Cut) -> None:
    with open_ledger(behind(proxy)) as ledger:
        proxy.cuts = [how]
        charge = ledger.charge("q", Loss("1/2"), [VISITS])
        assert not proxy.cuts
        assert ledger.spent(VISITS) == Loss("1/2"), "once, whether it had to be written again or not"
        proxy.cuts = [how]
        ledger.settle(charge, b"answer")
        assert not proxy.cuts
        assert ledger.replay("q") == b"answer"
        assert ledger.verify() == 2


def test_without_the_lock_a_commit_that_goes_on_is_taken_for_lost(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: it is looked for at once, while the server still has it."""
    noted = PostgresStore._noted
    monkeypatch.setattr(
        PostgresStore,
        "_noted",
        lambda self, line, sql, known: noted(self, line, sql.replace(" FOR UPDATE", ""), known),
    )
    with open_ledger(behind(proxy)) as ledger:
        ledger.charge("earlier", Loss("1/4"), [VISITS])
        proxy.cuts = ["while"]
        with pytest.raises(LedgerError, match="refused a row") as caught:
            ledger.charge("q", Loss("1/2"), [VISITS])
        assert caught.value.charged is None
        assert ledger.spent(VISITS) == Loss("3/4"), "and yet it stands"


@pytest.mark.parametrize("how", ["before", "after"])
def test_where_the_server_stays_away_the_charge_counts(proxy: Proxy, how: Cut) -> None:
    with open_ledger(behind(proxy), timeout=0.5) as ledger:
        ledger.charge("earlier", Loss("1/4"), [VISITS])
        proxy.cuts, proxy.closed = [how], True
        with pytest.raises(
            UnknownOutcome, match=r"may stand.* Charged: epsilon 0\.5\. It stays charged"
        ) as caught:
            ledger.charge("q", Loss("1/2"), [VISITS])
        assert caught.value.charged == Loss("1/2")
        with pytest.raises(LedgerError, match="cannot be reached"):
            ledger.charge("q", Loss("1/4"), [VISITS])
        proxy.closed = False
        assert ledger.spent(VISITS) == Loss("3/4" if how == "after" else "1/4")
        ledger.charge("q", Loss("1/4"), [VISITS])
        ledger.verify()


def test_a_connection_that_was_dropped_is_opened_again(proxy: Proxy) -> None:
    with open_ledger(behind(proxy)) as ledger:
        store = ledger._store
        assert isinstance(store, PostgresStore)
        for number in range(3):
            with connect(postgres()) as other:
                assert store._connection is not None
                other.execute("SELECT pg_terminate_backend(%s)", (store._connection.info.backend_pid,))
            ledger.charge(f"q{number}", Loss("1/4"), [VISITS])
        assert ledger.verify() == 3


def test_a_process_that_stops_in_a_transaction_keeps_others_waiting_no_longer_than_they_wait() -> None:
    address = new_schema()
    with open_ledger(address, timeout=0.3) as ledger, connect(address.partition("#")[0]) as other:
        other.execute("BEGIN")
        other.execute(f"SELECT 1 FROM {address.partition('#')[2]}.discreet_head FOR UPDATE")
        with pytest.raises(LedgerError, match="busy"):
            ledger.charge("q", Loss("1/4"), [VISITS])
        assert ledger.spent(VISITS) == Loss(0), "who only reads does not wait"
        other.execute("ROLLBACK")
        ledger.charge("q", Loss("1/4"), [VISITS])


@pytest.fixture
def reader() -> Iterator[str]:
    """A user who may look at every table and do nothing else."""
    name = "reader"
    with connect(postgres()) as admin:
        admin.execute(f"CREATE ROLE {name} LOGIN")
        yield name
        admin.execute(f"DROP OWNED BY {name}")
        admin.execute(f"DROP ROLE {name}")


def test_a_user_who_may_only_read_verifies_and_replays(reader: str) -> None:
    address = new_schema()
    url, _, schema = address.partition("#")
    with open_ledger(address) as ledger:
        ledger.settle(ledger.charge("q", Loss("1/4"), [VISITS]), b"answer")
    with connect(url) as admin:
        admin.execute(f"GRANT USAGE ON SCHEMA {schema} TO {reader}")
        admin.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {reader}")
    theirs = f"{url.replace('postgres:@', f'{reader}:@')}#{schema}"
    with open_ledger(theirs, may_read=True) as ledger:
        assert ledger.verify() == 2
        assert ledger.replay("q") == b"answer"
        with pytest.raises(LedgerError, match="can only be read"):
            ledger.charge("q", Loss("1/4"), [VISITS])
    with pytest.raises(LedgerError, match="read-only for this user"):
        open_ledger(theirs)
    with pytest.raises(LedgerError, match=r"not made|not be written"):
        open_ledger(f"{theirs}_that_is_not_there", may_read=True)


def test_a_user_who_may_add_and_not_change_can_charge(reader: str) -> None:
    address = new_schema()
    url, _, schema = address.partition("#")
    open_ledger(address).close()
    with connect(url) as admin:
        admin.execute(f"GRANT USAGE ON SCHEMA {schema} TO {reader}")
        admin.execute(f"GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA {schema} TO {reader}")
        admin.execute(f"GRANT UPDATE ON {schema}.discreet_head TO {reader}")
    with open_ledger(f"{url.replace('postgres:@', f'{reader}:@')}#{schema}") as ledger:
        ledger.settle(ledger.charge("q", Loss("1/4"), [VISITS]), b"answer")
        ledger.salt("visits")
        assert ledger.verify() == 2


def test_an_old_copy_that_is_put_back_while_a_process_looks_is_seen() -> None:
    address = new_schema()
    url, _, schema = address.partition("#")
    with open_ledger(address) as ledger, connect(url) as other:
        ledger.charge("q", Loss("1/4"), [VISITS])
        other.execute(f"CREATE SCHEMA {schema}_old")
        for table in ("entry", "posting", "head"):
            other.execute(f"CREATE TABLE {schema}_old.{table} AS SELECT * FROM {schema}.discreet_{table}")
        ledger.charge("q", Loss("1/4"), [VISITS])
        other.execute("SET session_replication_role = replica")
        for table in ("entry", "posting", "head"):
            other.execute(f"TRUNCATE {schema}.discreet_{table}")
            other.execute(f"INSERT INTO {schema}.discreet_{table} SELECT * FROM {schema}_old.{table}")
        with pytest.raises(LedgerCorrupt, match="names entry 1, and entry 2 was there before"):
            ledger.charge("q", Loss("1/4"), [VISITS])
    with open_ledger(address) as ledger:
        assert ledger.verify() == 1, "a new process cannot know; SECURITY.md says so"


def test_a_charge_that_comes_while_another_process_opens_the_ledger_confuses_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address, tally = new_schema(), PostgresRows.tally
    with open_ledger(address) as ledger, ThreadPoolExecutor(1) as pool:
        ledger.charge("q", Loss("1/4"), [VISITS])
        opening, charges = threading.current_thread(), list[Charge]()

        def slowly(self: PostgresRows, account: str) -> Any:
            if threading.current_thread() is opening and not charges:
                self.book()
                charges.append(pool.submit(ledger.charge, "q", Loss("1/4"), [VISITS]).result(10))
            return tally(self, account)

        monkeypatch.setattr(PostgresRows, "tally", slowly)
        with open_ledger(address) as other:
            assert other.spent(VISITS) == Loss("1/2")


def test_a_charge_that_comes_while_the_reader_connects_again_is_no_old_copy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with open_ledger(new_schema()) as ledger:
        ledger.charge("q1", Loss(1), [Account("d", Loss(9))])
        assert isinstance(ledger._store, PostgresStore)
        reader = ledger._store._beside()
        with reader._lock:
            reader.release()
        noted, late = PostgresStore._noted, [2]

        def charged(self: PostgresStore, *given: Any) -> Any:
            if self is reader and late:
                late.pop()
                ledger.charge("q2", Loss(1), [Account("d", Loss(9))])
            return noted(self, *given)

        monkeypatch.setattr(PostgresStore, "_noted", charged)
        assert ledger.verify() == 2
        assert not late


def test_the_reader_takes_no_standby_that_a_writer_would_not_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """An address may name several servers. A standby lags, so that an answer that is there would be paid for again."""
    address, seen = new_schema(), list[Any]()

    def primary_first(connection: psycopg.Connection[Any], _: object) -> bool:
        seen.append(connection)
        return len(seen) == 1

    with monkeypatch.context() as several:
        several.setattr(store_module, "_may_write", primary_first)
        with pytest.raises(LedgerError, match="is read-only for this user or on this server"):
            open_ledger(address)
        assert len(seen) == 2
        assert all(connection.closed for connection in seen)
        seen.clear()
        with open_ledger(address, may_read=True) as ledger:
            ledger.charge("q", Loss("1/4"), [VISITS])
            assert ledger.spent(VISITS) == Loss("1/4")


def test_a_ledger_that_lost_its_head_is_refused() -> None:
    address = new_schema()
    url, _, schema = address.partition("#")
    with open_ledger(address) as ledger:
        ledger.charge("q", Loss("1/4"), [VISITS])
    with connect(url) as other:
        other.execute("SET session_replication_role = replica")
        other.execute(f"DELETE FROM {schema}.discreet_head")
    with pytest.raises(LedgerCorrupt, match=r"head of the ledger .* is missing"):
        open_ledger(address)


@pytest.mark.parametrize("setting", ["off", "local"])
def test_a_commit_waits_for_the_disk_whatever_the_role_says(setting: str) -> None:
    address = new_schema()
    url, _, _ = address.partition("#")
    with open_ledger(f"{url}&options=-csynchronous_commit%3D{setting}#{address.partition('#')[2]}") as ledger:
        store: Any = ledger._store
        assert store.write(lambda rows: rows.execute("SHOW synchronous_commit").fetchone()) == ("on",)
        assert store.read(lambda rows: rows.execute("SHOW synchronous_commit").fetchone()) == (setting,)


def test_a_server_that_does_not_sync_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    execute: Any = psycopg.Connection.execute

    def careless(self: Any, query: str, *more: Any) -> Any:
        return execute(self, query.replace("current_setting('fsync')", "'off'"), *more)

    monkeypatch.setattr(psycopg.Connection, "execute", careless)
    with pytest.raises(LedgerError, match="fsync"):
        open_ledger(new_schema())


def test_a_server_that_is_killed_in_the_middle_forgets_no_charge() -> None:
    """Its processes are killed three times while three threads ask; nothing that was answered is missing."""
    with new_server() as server, open_ledger(f"{server}#ledger") as ledger:
        house, stop, answered = Account("data set visits", Loss(3)), threading.Event(), set[str]()

        def ask(thread: int) -> int:
            unknown = 0
            for number in range(10**6):
                if stop.is_set():
                    return unknown
                question = f"{thread} {number}"
                try:
                    ledger.settle(ledger.charge(question, Loss("1/1000"), [house]), question.encode())
                    answered.add(question)
                except BudgetExceeded:
                    return unknown
                except LedgerError as error:
                    unknown += error.charged is not None
            return unknown

        with ThreadPoolExecutor(3) as pool:
            asking = [pool.submit(ask, thread) for thread in range(3)]
            for kills in range(4):
                wait_for(answered, len(answered) + 8)
                if kills < 3:
                    kill_one(ledger)
            stop.set()
            unknown = sum(each.result() for each in asking)
        entries = ledger.entries()
        assert ledger.verify() == len(entries)
        charges = [entry for entry in entries if entry.kind == "charge"]
        assert answered <= {entry.question for entry in charges}
        assert all(ledger.replay(question) == question.encode() for question in answered)
        assert ledger.spent(house) == Loss(Fraction(len(charges), 1000))
        assert len(charges) - len(answered) <= 9, f"{unknown} of unknown outcome"


def wait_for(answered: set[str], least: int) -> None:
    """Wait until threads had so many answers, however busy the machine is."""
    end = time.monotonic() + 120
    while len(answered) < least:
        assert time.monotonic() < end, "the ledger answers no more"
        time.sleep(0.02)


def kill_one(ledger: Ledger) -> None:
    """Kill the server's process of a ledger; its master then ends all others and recovers as from a crash.

    The process that the ledger knows may be one that was killed before, of which no question has heard yet.
    """
    store = ledger._store
    assert isinstance(store, PostgresStore)
    end = time.monotonic() + 120
    while time.monotonic() < end:
        connection = store._connection
        with contextlib.suppress(ProcessLookupError, psycopg.OperationalError):
            if connection is not None:
                return os.kill(connection.info.backend_pid, signal.SIGKILL)
        time.sleep(0.01)
    raise AssertionError("the ledger is not connected again")


def test_a_server_that_may_be_written_again_is_charged_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a failover; the process had to be started anew."""
    with open_ledger(new_schema(), may_read=True) as ledger:
        ledger.charge("q", Loss("1/4"), [VISITS])
        with monkeypatch.context() as standby:
            standby.setattr(store_module, "_may_write", lambda *_: False)
            store = ledger._store
            assert isinstance(store, PostgresStore)
            with store._lock:
                store.release()
            assert ledger.head().number == 1
            store._submit(lambda rows: None, False)
            for _ in range(2):
                with pytest.raises(LedgerError, match="can only be read") as refused:
                    ledger.charge("r", Loss("1/4"), [VISITS])
                assert refused.value.unwritten
        ledger.charge("r", Loss("1/4"), [VISITS])
        assert ledger.spent(VISITS.name) == Loss("1/2")
