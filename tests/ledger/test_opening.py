"""A ledger is opened, looked for and named by its path or its url."""

from __future__ import annotations

from pathlib import Path

from tests.servers import new_schema

from discreet.ledger import exists, named, open_ledger


def test_looking_for_a_ledger_makes_none(durable: str) -> None:
    assert not exists(durable)
    assert not exists(durable)
    open_ledger(durable).close()
    assert exists(durable)


def test_a_file_is_found_by_its_url_too(tmp_path: Path) -> None:
    open_ledger(f"sqlite:///{tmp_path}/ledger.db").close()
    assert exists(f"sqlite:///{tmp_path}/ledger.db")
    assert exists(str(tmp_path / "ledger.db"))


def test_a_ledger_is_named_without_credentials() -> None:
    address = new_schema().replace("postgres:@", "postgres:hunter2@")
    with open_ledger(address) as ledger:
        assert named(address) == ledger.where
        assert "hunter2" not in repr(ledger)
    assert named("visits.ledger.db") == "visits.ledger.db"
