"""discreet: a Parquet file, read for every answer, and a ledger on disk that is charged for every answer."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from fractions import Fraction
from itertools import count
from pathlib import Path

import discreet as dp
from benchmarks.peers.common import GROUPS, HIGH, KEPT, LOW, Answer, main

QUESTION = "SELECT place, COUNT(amount) AS n, AVG(amount) AS mean FROM visits GROUP BY place"


def prepare(path: str, unit: str) -> Callable[[], Answer]:
    """Open a session."""
    session = dp.protect(
        path,
        table="visits",
        privacy_unit="row" if unit == "row" else "person",
        max_rows=1 if unit == "row" else KEPT,
        bounds={"amount": (LOW, HIGH)},
        keys={"place": list(range(GROUPS))},
        budget=10**6,
        ledger=Path(tempfile.mkdtemp()) / "ledger.db",
    )
    fresh = count(10**6)

    def answer() -> Answer:
        # A little less than 1, another epsilon each time: the same question would be answered from the ledger.
        told = session.sql(QUESTION, epsilon=1 - Fraction(1, next(fresh))).to_dict()
        return dict(zip(told["place"], told["n"], strict=True)), dict(
            zip(told["place"], told["mean"], strict=True)
        )

    return answer


if __name__ == "__main__":
    main(prepare, "discreet", "duckdb")
