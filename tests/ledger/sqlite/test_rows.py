"""An answer is kept at once or piece by piece, and is the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet.errors import LedgerError
from discreet.ledger import Account, Loss, open_ledger, rows
from discreet.ledger.chain import verify
from discreet.ledger.chain.book import Book
from discreet.ledger.sqlite import store
from discreet.ledger.sqlite.rows import SqlRows


@pytest.mark.parametrize("size", [0, 1, 999, 1000, 1001, 5000])
def test_both_ways_keep_the_same(tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "AT_ONCE", 1000)
    answer = bytes(at % 251 for at in range(size))
    with open_ledger(tmp_path / "ledger.db") as ledger:
        ledger.settle(ledger.charge("q", Loss(1), [Account("d", Loss(2))]), answer)
        assert ledger.replay("q") == answer
        assert ledger.verify() == 2


def see_both(path: Path) -> None:
    """Two that have one file open see what the other charged, and one that nobody wrote is not checked again."""
    data = Account("d", Loss(9))
    with open_ledger(path) as one, open_ledger(path) as other:
        for number in range(1, 5):
            one.charge(f"q{number}", Loss(1), [data])
            for _ in range(3):
                assert other.spent("d") == one.spent("d") == Loss(number)
                assert other.head() == one.head()


def test_the_end_of_the_chain_is_checked_again_once_somebody_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks: list[Book] = []

    def noted(*given: Any) -> Book:
        checks.append(verify.caught_up(*given))
        return checks[-1]

    monkeypatch.setattr("discreet.ledger.rows.caught_up", noted)
    see_both(tmp_path / "ledger.db")
    assert len(checks) <= 2 + 2 + 4 * 2, "of the opening, of each charge, and of each first look at one"


def test_a_ledger_that_is_never_read_again_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: a reader holds the ledger for unchanged, whoever wrote."""

    class Same(SqlRows):
        def __init__(self, *given: Any, same: bool | None = None) -> None:
            super().__init__(*given, same=same is not None)

    monkeypatch.setattr(store, "SqlRows", Same)
    with pytest.raises((AssertionError, LedgerError)):
        see_both(tmp_path / "ledger.db")
