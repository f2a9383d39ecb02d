"""A hundred million rows in bounded memory: Spark, DuckDB and ClickHouse, beside the same aggregate by hand.

    python -m benchmarks scale                             # some ten minutes, and some 10 GB of disk while it runs
    DISCREET_ROWS=10000000 python -m benchmarks scale      # a tenth of them

The aggregate is count and mean by 100 groups, where a user has four rows on average of which three count. By hand,
without privacy, that is a window over the rows of each user, or what is faster; nearly all the time goes into bringing
the rows of a user together. Whoever needs no bound has the plain GROUP BY, which stands beside it for information.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import duckdb

import discreet as dp
from benchmarks.line import Line, once

ROWS = int(os.environ.get("DISCREET_ROWS", "100000000"))
FILE_ROWS = 5_000_000
KEPT = 3
HEAP = 4
"""GiB that the Java of Spark may use for its heap, and DuckDB for our question."""
MOST_MEMORY = 1.5 * HEAP
QUESTION = "SELECT g, COUNT(*) AS n, AVG(x) AS x FROM visits GROUP BY g"
WINDOW = (
    "SELECT g, COUNT(*) AS n, AVG(x) AS x FROM (SELECT g, x, row_number() OVER (PARTITION BY u ORDER BY "
    f"xxhash64(u, g, x)) AS r FROM visits) AS v WHERE r <= {KEPT} GROUP BY g"
)
LEAST = (
    f"SELECT r.g AS g, COUNT(*) AS n, AVG(r.x) AS x FROM (SELECT unnest(min({{h: hash(u, g, x), g: g, x: x}}, {KEPT})) "
    "AS r FROM visits GROUP BY u) AS v GROUP BY r.g"
)
MEMORY = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3
"""GiB of this machine."""
Ask = Callable[[], object]
_LEDGERS = count()


def lines() -> Iterator[Line]:
    """Measure, one line at a time."""
    with tempfile.TemporaryDirectory(prefix="discreet-scale-") as folder:
        data = generate(Path(folder), ROWS)
        few = generate(Path(folder), min(ROWS, FILE_ROWS) // 10, name="few")
        yield from of_duckdb(data, Path(folder))
        yield from of_spark(data, few, Path(folder))
        yield from of_clickhouse(data, Path(folder))


def generate(folder: Path, rows: int, groups: int = 100, name: str = "many") -> Path:
    """A folder of Parquet files: groups, a skewed number, and users with four rows each on average.

    A file is written as it is made, so memory stays small.
    """
    data = folder / name
    data.mkdir()
    for at, start in enumerate(range(0, rows, FILE_ROWS)):
        duckdb.execute(
            f"COPY (SELECT CAST(floor(random() * {groups}) AS INTEGER) AS g, exp(random() * 12) AS x, "
            f"CAST(random() * {rows // 4} AS BIGINT) AS u FROM range({min(FILE_ROWS, rows - start)})) "
            f"TO '{data}/{at:04d}.parquet'"
        )
    return data


def asker(source: object, unit: str, folder: Path, groups: int = 100) -> Ask:
    """A function that asks the question anew each time: another epsilon, so that nothing is replayed."""
    fresh = count(10_000)
    (folder / "ledgers").mkdir(exist_ok=True)
    options: dict[str, Any] = {
        "table": "visits", "privacy_unit": unit, "budget": 1000, "ledger": folder / "ledgers" / f"{next(_LEDGERS)}.db",
        "bounds": {"x": (0, 200_000)} | ({"g": (0, groups - 1)} if groups > 1 else {}),
        "keys": {} if groups > 1 else {"g": [0]},
    }  # fmt: skip
    if unit != "row":
        options["max_rows"] = KEPT
    session = dp.protect(source, **options)
    return lambda: session.sql(QUESTION, epsilon=1 - Fraction(1, next(fresh)))


def turns(asks: Sequence[Ask], runs: int) -> list[float]:
    """Median seconds of some functions that are run in turns, so that a busy machine slows all of them."""
    seconds: list[list[float]] = [[] for _ in asks]
    for _ in range(runs):
        for ask, found in zip(asks, seconds, strict=True):
            found.append(once(ask))
    return [statistics.median(found) for found in seconds]


def of_spark(data: Path, few: Path, folder: Path) -> Iterator[Line]:
    """Spark in local mode, its memory bounded."""
    spark = spark_session(folder)
    try:
        asks: list[Ask] = []
        for path in (few, data):
            frame = spark.read.parquet(str(path))
            frame.createOrReplaceTempView("visits")
            asks = [
                asker(frame, "u", folder),
                lambda: spark.sql(WINDOW).collect(),
                lambda: spark.sql(QUESTION).collect(),
            ]
            if path is few:
                turns(asks, 2)  # Java compiles what it runs often
        ours, window, plain = turns(asks, 1 if ROWS > 2 * FILE_ROWS else 3)
        yield from _beside("Spark", ours, window, plain)
        yield _memory("Spark, its Java", _peak(spark.sparkContext._gateway.proc.pid))
    finally:
        spark.stop()


def spark_session(folder: Path) -> Any:
    """A session of all cores of this machine, whose heap is bounded."""
    warnings.simplefilter("ignore")
    from pyspark.sql import SparkSession

    settings = {
        "spark.driver.memory": f"{HEAP}g", "spark.local.dir": str(folder), "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false", "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1", "spark.log.level": "OFF",
    }  # fmt: skip
    builder = SparkSession.builder.master("local[*]").appName("discreet benchmarks")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def of_duckdb(data: Path, folder: Path) -> Iterator[Line]:
    """DuckDB on the same files: ours in as little memory as Spark has, the others in most that there is.

    By hand, the least three rows of each user are faster found than by a window, which also spills more than 60 GB.
    """
    bounded, free = (
        duckdb.connect(config={
            "memory_limit": f"{memory}GiB", "temp_directory": str(folder / f"spilled{memory}"),
            "max_temp_directory_size": "16GiB",
        })
        for memory in (HEAP, max(HEAP, int(0.7 * MEMORY)))
    )  # fmt: skip
    for connection in (bounded, free):
        connection.execute("SET enable_progress_bar = false")
        connection.execute(f"CREATE VIEW visits AS FROM '{data}/*.parquet'")
    ask = asker(bounded, "u", folder)
    once(lambda: free.execute(QUESTION).fetchall())
    ours = once(ask)
    peak = _peak(os.getpid())
    asks = [ask, lambda: free.execute(LEAST).fetchall(), lambda: free.execute(QUESTION).fetchall()]
    try:
        if ROWS > 2 * FILE_ROWS:
            least, plain = turns(asks[1:], 1)
        else:
            ours, least, plain = turns(asks, 3)
    except duckdb.OutOfMemoryException:
        yield Line(f"DuckDB, {ROWS:,} rows, user unit; by hand not enough memory", ours, "", 0, 0, "", True)
    else:
        yield from _beside("DuckDB", ours, least, plain)
    yield _memory("DuckDB, with Python", peak)


def of_clickhouse(data: Path, folder: Path) -> Iterator[Line]:
    """The embedded ClickHouse, on a table of its own with the same rows; its memory is not bounded here."""
    from chdb import session

    opened: Any = session.Session
    clickhouse = opened(str(folder / "clickhouse"))
    clickhouse.query(
        "CREATE TABLE default.visits (g Int32, x Float64, u Int64) ENGINE = MergeTree ORDER BY tuple()"
    )
    clickhouse.query(f"INSERT INTO default.visits SELECT g, x, u FROM file('{data}/*.parquet', Parquet)")
    try:
        by_hand = WINDOW.replace("xxhash64(", "cityHash64(")
        asks: list[Ask] = [asker(clickhouse, "u", folder)]
        asks += [
            partial(clickhouse.query, sql.replace("FROM visits", "FROM default.visits"))
            for sql in (by_hand, QUESTION)
        ]
        once(asks[-1])
        yield from _beside("ClickHouse", *turns(asks, 1 if ROWS > 2 * FILE_ROWS else 3))
    finally:
        clickhouse.close()


def _beside(engine: str, ours: float, window: float, plain: float) -> Iterator[Line]:
    what = f"{engine}, {ROWS:,} rows, user unit"
    yield Line(
        what, ours, f"{engine} by hand, rows bounded", window, ours / window, "at most 1.5 times", ours <= 1.5 * window
    )  # fmt: skip
    yield Line(what, ours, f"{engine} by hand, rows not bounded", plain, ours / plain, "", True)


def _memory(whose: str, most: float) -> Line:
    return Line(
        f"{whose}: memory in GiB, not seconds", most, f"limit, {HEAP} GiB granted", MOST_MEMORY, most / MOST_MEMORY,
        f"at most {MOST_MEMORY:g} GiB", most <= MOST_MEMORY,
    )  # fmt: skip


def _peak(process: int) -> float:
    """The most memory that a process ever held, in GiB."""
    status = Path(f"/proc/{process}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024**2
