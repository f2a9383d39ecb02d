"""80 kills with SIGKILL at random moments: no answer was ever shown that was not charged.

A kill tests the order of writing, not the disk: what a process wrote survives it without any sync. That
commits are synced is the setting that `sql.py` asserts whenever it opens a file.

Power: in runs of 200 kills, 65 to 70 left a charge without settlement, so kills do land where it matters; the
test insists on having seen one, which 60 kills of grown lives all miss with probability 0.67^60 = 4e-11. On
PostgreSQL 30 to 39 of 100 kills left one: 0.7^60 = 5e-10. Of the planted faults, `uncommitted` was hit by 20 to
29 kills in 100 and `answer-first` by more; at 20 in 100, 100 kills all miss with probability 0.8^100 = 2e-10. A
right ledger never fails, whatever the moments. A deep run kills 1,000 times.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.depth import DEEP, examples
from tests.servers import new_schema
from tests.warm import programs

from discreet.ledger import Loss, open_ledger

KILLS = examples(80, 1000)


# A deep run kills those on PostgreSQL, too; each run does so in tests/server/test_shared.py, with whole servers.
@pytest.fixture(params=["file", "postgres"] if DEEP else ["file"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """In memory where that is possible: a busy disk would leave lives of 30 ms no time to answer."""
    if request.param == "postgres":
        yield new_schema()
    elif not os.access("/dev/shm", os.W_OK):
        yield str(tmp_path / "ledger.db")
    else:
        with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
            yield f"{name}/ledger.db"


def crash(path: str, kills: int, fault: str) -> list[str]:
    command = [str(programs() / "python"), str(Path(__file__).with_name("crash.py")), path, str(kills), fault]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    shown: list[str] = json.loads(done.stdout)
    return shown


def test_nothing_is_shown_that_is_not_charged(path: str) -> None:
    shown = crash(path, KILLS, "none")
    with open_ledger(path) as ledger:
        entries = ledger.entries()
        assert ledger.verify() == len(entries)
        charges = [entry for entry in entries if entry.kind == "charge"]
        settled = {entry.settles for entry in entries}
        charged = {entry.question for entry in charges}
        assert len(shown) > 20
        assert set(shown) <= charged
        assert all(ledger.replay(question) == question.encode() for question in shown)
        spent: dict[str, Loss] = {}
        for entry in charges:
            for line in entry.postings:
                spent[line.account] = spent.get(line.account, Loss(0)) + line.loss
                assert spent[line.account].within(line.limit)
        assert all(ledger.spent(account) == loss for account, loss in spent.items())
        assert Loss("0.4") in spent.values()
        assert any(entry.number not in settled for entry in charges), "no kill hit a computation"


@pytest.mark.parametrize("path", ["file"], indirect=True)
@pytest.mark.parametrize("fault", ["answer-first", "uncommitted"])
def test_a_ledger_that_shows_too_early_is_caught(path: str, fault: str) -> None:
    for _ in range(
        examples(5, 50)
    ):  # 100 kills at most in the usual run, and no more once the fault was seen
        shown = crash(path, 20, fault)
        with open_ledger(path) as ledger:
            if not set(shown) <= {entry.question for entry in ledger.entries()}:
                return
    pytest.fail("the fault was not seen")
