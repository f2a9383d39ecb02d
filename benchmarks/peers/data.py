"""The rows that are asked about, and the truth about them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.peers.common import GROUPS, KEPT

ROWS = 1_000_000
FloatArray = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@dataclass(frozen=True)
class Truth:
    """What a library without privacy would answer: counts and means, by group."""

    counts: FloatArray
    means: FloatArray


def generate(folder: Path, rows: int = ROWS) -> tuple[Path, Path]:
    """Write both files and give back their paths.

    The first has people with four rows on average, more or fewer by chance. In the second nobody has more than
    three, each in another group, so that bounding the rows of a person drops nothing, whoever does it: there an error
    is noise and nothing else. Amounts are skewed: their logarithm is uniform, and they stay below 163,000.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(7)
    amount = np.exp(rng.random(rows) * 12)
    visits, capped = folder / "visits.parquet", folder / "capped.parquet"
    _write(visits, rng.integers(0, rows // 4, rows), rng.integers(0, GROUPS, rows), amount)
    held = rng.integers(1, KEPT + 1, rows)
    person = np.repeat(np.arange(rows), held)[:rows]
    nth = np.arange(rows) - np.searchsorted(person, person)
    # The step is below half of the groups, so that no two of three rows meet.
    start, step = rng.integers(0, GROUPS, rows), rng.integers(1, GROUPS // 2, rows)
    shuffled = rng.permutation(rows)
    _write(capped, person[shuffled], ((start[person] + nth * step[person]) % GROUPS)[shuffled], amount)
    return visits, capped


def _write(path: Path, person: object, place: object, amount: object) -> None:
    pq.write_table(pa.table({"person": person, "place": place, "amount": amount}), path)


def truth(path: Path) -> Truth:
    """The exact counts and means."""
    with duckdb.connect() as connection:
        told = connection.execute(
            "SELECT count(*) AS n, avg(amount) AS mean FROM read_parquet(?) GROUP BY place ORDER BY place",
            [str(path)],
        ).fetchnumpy()
    return Truth(np.asarray(told["n"], np.float64), np.asarray(told["mean"], np.float64))
