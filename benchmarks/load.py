"""Load: questions over small data with a durable ledger, from one thread and from many.

Each question is new, so each is planned, charged, computed, settled and answered. The reference is the same load in the
same run, where every charge and every settlement has a commit of its own, as one thread after the other would make it.
DISCREET_LEDGERS names the folder of the ledgers: what a commit costs depends on its disk.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

import discreet as dp
from benchmarks.line import Line
from discreet.ledger import group

ROWS, QUESTIONS, RUNS, THREADS = 1000, 240, 3, 16
DATA = pa.table({"age": [at % 90 for at in range(ROWS)], "ward": ["abc"[at % 3] for at in range(ROWS)]})


def lines() -> Iterator[Line]:
    """Measure."""
    load(1, 40)
    alone, together, each, memory = [], [], [], []
    for _ in range(RUNS):  # by turns, so that whatever else the machine does meets all of them
        alone.append(load(1, QUESTIONS // 4))
        each.append(load(THREADS, QUESTIONS, shared=False))
        together.append(load(THREADS, QUESTIONS))
        memory.append(load(THREADS, QUESTIONS, durable=False))
    one, own, ours, free = map(statistics.median, (alone, each, together, memory))
    yield _line(f"a question, {THREADS} threads, durable ledger", ours, "a commit each", own)
    yield _line(f"a question, {THREADS} threads, durable ledger", ours, "one thread", one, at_least=2)
    yield _line(f"a question, {THREADS} threads, durable ledger", ours, "no disk", free)


def load(threads: int, questions: int, *, shared: bool = True, durable: bool = True) -> float:
    """Seconds a question when so many threads ask."""
    most = group.MOST
    with tempfile.TemporaryDirectory(dir=os.environ.get("DISCREET_LEDGERS")) as folder:
        ledger = f"{folder}/ledger.db" if durable else None
        with dp.protect(
            DATA, privacy_unit="row", bounds={"age": (0, 120)}, keys={"ward": ["a", "b", "c"]}, budget=10**6,
            ledger=ledger,
        ) as session:  # fmt: skip

            def ask(number: int) -> None:
                query = f"SELECT ward, COUNT(*) AS n, AVG(age) AS age FROM data WHERE age < {number} GROUP BY ward"
                session.sql(query, epsilon="0.001")

            ask(-1)
            group.MOST = most if shared else 1
            try:
                start = time.perf_counter()
                with ThreadPoolExecutor(threads) as pool:
                    list(pool.map(ask, range(questions)))
                return (time.perf_counter() - start) / questions
            finally:
                group.MOST = most


def _line(name: str, ours: float, what: str, theirs: float, at_least: float = 0) -> Line:
    target = f"at least {at_least:g}" if at_least else ""
    return Line(name, ours, what, theirs, theirs / ours, target, theirs / ours >= at_least)
