"""Two server processes on one ledger, one of them, or their database, killed every second or so while analysts ask.

A usual run kills each of the two once; a deep run lasts five minutes. The test holds whatever the moments of the
kills; that a kill hits an answer under way has been seen in every run, and is not asserted.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest
from benchmarks.crowd import AT, EPSILON, NAME, Analyst, Crowd, gathered

from discreet.accounting.loss import Loss
from discreet.server.service import Service, Settings
from discreet.server.start import open_service
from tests.depth import DEEP, examples
from tests.servers import new_database, new_server

SECONDS = examples(3, 300)
ANALYSTS = 6
EACH, BUDGET = Fraction(1, 5), Fraction(11, 10)  # all together would overdraw the data set


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
            each=str(float(EACH * more)), slot="0.01",
        )  # fmt: skip
        crowd.ask(SECONDS, every=1.0)
        unanswered = see_history(crowd)
        faults = [fault for one in crowd.analysts for fault in one.faults]
        logged = "".join(line for server in crowd.servers for line in server.errors)
    service = open_service([crowd.policy], Settings(), ledger)
    charges = see_ledger(crowd, service, more)
    service.close()
    total: Counter[str] = sum((one.outcomes for one in crowd.analysts), Counter())
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
            stack, tmp_path, url, servers=1, analysts=ANALYSTS, budget="110", each="20", slot="0.01"
        )
        kills = killed(stack, url, 2.0 if SECONDS < 10 else 5.0)
        crowd.ask(SECONDS)
        kills.stop.set()
        kills.join()
        wait_for(url)
        unanswered = see_history(crowd)
        faults = [fault for one in crowd.analysts for fault in one.faults]
        service = open_service([crowd.policy], Settings(), url)
        charges = see_ledger(crowd, service, 100)
        service.close()
    total: Counter[str] = sum((one.outcomes for one in crowd.analysts), Counter())
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


def see_history(crowd: Crowd) -> int:
    """See that every settled answer can be fetched, from either server; how many charges bought nothing."""

    def unanswered(one: Analyst) -> int:
        for server in crowd.servers:
            releases = json.loads(fetched(one, server.port, f"{AT}/releases"))["releases"]
        found = {}
        for at, release in enumerate(releases):
            if release["answered"]:
                data = fetched(
                    one, crowd.servers[at % len(crowd.servers)].port, f"{AT}/releases/{release['key']}"
                )
                found[release["asked"]["query"]] = json.loads(data)["rows"]
        assert all(found[query] == rows for query, rows in one.answered.items())
        return sum(not release["answered"] for release in releases)

    with ThreadPoolExecutor(len(crowd.analysts)) as pool:
        return sum(pool.map(unanswered, crowd.analysts))


def fetched(one: Analyst, port: int, path: str) -> bytes:
    """An answer, with the patience that the service asks for."""
    for _ in range(200):
        status, data = one.call(port, "GET", path)
        if status not in (0, 429):  # the first call may meet a connection to a server that was killed
            break
        time.sleep(0.1)
    assert status == 200, data
    return data


def see_ledger(crowd: Crowd, service: Service, more: int) -> int:
    """See that the chains verify, everything answered was charged, and no budget is exceeded; how many charges."""
    ledger = service.datasets[NAME].session.ledger
    entries = ledger.entries()
    assert ledger.verify() == len(entries)
    assert service.state.verify() == service.state.head()
    charges = [entry for entry in entries if entry.kind == "charge"]
    spent = ledger.spent("the data set")
    assert spent.epsilon <= BUDGET * more
    whole = [entry for entry in charges if any(line.account == "the data set" for line in entry.postings)]
    assert spent == Loss(Fraction(EPSILON) * len(whole))
    for one in crowd.analysts:
        own = ledger.entries(f"analyst {one.name}")
        paid = [entry for entry in own if entry.kind == "charge"]
        assert ledger.spent(f"analyst {one.name}").epsilon <= EACH * more
        settled = {entry.settles for entry in own}
        assert len(one.answered) <= sum(entry.number in settled for entry in paid)
        assert len(one.answered) * Fraction(EPSILON) <= ledger.spent(f"analyst {one.name}").epsilon
    return len(charges)
