"""One ledger in many threads, and across forks."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.warm import programs

from discreet.errors import BudgetExceeded, LedgerError
from discreet.ledger import Account, Ledger, Loss, open_ledger

VISITS = Account("data set visits", Loss(1))


@pytest.fixture
def ledger(place: str | None) -> Iterator[Ledger]:
    with open_ledger(place) as opened:
        yield opened


def test_threads_spend_one_budget(ledger: Ledger) -> None:
    gate = threading.Barrier(8)

    def ask(thread: int) -> int:
        gate.wait()
        granted = 0
        for i in range(20):
            try:
                charge = ledger.charge(f"q{thread} {i}", Loss("1/100"), [VISITS])
            except BudgetExceeded:
                continue
            answer = f"{thread} {i}".encode()
            ledger.settle(charge, answer)
            assert ledger.replay(f"q{thread} {i}") == answer
            granted += 1
        return granted

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(ask, range(8))) == 100
    assert ledger.spent("data set visits") == Loss(1)
    assert ledger.verify() == 200


def test_threads_agree_on_a_new_salt(ledger: Ledger) -> None:
    gate = threading.Barrier(8)

    def salt(_: int) -> int:
        gate.wait()
        return ledger.salt("visits")

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(salt, range(8)))) == 1


def test_a_thread_that_waits_too_long_is_told(tmp_path: Path) -> None:
    from discreet.ledger.sqlite.store import SqliteStore

    with open_ledger(tmp_path / "ledger.db", timeout=0.1) as ledger:
        assert isinstance(ledger._store, SqliteStore)
        with ThreadPoolExecutor(1) as pool:
            pool.submit(ledger._store.hold).result()
            with pytest.raises(LedgerError, match="busy in another thread"):
                ledger.spent("a")
            pool.submit(ledger._store.let_go).result()
        assert ledger.spent("a") == Loss(0)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc and fork")
def test_forks_carry_no_connection_and_spend_one_budget(durable: str) -> None:
    command = [str(programs() / "python"), str(Path(__file__).with_name("fork.py")), durable]
    # The script forks while a thread runs, on purpose; Python 3.12 warns of it on stderr.
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    result = json.loads(done.stdout)
    children = result["children"]
    assert result["before"] > 0
    assert len(children) == 4
    assert [child["inherited"] for child in children] == [0, 0, 0, 0]
    assert all(child["refused"] for child in children)
    assert result["own"] + sum(child["granted"] for child in children) == 99
    assert result["spent"] == "epsilon 1"


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc and fork")
def test_a_ledger_that_stays_open_across_a_fork_is_caught(tmp_path: Path) -> None:
    script = str(Path(__file__).with_name("fork.py"))
    fault = (
        "import sys, runpy; import discreet.ledger.sqlite.store as sql; sql.SqliteStore.release = lambda self: None; "
        f"sys.argv = [{script!r}, {str(tmp_path / 'ledger.db')!r}]; "
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    command = [str(programs() / "python"), "-"]
    done = subprocess.run(command, input=fault, capture_output=True, text=True, timeout=120)
    assert "forked with the ledger open" in done.stderr
