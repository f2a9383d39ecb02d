"""Eight processes ask 200 times for 1/50 of a budget of 1: exactly 50 are answered.

This is exact, not statistical, for a right ledger. For one that checks outside the transaction, the test
finds the fault unless no two processes ever check at the same time; with 8 processes that start at once on
an empty ledger and overlap for its whole length, that has not been seen to happen.
"""

from __future__ import annotations

import json
import subprocess
from fractions import Fraction
from pathlib import Path

import pytest
from tests.depth import DEEP
from tests.warm import programs

from discreet.errors import LedgerCorrupt
from discreet.ledger import Loss, open_ledger


def race(path: str, fault: str) -> dict[str, int]:
    command = [str(programs() / "python"), str(Path(__file__).with_name("race.py")), path, fault]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    result: dict[str, int] = json.loads(done.stdout)
    return result


def test_the_budget_is_spent_to_the_last_cent_and_no_further(durable: str) -> None:
    assert race(durable, "none") == {"granted": 50, "refused": 150, "stopped": 0, "failed": 0}
    with open_ledger(durable) as ledger:
        assert ledger.spent("data set visits") == ledger.spent("everyone") == Loss(Fraction(1))
        assert ledger.verify() == 100


# A deep run plants it on PostgreSQL, too.
@pytest.mark.parametrize("durable", ["file", "postgres"][: 1 + DEEP], indirect=True)
def test_a_check_outside_the_transaction_is_caught(durable: str) -> None:
    result = race(durable, "unlocked")
    assert result["granted"] > 50 or result["stopped"], "too much was granted, or the others saw it"
    with pytest.raises(LedgerCorrupt, match="wrong total"), open_ledger(durable) as ledger:
        ledger.verify()
