"""Load: questions over small data with a durable ledger, from one thread and from many.

Each question is new, so each is planned, charged, computed, settled and answered. The references are from the same run:
the same load where every charge and every settlement has a commit of its own; and the least that any such system
does, DuckDB's own query of the same groups and one synced write. Python runs one thread at a time, so what bounds many
threads is the processor time of a question, which has lines of its own; a busy machine does not lengthen it much.
DISCREET_LEDGERS names the folder of the ledgers: what a commit costs depends on its disk.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

import duckdb
import pyarrow as pa

import discreet as dp
from benchmarks.line import Line
from discreet.ledger import group_commit

LIMIT = 6e-3
"""What a question over small data may cost beside its data."""
ROWS, QUESTIONS, RUNS, THREADS = 1000, 240, 3, 16
QUERY = "SELECT ward, COUNT(*) AS n, AVG(age) AS age FROM data WHERE age < {} GROUP BY ward"
DATA = pa.table({"age": [at % 90 for at in range(ROWS)], "ward": ["abc"[at % 3] for at in range(ROWS)]})


def lines() -> Iterator[Line]:
    """Measure."""
    load(1, 40)
    kinds: dict[str, Callable[[], Cost]] = {
        "bare": bare,
        "one thread": lambda: load(1, QUESTIONS // 4),
        "a commit each": lambda: load(THREADS, QUESTIONS, shared=False),
        "together": lambda: load(THREADS, QUESTIONS),
        "no disk": lambda: load(THREADS, QUESTIONS, durable=False),
        "alone": lambda: load(1, QUESTIONS // 2, durable=False),
        "again": lambda: load(THREADS, QUESTIONS, again=True),
        "decimals": lambda: load(1, QUESTIONS // 2, durable=False, literal="{}.5"),
    }
    found: dict[str, list[Cost]] = {kind: [] for kind in kinds}
    for _ in range(RUNS):  # by turns, so that whatever else the machine does meets all of them
        for kind, cost in kinds.items():
            found[kind].append(cost())
    wall = {kind: statistics.median(cost[0] for cost in costs) for kind, costs in found.items()}
    busy = {kind: statistics.median(cost[1] for cost in costs) for kind, costs in found.items()}
    name = f"a question, {THREADS} threads, durable ledger"
    yield _line(name, wall["together"], "a commit each", wall["a commit each"])
    yield _line(name, wall["together"], "one thread", wall["one thread"], at_least=2)
    yield _line(name, wall["together"], "no disk", wall["no disk"])
    yield _line(name, wall["together"], "bare query and one sync", wall["bare"])
    yield _line(
        "a question, one thread, durable ledger", wall["one thread"], "bare query and one sync", wall["bare"]
    )
    yield _line(f"{name}, another epsilon", wall["again"], "another literal", wall["together"])
    yield Line("processor time of a question, one thread, in memory", busy["alone"], "limit", LIMIT,
               LIMIT / busy["alone"], "at most 6 ms", busy["alone"] <= LIMIT)  # fmt: skip
    yield _line("the same", busy["alone"], "bare query and one sync", busy["bare"])
    yield _line("processor time of a question", busy["together"], "bare query and one sync", busy["bare"])
    yield _line("the same, another epsilon", busy["again"], "another literal", busy["together"])
    yield _line("the same, one thread, in memory, another decimal", busy["decimals"], "another whole number",
                busy["alone"], at_least=0.8)  # fmt: skip


Cost: TypeAlias = tuple[float, float]
"""Seconds of the clock and of the processor."""


def load(
    threads: int,
    questions: int,
    *,
    shared: bool = True,
    durable: bool = True,
    again: bool = False,
    literal: str = "{}",
) -> Cost:
    """What a question costs when so many threads ask.

    Args:
        threads: how many ask.
        questions: how many they ask in all.
        shared: whether commits are shared.
        durable: whether the ledger is on the disk.
        again: whether the text is always the same, and epsilon another one each time.
        literal: the form of the literal that is another one each time.
    """
    most = group_commit.MOST
    with tempfile.TemporaryDirectory(dir=os.environ.get("DISCREET_LEDGERS")) as folder:
        ledger = f"{folder}/ledger.db" if durable else None
        with dp.protect(
            DATA, privacy_unit="row", bounds={"age": (0, 120)}, keys={"ward": ["a", "b", "c"]}, budget=10**6,
            ledger=ledger,
        ) as session:  # fmt: skip

            def ask(number: int) -> None:
                value, epsilon = (45, f"0.{10**6 + number}") if again else (number, "0.001")
                session.sql(QUERY.format(literal.format(value)), epsilon=epsilon)

            ask(questions + 1)
            group_commit.MOST = most if shared else 1
            try:
                return _cost(ask, threads, questions)
            finally:
                group_commit.MOST = most


def bare(questions: int = QUESTIONS // 4) -> Cost:
    """DuckDB's own answer to the same question, and one synced write."""
    connection = duckdb.connect()
    connection.register("data", DATA)
    with tempfile.TemporaryFile(dir=os.environ.get("DISCREET_LEDGERS")) as file:

        def ask(number: int) -> None:
            connection.execute(QUERY.format(number)).fetchall()
            os.pwrite(file.fileno(), b"x" * 4096, 0)
            os.fsync(file.fileno())

        ask(0)
        return _cost(ask, 1, questions)


def _cost(ask: Callable[[int], None], threads: int, questions: int) -> Cost:
    start, busy = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(ask, range(1, questions + 1)))
    return (time.perf_counter() - start) / questions, (time.process_time() - busy) / questions


def _line(name: str, ours: float, reference: str, theirs: float, at_least: float = 0) -> Line:
    target = f"at least {at_least:g}" if at_least else ""
    return Line(name, ours, reference, theirs, theirs / ours, target, theirs / ours >= at_least)
