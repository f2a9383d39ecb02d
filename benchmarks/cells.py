"""Ten million groups in one question, in memory and into a file: seconds, and the most memory ever held."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb

from benchmarks import peak
from benchmarks.line import Line

ENDS = 3161
ROWS = 1_000_000
QUESTIONS = {
    "count": "SELECT a, b, COUNT(*) AS n FROM cells GROUP BY a, b",
    "mean": "SELECT a, b, AVG(x) AS x FROM cells GROUP BY a, b",
    "count, largest first": "SELECT a, b, COUNT(*) AS n FROM cells GROUP BY a, b ORDER BY n DESC",
}
OURS = """
import json, sys, time
import discreet as dp
path, sql, ends = sys.argv[1], sys.argv[2], int(sys.argv[3])
session = dp.protect(path, privacy_unit="row", bounds={"a": (0, ends), "b": (0, ends), "x": (0, 100)}, budget=9,
                     ledger=path + ".ledger.db")
start = time.perf_counter()
release = session.sql(sql, epsilon=1)
answered = time.perf_counter() - start
release.to_arrow()
print(json.dumps([answered, peak(), time.perf_counter() - start]))
"""
THEIRS = """
import json, sys, time
import duckdb
from discreet.noise import laplace
path, sql, ends = sys.argv[1], sys.argv[2], int(sys.argv[3])
entries, scale = (2, 2**30) if "AVG" in sql else (1, 1)  # what the question draws, too
every = f"FROM range({ends + 1}) AS i, range({ends + 1}) AS j LEFT JOIN"
start = time.perf_counter()
duckdb.sql(f"SELECT i.range AS a, j.range AS b, n, x {every} (SELECT a, b, COUNT(*) AS n, AVG(x) AS x FROM '{path}' "
           "GROUP BY a, b) AS g ON i.range = g.a AND j.range = g.b").to_arrow_table()
for _ in range(entries):
    laplace(scale, (ends + 1) ** 2)
print(json.dumps([time.perf_counter() - start, 0, 0]))
"""
WRITES = """
import json, sys, time
import duckdb
import discreet as dp
path, sql, ends = sys.argv[1], sys.argv[2], int(sys.argv[3])
connection = duckdb.connect(config={"memory_limit": "100MB", "temp_directory": path + ".spill"})
connection.execute(f"CREATE VIEW cells AS SELECT a % {ends + 1} AS a, b % {ends + 1} AS b, x FROM '{path}'")
session = dp.protect(connection, privacy_unit="row", bounds={"a": (0, ends), "b": (0, ends), "x": (0, 100)}, budget=9,
                     ledger=f"{path}.{ends}.ledger.db")
start = time.perf_counter()
session.write(sql, 1, f"{path}.{ends}.answer.parquet")
seconds = time.perf_counter() - start
print(json.dumps([seconds, peak(), seconds]))
"""
MOST_MEMORY = 2 * 1024**3
MOST_GROWTH = 100 * 1024**2
MOST_SORTING = 356 * 1024**2
"""What `engines.spilling` may take to sort noisy numbers, 256 MB, and what the rest may grow by."""
SIZES = (315, 999, ENDS)


def lines() -> Iterator[Line]:
    """Measure, one question at a time."""
    with tempfile.TemporaryDirectory() as folder:
        for name, sql in QUESTIONS.items():
            path = Path(folder) / name / "cells.parquet"
            path.parent.mkdir()
            number = f"CAST(floor(random() * {ENDS + 1}) AS BIGINT)"
            duckdb.execute(
                f"COPY (SELECT {number} AS a, {number} AS b, random() * 100 AS x FROM range({ROWS})) TO '{path}'"
            )
            theirs, _, _ = _run(THEIRS, str(path), sql)
            ours, memory, whole = _run(OURS, str(path), sql)
            what, reference = (
                f"{(ENDS + 1) ** 2:,} groups, {name}",
                "every group in DuckDB, and the same noise",
            )
            yield Line(
                what, ours, reference, theirs, ours / theirs, "at most 2 times as long", ours <= 2 * theirs
            )
            yield Line(f"{what}: with intervals", whole, reference, theirs, whole / theirs, "", True)
            yield Line(f"{what}: memory in GiB, not seconds", memory / 1024**3, "limit", MOST_MEMORY / 1024**3,
                       memory / MOST_MEMORY, "at most 2 GiB", memory <= MOST_MEMORY)  # fmt: skip
            yield from _written(name, path, sql)


def _written(name: str, path: Path, sql: str) -> Iterator[Line]:
    """The same question into a file, at a hundredth, a tenth and the whole of the groups."""
    peaks = {}
    for ends in SIZES:
        seconds, peaks[ends], _ = _run(WRITES, str(path), sql, ends)
        yield Line(f"{(ends + 1) ** 2:,} groups, {name}, into a file", seconds, "", 0, 0, "", True)
    least, most = peaks[SIZES[0]], peaks[SIZES[-1]]
    limit = MOST_SORTING if "ORDER" in sql else MOST_GROWTH
    yield Line(f"{name}, into a file: peak in GiB at {(ENDS + 1) ** 2:,} groups and at {(SIZES[0] + 1) ** 2:,}",
               most / 1024**3, "at the fewest groups", least / 1024**3, most / least,
               f"at most {limit // 1024**2} MiB more", most - least <= limit)  # fmt: skip


def _run(code: str, path: str, sql: str, ends: int = ENDS) -> tuple[float, float, float]:
    """Seconds to the answer, its peak of memory in bytes, seconds to the answer with its intervals."""
    done = subprocess.run(
        [sys.executable, "-c", peak.SOURCE + code, path, sql, str(ends)],
        check=True,
        capture_output=True,
        text=True,
    )
    seconds, memory, whole = json.loads(done.stdout.splitlines()[-1])  # DuckDB may draw a progress bar before
    return seconds, memory, whole
