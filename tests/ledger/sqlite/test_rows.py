"""An answer is kept at once or piece by piece, and is the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.ledger import Account, Loss, open_ledger
from discreet.ledger.sqlite import rows


@pytest.mark.parametrize("size", [0, 1, 999, 1000, 1001, 5000])
def test_both_ways_keep_the_same(tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "AT_ONCE", 1000)
    answer = bytes(at % 251 for at in range(size))
    with open_ledger(tmp_path / "ledger.db") as ledger:
        ledger.settle(ledger.charge("q", Loss(1), [Account("d", Loss(2))]), answer)
        assert ledger.replay("q") == answer
        assert ledger.verify() == 2
