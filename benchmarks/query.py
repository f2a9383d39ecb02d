"""Private queries end to end against DuckDB without privacy, on the same generated Parquet files."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import count
from pathlib import Path

import duckdb
import numpy as np

import discreet as dp
from benchmarks.line import Line, alternate, median
from discreet.sql.inspect.preview import _invented
from discreet.sql.intervals.closed_form import redraw
from discreet.sql.measures.measure import Moments

QUESTION = "SELECT g, COUNT(*) AS n, AVG(x) AS x FROM visits GROUP BY g"
SIZES = (1_000_000, 10_000_000)
KEPT = 3
FIRST = 0.3


def lines() -> Iterator[Line]:
    """Measure, one line at a time."""
    yield from imports()
    with tempfile.TemporaryDirectory() as folder:
        for rows in SIZES:
            path = generate(Path(folder), rows)
            yield row_unit(path, rows)
            yield from user_unit(path, rows)
        yield first_answer(Path(folder))
    yield accuracy()


def generate(folder: Path, rows: int) -> str:
    """100 groups, a skewed number, and users with four rows each on average."""
    path = folder / str(rows) / "visits.parquet"
    path.parent.mkdir()
    duckdb.execute(
        f"COPY (SELECT CAST(random() * 100 AS INTEGER) % 100 AS g, exp(random() * 12) AS x, "
        f"CAST(random() * {rows // 4} AS BIGINT) AS u FROM range({rows})) TO '{path}'"
    )
    return str(path)


def asker(path: str, **policy: object) -> Callable[[], object]:
    """A function that asks the question anew each time: another epsilon, so that nothing is replayed."""
    fresh = count(10_000)
    ledger = Path(path).with_name(f"{policy['privacy_unit']}.ledger.db")
    session = dp.protect(path, bounds={"x": (0, 200_000), "g": (0, 99)}, budget=1000, ledger=ledger, **policy)  # type: ignore[arg-type]
    return lambda: session.sql(QUESTION, epsilon=1 - Fraction(1, next(fresh)))


def plain(sql: str) -> Callable[[], object]:
    """The same aggregate in DuckDB as it comes."""
    connection = duckdb.connect()
    return lambda: connection.execute(sql).fetchall()


def row_unit(path: str, rows: int) -> Line:
    """One row is one person."""
    raw = plain(f"SELECT g, COUNT(*), AVG(x) FROM '{path}' GROUP BY g")
    ours, theirs = alternate(asker(path, privacy_unit="row"), raw, 15)
    return within(
        f"count and mean by 100 groups, {rows:,} rows, row unit", ours, "DuckDB, no privacy", theirs, 1.1
    )


def user_unit(path: str, rows: int) -> Iterator[Line]:
    """A person has several rows, of which three count."""
    asked = asker(path, privacy_unit="u", max_rows=KEPT)
    window = plain(
        f"SELECT g, COUNT(*), AVG(x) FROM (SELECT g, x FROM '{path}' QUALIFY row_number() OVER "
        f"(PARTITION BY u ORDER BY hash(u, g, x)) <= {KEPT}) GROUP BY g"
    )
    least = plain(
        f"SELECT r.g, COUNT(*), AVG(r.x) FROM (SELECT unnest(min({{h: hash(u, g, x), g: g, x: x}}, {KEPT})) AS r "
        f"FROM '{path}' GROUP BY u) GROUP BY r.g"
    )
    name = f"the same, user unit, {KEPT} rows kept"
    runs = 7 if rows <= 1_000_000 else 3
    ours, theirs = alternate(asked, window, runs)
    yield Line(name, ours, "DuckDB, rows bounded by a window", theirs, ours / theirs, "", True)
    ours, theirs = alternate(asked, least, runs)
    yield within(name, ours, "DuckDB, rows bounded by min(…, 3)", theirs, 1.2)


def within(name: str, ours: float, reference_name: str, reference: float, times: float) -> Line:
    """A line whose ratio is ours/reference, with 10 ms allowed on top."""
    ok = ours <= times * reference + 0.010
    return Line(
        name, ours, reference_name, reference, ours / reference, f"at most {times:g} times + 10 ms", ok
    )


def imports() -> Iterator[Line]:
    """`import discreet` in a fresh interpreter, beside `import numpy`; the interpreter itself is taken off."""
    empty = median(partial(run, "pass"), 9)
    ours, theirs = alternate(partial(run, "import discreet"), partial(run, "import numpy"), 9)
    ours, theirs = ours - empty, theirs - empty
    yield Line(
        "import discreet",
        ours,
        "import numpy",
        theirs,
        ours / theirs,
        "at most 1.5 times",
        ours <= 1.5 * theirs,
    )


def first_answer(folder: Path) -> Line:
    """From the first import to the first answer: imports, opening a file, a new ledger, a durable charge, a query."""
    path = str(folder / str(SIZES[0]) / "visits.parquet")
    code = (
        f"import sys, discreet as dp; dp.protect({path!r}, privacy_unit='row', bounds={{'x': (0, 1), 'g': (0, 99)}}, "
        f"budget=9, ledger={str(folder)!r} + '/first' + sys.argv[1]).sql({QUESTION!r}, epsilon=1)"
    )
    other = (
        f"import duckdb; duckdb.execute(\"SELECT g, COUNT(*), AVG(x) FROM '{path}' GROUP BY g\").fetchall()"
    )
    ours = [inside(code, str(at)) for at in range(10)][1:]
    theirs = [inside(other) for _ in range(10)][1:]
    found, reference = statistics.median(ours), statistics.median(theirs)
    return Line("first answer in a new process, imports included", found, "DuckDB", reference, found / reference,
                f"at most {FIRST} s", found <= FIRST)  # fmt: skip


def inside(code: str, *arguments: str) -> float:
    """Seconds that some code takes in a fresh interpreter, from its first import on."""
    timed = f"import time; start = time.perf_counter(); {code}; print(time.perf_counter() - start)"
    return float(run(timed, *arguments))


def run(code: str, *arguments: str) -> str:
    """Run Python code in a fresh interpreter, which keeps compiled modules as an installed package has them."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], check=True, env=kept, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


def accuracy() -> Line:
    """Variance of AVG beside COUNT at equal epsilon, against the usual split into a sum and a count."""
    import pyarrow as pa

    from discreet.sql.plan.planner import plan

    session = dp.protect(pa.table({"x": [0.0]}), privacy_unit="row", bounds={"x": (0, 100)}, budget=1)
    release = plan("SELECT COUNT(*), AVG(x) FROM data", session._catalog, Fraction(1)).releases[0]
    rows, draws = 1000, 200_000
    entries = _invented(release, rows).astype(np.float64)
    body = redraw(release, 0, entries, draws, np.random.default_rng(0))
    measure = release.measures[0]
    assert isinstance(measure, Moments)
    ours = measure.estimate("avg", body)[:, 0]
    rng = np.random.default_rng()
    # epsilon/2 for the sum of x - 50, which one row moves by 50, and epsilon/2 for the count
    total = rng.laplace(0, 50 / 0.5, draws)
    theirs = 50 + total / (rows + rng.laplace(0, 1 / 0.5, draws))
    a, b = float(np.var(ours)), float(np.var(theirs))
    return Line("variance of AVG beside COUNT (not seconds)", a, "half for the sum, half for the count", b, a / b,
                "near 0.5", 0.4 <= a / b <= 0.6)  # fmt: skip
