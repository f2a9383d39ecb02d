"""PipelineDP on its local backend: tuples in memory, public partitions, Laplace noise, no delta.

Row unit: bounding is left out, as its option for data without identifiers does. User unit: a person has one row in
each of three groups, its usual pair of bounds; a bound on all rows together takes it longer and adds the same noise.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter

import pipeline_dp as pdp
import pyarrow.parquet as pq

from benchmarks.peers.common import EPSILON, GROUPS, HIGH, KEPT, LOW, Answer, main


def prepare(path: str, unit: str) -> Callable[[], Answer]:
    """Load the rows as tuples."""
    table = pq.read_table(path)
    rows = list(zip(*(table[name].to_pylist() for name in ("person", "place", "amount")), strict=True))
    extractors = pdp.DataExtractors(
        privacy_id_extractor=itemgetter(0) if unit == "user" else None,
        partition_extractor=itemgetter(1),
        value_extractor=itemgetter(2),
    )
    parameters = pdp.AggregateParams(
        noise_kind=pdp.NoiseKind.LAPLACE,
        metrics=[pdp.Metrics.COUNT, pdp.Metrics.MEAN],
        min_value=LOW,
        max_value=HIGH,
        max_partitions_contributed=1 if unit == "row" else KEPT,
        max_contributions_per_partition=1,
        contribution_bounds_already_enforced=unit == "row",
    )

    def answer() -> Answer:
        accountant = pdp.NaiveBudgetAccountant(total_epsilon=EPSILON, total_delta=0)
        engine = pdp.DPEngine(accountant, pdp.LocalBackend())
        lazy = engine.aggregate(rows, parameters, extractors, public_partitions=list(range(GROUPS)))
        accountant.compute_budgets()
        told = dict(lazy)
        return {place: one.count for place, one in told.items()}, {
            place: one.mean for place, one in told.items()
        }

    return answer


if __name__ == "__main__":
    main(prepare, "pipeline-dp", "python-dp")
