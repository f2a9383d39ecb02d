"""The error of ranges that are asked one by one, and of running totals with Gaussian noise.

Ranges of 365 days with random ends, each a question of one workload: the geometric mean of their errors at epsilon 1,
measured apart, from single days, from pieces by themselves, and as the planner does; and the bound of Li and Miklau for
the sum of their squares.

The same 64 ranges for a unit with 1, 5 and 30 rows, as the planner measures them: counts, and counts in each of 40
wards, of which a unit has one row each, with Laplace noise and where a delta is granted.

Running totals with noise of deviation one and columns of length one: ours, the root of the matrix of ones (Henzinger
and Upadhyay), and the bound.
"""

from __future__ import annotations

import datetime as dt
import math
import time
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from benchmarks.line import Line
from discreet.planning.ranges.families import RUNNING
from discreet.planning.ranges.lengths import for_families, in_units
from discreet.planning.ranges.pieces import Pieces, of_table, pieces

DAYS = 365


def lines() -> Iterator[Line]:
    """One line for each number of ranges, and one for each number of days."""
    for count in (2, 5, 10, 20, 40, 64):
        size, tables, lengths = _asked(count)
        start = time.process_time()
        pieces.cache_clear()
        found = pieces(size, tables)
        seconds = time.process_time() - start
        sums = np.concatenate([of_table(size, table) for table in tables])
        own, alone = (np.sqrt(one.of_sums(sums)) for one in (found, Pieces(size)))
        values = np.linalg.svd(sums, compute_uv=False)
        least = math.sqrt(2 * values.sum() ** 2 / size / count)
        label = f"{count} ranges of {DAYS} days: error {_mean(own):.3g}, {math.sqrt(2) * count:.3g} apart"
        label += f", {_mean(np.sqrt(2 * lengths)):.3g} by days, {_mean(alone):.3g} by {size} pieces"
        label += f"; root mean square {math.sqrt(np.mean(own**2)):.3g}, {least:.3g} the bound in L2"
        ratio = _mean(own) / (math.sqrt(2) * count)
        yield Line(label, seconds, "", 0.0, ratio, "of apart", ratio < 1)
    yield from _of_units()
    for size in (48, 100, 365):
        start = time.process_time()
        best = for_families(size, (RUNNING,))
        seconds = time.process_time() - start
        assert best is not None
        mine = math.sqrt(best.variance(RUNNING) / 2) * in_units(best)
        root = np.cumprod([1.0, *((2 * k - 1) / (2 * k) for k in range(1, size))])
        known = math.sqrt((root**2).sum() * np.cumsum(root**2).mean())
        least = np.linalg.svd(np.tril(np.ones((size, size))), compute_uv=False).sum() / size
        label = (
            f"running total of {size} days, Gaussian: {mine:.3g}, {known:.3g} the root, {least:.3g} the bound"
        )
        yield Line(label, seconds, "", 0.0, mine / known, "of the root", mine < known)


def _asked(count: int) -> tuple[int, tuple[tuple[tuple[int, ...], ...], ...], np.ndarray]:
    """Ranges with random ends as sums of pieces, and how many days each has."""
    random = np.random.default_rng(1)
    ends = np.array([sorted(random.choice(DAYS + 1, 2, replace=False)) for _ in range(count)])
    day = np.arange(DAYS)
    held = (day >= ends[:, :1]) & (day < ends[:, 1:])
    kinds, first = np.unique(held[:, held.any(axis=0)], axis=1, return_index=True)
    kinds = kinds[:, np.argsort(first)]
    tables = tuple((tuple(np.flatnonzero(row).tolist()),) for row in kinds)
    return kinds.shape[1], tables, held.sum(axis=1)


def _of_units() -> Iterator[Line]:
    """One line for each number of rows of a unit and each way to ask, as planned from texts and a policy."""
    import pyarrow as pa

    import discreet as dp
    from discreet.session.question import SessionQuestion
    from discreet.sql.inspect.wording import questions_of
    from discreet.sql.plan.limits import Limits

    first, one = dt.date(2024, 1, 1), pa.table({"id": [1], "day": [dt.date(2024, 1, 1)], "ward": [1]})
    bounds = {"day": (first, first + dt.timedelta(DAYS - 1)), "ward": (1, 40)}
    random = np.random.default_rng(1)
    ends = [sorted(random.choice(DAYS + 1, 2, replace=False).tolist()) for _ in range(64)]
    wheres = [
        f"day >= DATE '{first + dt.timedelta(low)}' AND day < DATE '{first + dt.timedelta(high)}'"
        for low, high in ends
    ]
    for most in (1, 5, 30):
        for ward, delta in (("", Fraction(0)), ("ward", Fraction(0)), ("ward", Fraction(1, 10**6))):
            budget = dp.Budget(epsilon=10, delta="1e-3", accountant="zcdp")
            session = dp.protect(one, privacy_unit="id", max_rows=most, bounds=bounds, budget=budget)
            by = (f"{ward}, ", f" GROUP BY {ward}") if ward else ("", "")
            texts = [f"SELECT {by[0]}COUNT(*) AS n FROM data WHERE {where}{by[1]}" for where in wheres]
            limits = Limits(max_rows_per_group=1) if ward else Limits()
            start = time.process_time()
            asked = SessionQuestion("", Fraction(1), limits=limits, delta=delta)
            plan = session._queries.plan_together(texts, asked)[0]
            seconds = time.process_time() - start
            found = [one for workload in plan.workloads for one in questions_of(plan, workload)]
            own = _mean(np.array([error for _, error, _ in found])) if len(found) == len(texts) else math.inf
            apart = math.sqrt(2) * most * len(texts)
            if plan.gaussian:
                apart = min(apart, _mean(np.array([error for _, _, error in found])))
            label = f"64 ranges, a unit with {most} rows{', by ward' if ward else ''}"
            label += f"{', a delta of 10^-6' if delta else ''}: error {own:.3g}, {apart:.3g} apart"
            yield Line(label, seconds, "", 0.0, own / apart, "of apart", own < apart)


def _mean(errors: np.ndarray) -> float:
    return float(np.exp(np.mean(np.log(errors))))
