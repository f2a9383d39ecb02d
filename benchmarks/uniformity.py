"""Whether the rows that are kept under max_rows are a fair choice, on every engine and by every way of choosing them.

5,000 units (3,000 of Spark) with the same rows each keep some of them, keyed by a salt that is new in each run. A line
is an engine and a way of choosing. Its number is the greatest distance of how often a set of rows is kept from its law,
in standard errors, over all sets of the patterns of `tests/sql/lower/test_contribution_bounding.py`, three of which
have equal rows; of a thousand sets some are off by more than three. The target is Pearson's chi-square of each pattern,
whose chance must not be below 1e-9.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import duckdb
import numpy as np
import pytest
from pyarrow import parquet
from tests.sql.lower import test_contribution_bounding as choice

from benchmarks.line import Line

LEAST = 1e-9
IN_FILES = "duckdb in files"
ON_SPARK = ("six in a row", "rows that are alike", "more are alike than are kept")
"""The patterns that are asked of Spark, which takes seconds for each."""


def lines(only: Sequence[str] = ("",)) -> Iterator[Line]:
    """Measure, one engine and way of choosing at a time."""
    paths = [*choice.PATHS, *((IN_FILES, path) for engine, path in choice.PATHS if engine == "duckdb")]
    for engine, path in paths:
        name = f"uniformity: {engine}, {path}"
        if any(text in name for text in only):
            try:
                yield _line(name, engine, path)
            except pytest.skip.Exception as missing:
                yield Line(name, 0.0, f"not asked: {missing}", 0.0, 0.0, "", True, "")
    for label, texts in (("", False), (" of texts", True)):
        for slices in (1, 3):
            name = f"uniformity: whole questions{label}, {slices} slices"
            if any(text in name for text in only):
                yield _whole(name, slices, texts)


def _line(name: str, engine: str, path: str) -> Line:
    far, chance, sets = 0.0, 1.0, 0
    dialect = "duckdb" if engine == IN_FILES else engine
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choice, "SALT", secrets.randbits(64))
        for pattern, kept in (
            choice.PATTERNS[one] for one in (ON_SPARK if engine == "spark" else choice.PATTERNS)
        ):
            with _asking(engine, pattern) as ask:
                found = choice.choose(ask, dialect, path, kept, patch)
            units, law = found.total(), choice.law(pattern, kept)
            sets += len(law)
            chance = min(chance, choice.alarm(found, pattern, kept))
            for one, share in law.items():
                p = float(share)
                if p < 1:
                    far = max(far, abs(found[one] - units * p) / float(np.sqrt(units * p * (1 - p))))
    said = f"chi-square of each pattern above {LEAST:g}: least {chance:.2g}, of {sets} sets"
    return Line(name, far, "", 0.0, 0.0, said, chance > LEAST, "SE")


def _asking(engine: str, pattern: Sequence[choice.Pair]) -> AbstractContextManager[choice.Ask]:
    return _in_files(pattern) if engine == IN_FILES else choice.asking(engine, pattern)


@contextmanager
def _in_files(pattern: Sequence[choice.Pair]) -> Iterator[choice.Ask]:
    """DuckDB over a Parquet file of several row groups."""
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
        path = Path(folder) / "fair.parquet"
        parquet.write_table(choice.rows_of(pattern), path, row_group_size=7_000)
        connection.execute(f"CREATE VIEW fair AS FROM read_parquet('{path}')")
        yield lambda sql: connection.execute(sql).fetchall()


def _whole(name: str, slices: int, texts: bool) -> Line:
    """Months in which each unit has one to three equal rows, by whole questions in memory."""
    total = sum(choice.WEIGHTS.values())
    far, many = 0.0, 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choice, "SALT", secrets.randbits(64))
        for question, kept in choice.QUESTIONS.items():
            counts = choice.asked(kept, question, slices, texts=texts)
            for month, times in choice.WEIGHTS.items():
                p, many = times / total, many + 1
                error = np.sqrt(choice.UNITS * kept * p * (1 - p) * (total - kept) / (total - 1))
                far = max(far, abs(counts.get(month, 0) - choice.UNITS * kept * p) / float(error))
    return Line(name, far, "", 0.0, 0.0, f"each of {many} months within 8", far < 8, "SE")
