"""Planning, from text to plan: the ten longest questions of the conformance corpus, each read anew every time."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from fractions import Fraction
from functools import partial

from benchmarks.line import Line, once
from discreet.engines.duckdb import DuckDBEngine
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.conformance.questions import QUESTIONS
from discreet.sql.conformance.tables import policy, tables
from discreet.sql.plan.planner import plan

LONGEST, RUNS = 10, 25
LIMIT = 0.020


def lines() -> Iterator[Line]:
    """Measure; no plan is kept from one run to the next, for `plan` remembers readings only where it is told to."""
    engine = DuckDBEngine.open(tables())
    catalog = Catalog.build(policy("u", 3), engine.schema(), {"pub": engine.public("pub")})
    questions = sorted(QUESTIONS, key=len)[-LONGEST:]
    for text in questions:
        plan(text, catalog, Fraction(1))  # imports, and templates that are compiled once in a process
    runs = [[once(partial(plan, text, catalog, Fraction(1))) for text in questions] for _ in range(RUNS)]
    every = statistics.median(seconds for run in runs for seconds in run)
    slowest = max(statistics.median(found) for found in zip(*runs, strict=True))
    name = f"planning, the {LONGEST} longest questions of the corpus"
    yield _line(f"{name}: median", every)
    yield _line(f"{name}: median of the slowest", slowest)


def _line(name: str, seconds: float) -> Line:
    words = f"at most {LIMIT * 1000:g} ms"
    return Line(name, seconds, "limit", LIMIT, LIMIT / seconds, words, seconds <= LIMIT)
