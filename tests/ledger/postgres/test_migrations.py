"""Versions of the tables: made once, by whoever comes first, and never guessed at."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from tests.servers import connect, new_schema

from discreet.errors import LedgerError
from discreet.ledger import Account, Loss, open_ledger
from discreet.ledger.postgres import store
from discreet.ledger.postgres.schema import MIGRATIONS

NEXT = ("ALTER TABLE discreet_salt ADD COLUMN note TEXT",)


def opened(address: str) -> int:
    with open_ledger(address) as ledger:
        ledger.charge("q", Loss("1/100"), [Account("visits", Loss(3))])
        return ledger.verify()


def test_many_that_come_at_once_make_one_ledger() -> None:
    address = new_schema()
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(opened, [address] * 6))
    with open_ledger(address) as ledger:
        assert ledger.verify() == 6


def test_a_later_version_is_made_once_from_the_earlier_one(monkeypatch: pytest.MonkeyPatch) -> None:
    address = new_schema()
    opened(address)
    monkeypatch.setattr(store, "MIGRATIONS", (*MIGRATIONS, NEXT))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(opened, [address] * 4))
    assert opened(address) == 6
    url, _, schema = address.partition("#")
    with connect(url) as connection:
        found = connection.execute(f"SELECT version FROM {schema}.discreet_version ORDER BY 1").fetchall()
        assert found == [(1,), (2,)]
    monkeypatch.undo()
    with pytest.raises(LedgerError, match="version that this program does not know"):
        open_ledger(address)
    with pytest.raises(LedgerError, match="version that this program does not know"):
        open_ledger(address, may_read=True)


def test_a_migration_that_fails_leaves_the_version_before(monkeypatch: pytest.MonkeyPatch) -> None:
    address = new_schema()
    opened(address)
    monkeypatch.setattr(store, "MIGRATIONS", (*MIGRATIONS, (*NEXT, "SELECT 1/0")))
    with pytest.raises(LedgerError) as caught:
        open_ledger(address)
    assert not isinstance(caught.value.__context__, psycopg.Error)
    monkeypatch.undo()
    assert opened(address) == 2


def test_a_ledger_of_another_format_is_refused() -> None:
    address = new_schema()
    opened(address)
    url, _, schema = address.partition("#")
    with connect(url) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(f"UPDATE {schema}.discreet_ledger SET format = 9")
    with pytest.raises(LedgerError, match="format that this version does not know"):
        open_ledger(address)
