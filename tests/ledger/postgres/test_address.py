"""Addresses of databases, and no password in any message."""

from __future__ import annotations

import pytest

from discreet.errors import InvalidParameter, LedgerError
from discreet.ledger import open_ledger
from discreet.ledger.postgres.address import SCHEMA, read_address

SECRET = "hunter2"


def test_a_place_is_named_without_its_credentials() -> None:
    address = read_address(f"postgresql://ana:{SECRET}@db.example.org/budgets?sslmode=require")
    assert address.where == f"postgresql://db.example.org:5432/budgets#{SCHEMA}"
    assert address.parts["sslmode"] == "require"
    assert SECRET not in repr(address)


@pytest.mark.parametrize(
    "text",
    [
        f"postgresql://ana:{SECRET}@host/d?nonsense=1",
        f"mysql://ana:{SECRET}@host/d",
        f"postgresql://ana:{SECRET}@host/d#Two Words",
        f'postgresql://ana:{SECRET}@host/d#a"b',
        f"postgresql://ana:{SECRET}@host/d#pg_catalog",
        f"postgresql://ana:{SECRET}@host/d#{'x' * 64}",
    ],
)
def test_another_text_is_refused_without_quoting_it(text: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        read_address(text)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_server_that_is_not_there_is_told_without_the_password() -> None:
    with pytest.raises(LedgerError, match="cannot be reached") as caught:
        open_ledger(f"postgresql://ana:{SECRET}@127.0.0.1:1/d")
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None
