"""SmartNoise SQL over a Pandas frame, which it copies into a SQLite in memory: once, before the clock runs.

Each column costs the epsilon of `Privacy`; COUNT(amount) and AVG(amount) share a count, so there are two. The public
groups need no threshold (`censor_dims` is off) and delta is then not used; 1e-12 is what it is given.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
from snsql import Privacy, from_df

from benchmarks.peers.common import EPSILON, GROUPS, HIGH, KEPT, LOW, Answer, main

QUESTION = "SELECT place, COUNT(amount) AS n, AVG(amount) AS mean FROM data.visits GROUP BY place"


def prepare(path: str, unit: str) -> Callable[[], Answer]:
    """Open a reader, which loads SQLite."""
    rows = pd.read_parquet(path)
    table = {
        "row_privacy": unit == "row",
        "max_ids": 1 if unit == "row" else KEPT,
        "sample_max_ids": unit == "user",
        "censor_dims": False,
        "clamp_counts": False,
        "clamp_columns": True,
        "rows": len(rows),
        "person": {"type": "int", "private_id": unit == "user"},
        "place": {"type": "int", "lower": 0, "upper": GROUPS - 1},
        "amount": {"type": "float", "lower": LOW, "upper": HIGH},
    }
    privacy = Privacy(epsilon=EPSILON / 2, delta=1e-12)
    reader = from_df(rows, privacy=privacy, metadata={"": {"data": {"visits": table}}})
    spent, _ = reader.get_privacy_cost(QUESTION)
    assert abs(spent - EPSILON) < 1e-9, f"one answer costs {spent}"

    def answer() -> Answer:
        told = reader.execute(QUESTION)[1:]
        return {place: n for place, n, _ in told}, {place: mean for place, _, mean in told}

    return answer


if __name__ == "__main__":
    main(prepare, "smartnoise-sql", "opendp", "pandas")
