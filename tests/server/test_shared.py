"""Two server processes on one ledger, one of them, or their database, killed every second or so while analysts ask.

A usual run kills each of the two once; a deep run lasts five minutes. The test holds whatever the moments of the
kills; that a kill hits an answer under way has been seen in every run, and is not asserted.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections import Counter
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest
from benchmarks.crowd import Crowd, Server, gathered

from benchmarks import crowd as crowds
from tests.depth import DEEP, examples
from tests.server.aftermath import see_history, see_ledger
from tests.servers import new_database, new_server
from tests.warm import programs

SECONDS = examples(2, 300)
ANALYSTS = 6
SLOT = "0.01" if DEEP else "0.05"
"""Of a usual run some hundred answers, most of whose time is the wait for their slot."""
EACH, BUDGET = Fraction(1, 5), Fraction(11, 10)  # all together would overdraw the data set


class WarmServer(Server):
    """A server whose process begins with our modules loaded; it is killed with the program that asked for it."""

    def start(self) -> None:
        """Start, and return at once."""
        self._command = [str(programs() / "discreet"), *self._command[self._command.index("serve") :]]
        super().start()


@pytest.fixture(autouse=True)
def _warm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowds, "Server", WarmServer)


def outcomes(crowd: Crowd) -> Counter[str]:
    """How often each status was answered to all analysts."""
    return sum((one.outcomes for one in crowd.analysts), Counter())


# A deep run does so on a file, too; each run kills processes on a file in tests/ledger/test_crash.py.
@pytest.mark.parametrize("kind", ["file", "postgres"] if DEEP else ["postgres"])
def test_nothing_is_lost_when_servers_are_killed(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = new_database() if kind == "postgres" else ""
    # In a deep run budgets that end within seconds would leave nothing to be killed.
    more = 1 if SECONDS < 10 else 100
    with ExitStack() as stack:
        crowd = gathered(
            stack, tmp_path, ledger, servers=2, analysts=ANALYSTS, budget=str(float(BUDGET * more)),
            each=str(float(EACH * more)), slot=SLOT,
        )  # fmt: skip
        crowd.ask(SECONDS, every=1.0)
        for _ in range(30):  # a busy machine answers little in the few seconds before
            if outcomes(crowd)["200"] > 20 and outcomes(crowd)["lost"] > 0:
                break
            crowd.ask(
                2, every=0.0 if outcomes(crowd)["lost"] else 1.0
            )  # a start takes seconds of the processor
        total = outcomes(crowd)
        unanswered = see_history(crowd)
        faults = [fault for one in crowd.analysts for fault in one.faults]
        logged = "".join(line for server in crowd.servers for line in server.errors)
    charges = see_ledger(crowd, ledger, BUDGET * more, EACH * more, unanswered)
    with capsys.disabled():
        print(f"\n{kind}, {SECONDS} s: {dict(total)}; {charges} charges, {unanswered} of them bought nothing")
    assert not faults
    assert str(tmp_path) not in logged
    assert total["200"] > 20
    assert total["lost"] > 0, "no kill was felt"


def test_nothing_is_lost_when_the_database_is_killed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A process of PostgreSQL that is killed takes all others with it; the service says so, and goes on by itself."""
    with ExitStack() as stack:
        url = stack.enter_context(new_server())
        crowd = gathered(
            stack, tmp_path, url, servers=1, analysts=ANALYSTS, budget="110", each="20", slot=SLOT
        )
        kills = killed(stack, url, 1.0 if SECONDS < 10 else 5.0)
        crowd.ask(SECONDS)
        kills.stop.set()
        kills.join()
        wait_for(url)
        for _ in range(30):  # a busy machine answers nothing in the few seconds before
            if outcomes(crowd)["200"]:
                break
            crowd.ask(1)
        unanswered = see_history(crowd)
        faults = [fault for one in crowd.analysts for fault in one.faults]
        charges = see_ledger(crowd, url, BUDGET * 100, EACH * 100, unanswered)
    total = outcomes(crowd)
    with capsys.disabled():
        print(f"\n{kills.count} kills, {dict(total)}; {charges} charges, {unanswered} of them bought nothing")
    assert kills.count > 0
    assert all(fault.startswith("503 ") and "LedgerError" in fault for fault in faults), faults[:3]
    assert total["200"] > 0


class Killer(threading.Thread):
    """Kills a process of a database every so many seconds."""

    def __init__(self, url: str, every: float) -> None:
        super().__init__(daemon=True)
        self.stop, self.count, self._url, self._every = threading.Event(), 0, url, every

    def run(self) -> None:
        while not self.stop.wait(self._every):
            with contextlib.suppress(psycopg.Error), psycopg.connect(self._url) as connection:
                os.kill(connection.info.backend_pid, signal.SIGKILL)
                self.count += 1


def killed(stack: ExitStack, url: str, every: float) -> Killer:
    """Begin to kill; it ends with the stack."""
    killer = Killer(url, every)
    stack.callback(killer.stop.set)
    killer.start()
    return killer


def wait_for(url: str) -> None:
    """Wait until a database is back."""
    for _ in range(200):
        with contextlib.suppress(psycopg.Error), psycopg.connect(url):
            return
        time.sleep(0.1)
