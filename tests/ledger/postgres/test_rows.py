"""Answers in pieces."""

from __future__ import annotations

import pytest
from tests.servers import connect, new_schema

from discreet.errors import LedgerCorrupt
from discreet.ledger import Account, Loss, open_ledger, store


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM {0} WHERE piece = 1",
        "DELETE FROM {0} WHERE piece = 4",
        "DELETE FROM {0}",
        "UPDATE {0} SET content = 'x' WHERE piece = 2",
        "INSERT INTO {0} VALUES (2, 7, 'x')",
        "INSERT INTO {0} VALUES (1, 0, 'x')",
        "INSERT INTO {0} VALUES (9, 0, 'x')",
    ],
)
def test_a_piece_that_was_changed_is_found(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "PIECE", 1000)
    address = new_schema()
    url, _, schema = address.partition("#")
    answer = bytes(range(250)) * 20
    with open_ledger(address) as ledger:
        ledger.settle(ledger.charge("q", Loss(1), [Account("visits", Loss(3))]), answer)
        assert ledger.replay("q") == answer
        assert ledger.verify() == 2
        with connect(url) as connection:
            connection.execute("SET session_replication_role = replica")
            connection.execute(change.format(f"{schema}.discreet_answer"))
        with pytest.raises(LedgerCorrupt, match=r"Entry [23] "):
            ledger.verify()
