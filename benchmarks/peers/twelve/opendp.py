"""OpenDP with Polars: the frame in memory, a compositor for each answer, pure epsilon, public key sets.

Sums that are divided are taken around the middle of the bounds (half the sensitivity), as an analyst may do by hand;
a variance, which it has not by groups, is a sum of squares, a sum, and a count. Quantiles are chosen among a thousand
candidates, evenly over the bounds. A running total is read from its consistent tree of counts, with the branching
that it recommends; where that errs more than sums of the counts of days, `OPENDP_DAYS=1` asks for those. Codes that
are unknown are found by its threshold. A person in many groups has Gaussian noise by zCDP.
"""

# mypy: ignore-errors
from __future__ import annotations

import os
from collections.abc import Callable

import opendp.prelude as dp
import polars as pl

from benchmarks.peers.twelve.asked import Answer, Asks, Case, by, found, main, running, top, totals

CANDIDATES = 1001


class Queries:
    """A frame, its unit, and what is public about it."""

    def __init__(self, case: Case, path: str, kept: int) -> None:
        self.case, self.kept = case, kept
        middle = (case.low + case.high) / 2
        self.rows = pl.read_parquet(path)
        if "amount" in self.rows:
            amount = pl.col("amount").clip(case.low, case.high)
            self.rows = self.rows.with_columns(centred=amount - middle, square=(amount - middle) ** 2)

    def ask(
        self,
        columns: list[str],
        keys: list[tuple] | None,
        values: list,
        *,
        in_groups: bool = False,
        **loss: float,
    ) -> pl.DataFrame:
        """Some aggregates by public or unknown keys; a person's rows are bounded together, or in groups."""
        case = self.case
        identifier = {"identifier": pl.col("person")} if case.user else {}
        context = dp.Context.compositor(
            data=self.rows.lazy(),
            privacy_unit=dp.unit_of(contributions=1, **identifier),
            privacy_loss=dp.loss_of(**(loss or {"epsilon": case.epsilon})),
            split_evenly_over=1,
            margins=[
                dp.polars.Margin(
                    by=columns,
                    max_length=case.longest,
                    **({"max_groups": len(keys)} if keys is not None else {}),
                )
            ],
        )
        query = context.query()
        if case.user:
            # Bounding groups keeps one fewer than it is told in this version, so it is asked for where it gains alone.
            if in_groups:
                query = query.truncate_per_group(1, by=columns)
                query = query.truncate_num_groups(self.kept, by=columns, keep="first")
            else:
                query = query.truncate_per_group(self.kept)
        query = query.group_by(*columns).agg(*values)
        if keys is not None:
            frame = pl.DataFrame(keys, schema=dict.fromkeys(columns, pl.Int64), orient="row")
            query = query.with_keys(frame)
        return query.release().collect()


def prepare(case: Case) -> Asks:
    """Load the frames."""
    dp.enable_features("contrib")
    queries = Queries(case, case.path, case.kept)
    middle, half = (case.low + case.high) / 2, (case.high - case.low) / 2
    count = dp.len(signed=True).alias("n")
    centred = pl.col("centred").fill_null(0.0).fill_nan(0.0).dp.sum((-half, half)).alias("total")
    square = pl.col("square").fill_null(0.0).fill_nan(0.0).dp.sum((0.0, half * half)).alias("squares")
    amount = pl.col("amount").fill_null(middle).fill_nan(middle)
    step = (case.high - case.low) / (CANDIDATES - 1)
    candidates = [case.low + step * at for at in range(CANDIDATES)]
    place_keys = [(place,) for place in case.places]
    day_keys = [(day,) for day in case.days]

    def places(values: list, made: Callable[[dict], float]) -> Callable[[], Answer]:
        def answer() -> Answer:
            told = queries.ask(["place"], place_keys, values)
            return by({row["place"]: made(row) for row in told.iter_rows(named=True)}, case.places)

        return answer

    def variance(row: dict) -> float:
        n = max(2, row["n"])
        return (row["squares"] - row["total"] ** 2 / n) / (n - 1)

    def two_way() -> Answer:
        keys = [(place, sex) for place in case.places for sex in case.sexes]
        told = queries.ask(["place", "sex"], keys, [count])
        return totals({row[:2]: row[2] for row in told.iter_rows()}, case)

    def days() -> dict:
        return dict(queries.ask(["day"], day_keys, [count]).iter_rows())

    def unknown() -> Answer:
        told = queries.ask(["code"], None, [count], in_groups=True, epsilon=case.epsilon, delta=case.delta)
        return found(dict(told.iter_rows()))

    asks: Asks = {
        "count": places([count], lambda row: row["n"]),
        "sum": places([amount.dp.sum((case.low, case.high)).alias("v")], lambda row: row["v"]),
        "mean": places([count, centred], lambda row: middle + row["total"] / max(1, row["n"])),
        "variance": places([count, centred, square], variance),
        "median": places([amount.dp.median(candidates).alias("v")], lambda row: row["v"]),
        "ninetieth": places([amount.dp.quantile(0.9, candidates).alias("v")], lambda row: row["v"]),
        "two_way": two_way,
        "unknown": unknown,
        "distinct": places([pl.col("person").dp.n_unique().alias("v")], lambda row: row["v"]),
        "running": (lambda: running(days(), case.days))
        if os.environ.get("OPENDP_DAYS")
        else _tree(case, queries),
        "top": lambda: top(days()),
    }
    if case.many:
        many = Queries(case, case.many, case.groups)
        groups = list(range(1, case.many_places + 1))
        keys = [(group,) for group in groups]
        rho = _rho(case)
        asks["many"] = lambda: by(
            dict(many.ask(["place"], keys, [count], in_groups=True, rho=rho).iter_rows()), groups
        )
    return {"running": asks["running"]} if os.environ.get("OPENDP_DAYS") else asks


def _tree(case: Case, queries: Queries) -> Callable[[], Answer]:
    """Its tree of counts over the days, made consistent; a person with several rows changes so many leaves."""
    days = queries.rows["day"].to_list()
    leaves = len(case.days)
    branching = dp.t.choose_branching_factor(size_guess=leaves)
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    counts = space >> dp.t.then_find(case.days) >> dp.t.then_impute_constant(leaves)
    counts = counts >> dp.t.then_count_by_categories(list(range(leaves)), null_category=False)
    tree = counts >> dp.t.then_b_ary_tree(leaves, branching)

    def noisy(scale: float) -> dp.Measurement:
        return tree >> dp.m.then_laplace(scale)

    rows = case.kept if case.user else 1
    scale = dp.binary_search_param(noisy, d_in=rows, d_out=case.epsilon, T=float)
    asked = noisy(scale) >> dp.t.make_consistent_b_ary_tree(branching)

    def answer() -> Answer:
        told = asked(days)
        return running(dict(zip(case.days, told[:leaves], strict=True)), case.days)

    return answer


def _rho(case: Case) -> float:
    """The greatest rho of zCDP whose epsilon at delta is what everybody pays, by its own conversion."""

    def epsilon(rho: float) -> float:
        domain = dp.atom_domain(T=int), dp.absolute_distance(T=int)
        gauss = dp.m.make_gaussian(*domain, scale=(0.5 / rho) ** 0.5)
        return dp.c.make_zCDP_to_approxDP(gauss).map(d_in=1).epsilon(delta=case.delta)

    return dp.binary_search(lambda rho: epsilon(rho) <= case.epsilon, bounds=(1e-6, 10.0), T=float)


if __name__ == "__main__":
    main(prepare, "opendp", "polars")
