"""Tumult Analytics on a local Spark with all cores: the frame cached in memory, pure epsilon, a public key set.

Its own average beside a count pays for the count twice and takes longer, so the sum is asked and divided by the count.
"""

from __future__ import annotations

from collections.abc import Callable

from tmlt.analytics import (
    AddOneRow,
    AddRowsWithID,
    KeySet,
    MaxRowsPerID,
    PureDPBudget,
    QueryBuilder,
    Session,
)

from benchmarks.peers.common import EPSILON, GROUPS, HIGH, KEPT, LOW, Answer, main, means_of
from benchmarks.peers.spark import spark_session


def prepare(path: str, unit: str) -> Callable[[], Answer]:
    """Start Spark and cache the rows."""
    rows = spark_session().read.parquet(path).cache()
    rows.count()
    keys = KeySet.from_dict({"place": list(range(GROUPS))})
    half = PureDPBudget(EPSILON / 2)

    def answer() -> Answer:
        session = Session.from_dataframe(
            PureDPBudget(EPSILON),
            "visits",
            rows,
            protected_change=AddOneRow() if unit == "row" else AddRowsWithID("person"),
        )
        visits = QueryBuilder("visits")
        if unit == "user":
            visits = visits.enforce(MaxRowsPerID(KEPT))
        places = visits.groupby(keys)
        counts = dict(session.evaluate(places.count("n"), half).toPandas()[["place", "n"]].to_numpy())
        sums = session.evaluate(places.sum("amount", LOW, HIGH, "total"), half)
        return counts, means_of(counts, dict(sums.toPandas()[["place", "total"]].to_numpy()))

    return answer


if __name__ == "__main__":
    main(prepare, "tmlt.analytics", "tmlt.core", "pyspark")
