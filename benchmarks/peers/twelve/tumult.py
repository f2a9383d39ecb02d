"""Tumult Analytics on a local Spark with all cores: the frame cached in memory, pure epsilon, public key sets.

Its own mean and variance are taken as they are. Unknown codes are found with half of epsilon and the delta, by its
`get_groups`, and counted with the rest. A person in many groups has Gaussian noise, by a budget of zCDP that the same
epsilon and delta buy. Totals and running totals are sums of its counts. Every answer has a session of its own.
"""

# mypy: ignore-errors
from __future__ import annotations

import math
from collections.abc import Callable

from pyspark.sql import DataFrame
from tmlt.analytics import (
    AddOneRow,
    AddRowsWithID,
    ApproxDPBudget,
    KeySet,
    MaxGroupsPerID,
    MaxRowsPerGroupPerID,
    PrivacyBudget,
    PureDPBudget,
    QueryBuilder,
    RhoZCDPBudget,
    Session,
)

from benchmarks.peers.spark import spark_session
from benchmarks.peers.twelve.asked import Answer, Asks, Case, by, found, main, running, top, totals


class Asked:
    """A cached frame and its unit."""

    def __init__(self, case: Case, rows: DataFrame, kept: int) -> None:
        self.case, self.rows, self.kept = case, rows.cache(), kept
        self.rows.count()

    def session(self, budget: PrivacyBudget) -> Session:
        """One budget's session."""
        change = AddRowsWithID("person") if self.case.user else AddOneRow()
        return Session.from_dataframe(budget, "visits", self.rows, protected_change=change)

    def rows_by(self, column: str) -> QueryBuilder:
        """The rows, a person's bounded to so many groups of a column, one in each."""
        visits = QueryBuilder("visits")
        if self.case.user:
            visits = visits.enforce(MaxGroupsPerID(column, self.kept)).enforce(
                MaxRowsPerGroupPerID(column, 1)
            )
        return visits

    def ask(self, query: object, budget: PrivacyBudget) -> dict:
        """The first columns as keys, the last as the value."""
        rows = self.session(budget).evaluate(query, budget).toPandas().itertuples(index=False)
        return {(row[0] if len(row) == 2 else tuple(row[:-1])): row[-1] for row in rows}


def prepare(case: Case) -> Asks:
    """Start Spark and cache the rows."""
    spark = spark_session()
    asked = Asked(case, spark.read.parquet(case.path), case.kept)
    pure = PureDPBudget(case.epsilon)
    keys = KeySet.from_dict({"place": case.places})

    def places(made: Callable[[object], object]) -> Callable[[], Answer]:
        return lambda: by(asked.ask(made(asked.rows_by("place").groupby(keys)), pure), case.places)

    def two_way() -> Answer:
        cells = KeySet.from_dict({"place": case.places, "sex": case.sexes})
        return totals(asked.ask(asked.rows_by("place").groupby(cells).count(), pure), case)

    def days() -> dict:
        return asked.ask(asked.rows_by("day").groupby(KeySet.from_dict({"day": case.days})).count(), pure)

    def unknown() -> Answer:
        session = asked.session(ApproxDPBudget(case.epsilon, case.delta))
        rows, half = asked.rows_by("code"), case.epsilon / 2
        codes = session.evaluate(rows.get_groups(["code"]), ApproxDPBudget(half, case.delta))
        counts = session.evaluate(rows.groupby(KeySet.from_dataframe(codes)).count(), ApproxDPBudget(half, 0))
        return found(dict(counts.toPandas().itertuples(index=False)))

    low, high = case.low, case.high
    asks: Asks = {
        "count": places(lambda rows: rows.count()),
        "sum": places(lambda rows: rows.sum("amount", low, high)),
        "mean": places(lambda rows: rows.average("amount", low, high)),
        "variance": places(lambda rows: rows.variance("amount", low, high)),
        "median": places(lambda rows: rows.median("amount", low, high)),
        "ninetieth": places(lambda rows: rows.quantile("amount", 0.9, low, high)),
        "two_way": two_way,
        "unknown": unknown,
        "distinct": places(lambda rows: rows.count_distinct(["person"])),
        "running": lambda: running(days(), case.days),
        "top": lambda: top(days()),
    }
    if case.many:
        many = Asked(case, spark.read.parquet(case.many), case.groups)
        groups = list(range(1, case.many_places + 1))
        budget = RhoZCDPBudget(_rho(case))
        query = many.rows_by("place").groupby(KeySet.from_dict({"place": groups})).count(mechanism="gaussian")
        asks["many"] = lambda: by(many.ask(query, budget), groups)
    return asks


def _rho(case: Case) -> float:
    """The rho of zCDP that an epsilon and a delta buy, by the conversion of Canonne, Kamath and Steinke 2020."""

    def log_delta(rho: float) -> float:
        def at(alpha: float) -> float:
            return (
                (alpha - 1) * (alpha * rho - case.epsilon)
                + alpha * math.log1p(-1 / alpha)
                - math.log(alpha - 1)
            )

        return min(at(1 + 10 ** (k / 500)) for k in range(-500, 2000))

    low, high = 1e-9, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if log_delta(middle) <= math.log(case.delta) else (low, middle)
    return low


if __name__ == "__main__":
    main(prepare, "tmlt.analytics", "tmlt.core", "pyspark")
