"""OpenDP with Polars: the frame in memory, a compositor for each answer, pure epsilon, a public key set.

Its own mean beside a count pays for the count twice, so the sum is asked and divided by the count. `centred` takes
the middle of the bounds off before adding up, as an analyst may do by hand: half the sensitivity.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import opendp.prelude as dp
import polars as pl

from benchmarks.peers.common import EPSILON, GROUPS, HIGH, KEPT, LOW, ROWS_OF_A_GROUP, Answer, main, means_of


def prepare(path: str, unit: str) -> Callable[[], Answer]:
    """Load the frame."""
    dp.enable_features("contrib")
    middle = (LOW + HIGH) / 2 if os.environ.get("CENTRED") else 0.0
    rows = pl.read_parquet(path)
    keys = pl.DataFrame({"place": range(GROUPS)}, schema={"place": pl.Int64})
    amount = pl.col("amount").fill_null(middle).fill_nan(middle) - middle
    total = amount.dp.sum((LOW - middle, HIGH - middle))  # type: ignore[attr-defined]
    identifier = {} if unit == "row" else {"identifier": pl.col("person")}

    def answer() -> Answer:
        context = dp.Context.compositor(
            data=rows.lazy(),
            privacy_unit=dp.unit_of(contributions=1, **identifier),
            privacy_loss=dp.loss_of(epsilon=EPSILON),
            split_evenly_over=1,
            margins=[dp.polars.Margin(by=["place"], max_length=ROWS_OF_A_GROUP, max_groups=GROUPS)],
        )
        query = context.query()
        if unit == "user":
            query = query.truncate_per_group(KEPT)
        query = query.group_by("place").agg(dp.len(signed=True).alias("n"), total.alias("total"))
        told = query.with_keys(keys).release().collect()
        counts = dict(zip(told["place"], told["n"], strict=True))
        means = means_of(counts, dict(zip(told["place"], told["total"], strict=True)))
        return counts, {place: mean + middle for place, mean in means.items()}

    return answer


if __name__ == "__main__":
    main(prepare, "opendp", "polars")
