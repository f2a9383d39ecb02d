"""PipelineDP on its local backend: tuples in memory, public partitions, its own metrics.

Row unit: each row is a person of its own and bounding is left out, as its option for data without identifiers does.
User unit: a person has one row in each of as many groups as rows are kept. Counts of the groups of a person in many
groups have its Gaussian noise. Totals and running totals are sums of its counts.
"""

# mypy: ignore-errors
from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter

import pipeline_dp as pdp
import pyarrow.parquet as pq

from benchmarks.peers.twelve.asked import Answer, Asks, Case, by, found, main, running, top, totals

PERSON, PLACE, SEX, DAY, CODE, AMOUNT = range(6)
NAMES = ("person", "place", "sex", "day", "code", "amount")
Rows = list[tuple[float, ...]]
Key = Callable[[tuple[float, ...]], object]


def rows_of(path: str, *names: str) -> Rows:
    """The rows as tuples."""
    table = pq.read_table(path)
    return list(zip(*(table[name].to_pylist() for name in names), strict=True))


class Engine:
    """One case and its parameters."""

    def __init__(self, case: Case, rows: Rows) -> None:
        self.case, self.rows = case, rows

    def ask(
        self, metric: pdp.Metric, key: Key, public: list[object] | None, delta: float = 0.0, **more: object
    ) -> dict:
        """One metric by partition."""
        case = self.case
        kept = int(more.pop("kept", case.kept if case.user else 1))
        parameters = pdp.AggregateParams(
            metrics=[metric],
            max_partitions_contributed=kept,
            max_contributions_per_partition=1,
            contribution_bounds_already_enforced=not case.user,
            **{"noise_kind": pdp.NoiseKind.LAPLACE, **more},
        )
        accountant = pdp.NaiveBudgetAccountant(total_epsilon=case.epsilon, total_delta=delta)
        engine = pdp.DPEngine(accountant, pdp.LocalBackend())
        extractors = pdp.DataExtractors(
            privacy_id_extractor=itemgetter(PERSON) if case.user else None,
            partition_extractor=key,
            value_extractor=(lambda row: row[AMOUNT]) if "min_value" in more else (lambda _: 0),
        )
        lazy = engine.aggregate(self.rows, parameters, extractors, public_partitions=public)
        accountant.compute_budgets()
        return {at: one[0] for at, one in lazy}


def prepare(case: Case) -> Asks:
    """Load the rows."""
    engine = Engine(case, rows_of(case.path, *NAMES))
    bounds = {"min_value": case.low, "max_value": case.high}
    metrics = pdp.Metrics

    def places(metric: pdp.Metric, **more: object) -> Callable[[], Answer]:
        return lambda: by(engine.ask(metric, itemgetter(PLACE), list(case.places), **more), case.places)

    def days() -> dict:
        return engine.ask(metrics.COUNT, itemgetter(DAY), list(case.days))

    cells = [(place, sex) for place in case.places for sex in case.sexes]
    asks: Asks = {
        "count": places(metrics.COUNT),
        "sum": places(metrics.SUM, **bounds),
        "mean": places(metrics.MEAN, **bounds),
        "variance": places(metrics.VARIANCE, **bounds),
        "median": places(metrics.PERCENTILE(50), **bounds),
        "ninetieth": places(metrics.PERCENTILE(90), **bounds),
        "two_way": lambda: totals(engine.ask(metrics.COUNT, itemgetter(PLACE, SEX), list(cells)), case),
        "unknown": lambda: found(engine.ask(metrics.COUNT, itemgetter(CODE), None, case.delta)),
        "distinct": places(metrics.PRIVACY_ID_COUNT)
        if case.user
        else "it counts units of privacy, which are rows here, and nothing else",
        "running": lambda: running(days(), case.days),
        "top": lambda: top(days()),
    }
    if case.many:
        many = Engine(case, rows_of(case.many, "person", "place"))
        groups = list(range(1, case.many_places + 1))
        gauss = {"noise_kind": pdp.NoiseKind.GAUSSIAN, "kept": case.groups, "delta": case.delta}
        asks["many"] = lambda: by(many.ask(metrics.COUNT, itemgetter(1), list(groups), **gauss), groups)
    return asks


if __name__ == "__main__":
    main(prepare, "pipeline-dp", "python-dp")
