"""A ledger is opened, looked for and named by its path or its url."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.servers import new_schema

from discreet.errors import LedgerError
from discreet.ledger import Account, Loss, exists, named, open_ledger


def test_looking_for_a_ledger_makes_none(durable: str) -> None:
    assert not exists(durable)
    assert not exists(durable)
    open_ledger(durable).close()
    assert exists(durable)


def test_a_file_is_found_by_its_url_too(tmp_path: Path) -> None:
    open_ledger(f"sqlite:///{tmp_path}/ledger.db").close()
    assert exists(f"sqlite:///{tmp_path}/ledger.db")
    assert exists(str(tmp_path / "ledger.db"))


def test_a_file_that_was_lost_is_told_from_one_that_nobody_made(tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    open_ledger(place).close()
    place.unlink()
    with open_ledger(place) as ledger:  # its head names no entry: nothing is lost
        assert ledger.verify() == 0
    with open_ledger(place) as ledger:
        ledger.charge("a question", Loss(1), [Account("all", Loss(2))])
    place.unlink()
    for url in (str(place), f"sqlite:///{place}"):
        assert exists(url)
        with pytest.raises(LedgerError, match="gone or empty, but its head names entry 1"):
            open_ledger(url)


def test_a_ledger_is_named_without_credentials() -> None:
    address = new_schema().replace("postgres:@", "postgres:hunter2@")
    with open_ledger(address) as ledger:
        assert named(address) == ledger.where
        assert "hunter2" not in repr(ledger)
    assert named("visits.ledger.db") == "visits.ledger.db"
