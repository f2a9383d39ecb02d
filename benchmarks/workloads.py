"""The error of many tables at once: ours beside the best that another search finds, and beside an even split.

Ten workloads: two with known numbers, eight like those of a census, of up to 10^7 cells. The error is the geometric
mean, over the tables, of the standard deviation of a cell at epsilon 1. The other search is sequential quadratic
programming (SciPy) with exact derivatives from many starts, ours among them: for Laplace noise the problem is not
convex, and nothing proves an optimum. Running totals follow (`running_totals`),
then ranges (`asked_ranges`).
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import asked_ranges, running_totals
from benchmarks.line import Line
from discreet.planning.marginal_shares import MarginalStrategy, _candidates, _Problem, strategy
from discreet.planning.marginals import Keys, cells, every_set

WITHIN = 1.02
STARTS = 12


def _ways(keys: int, *sizes: int) -> tuple[Keys, ...]:
    """All tables of so many of the keys."""
    return tuple(one for size in sizes for one in itertools.combinations(range(keys), size))


WORKLOADS: dict[str, tuple[tuple[int, ...], tuple[Keys, ...]]] = {
    "CUBE of 2 x 16 x 2": ((2, 16, 2), tuple(every_set((0, 1, 2)))),
    "ROLLUP 8 > 80": ((8, 10), ((), (0,), (0, 1))),
    "sex, age, race, education, marital: 1- and 2-way": ((2, 16, 7, 16, 7), _ways(5, 1, 2)),
    "the same: up to 3-way, with a total": ((2, 16, 7, 16, 7), _ways(5, 0, 1, 2, 3)),
    "state > county > tract, 10^5": ((51, 62, 25), ((), (0,), (0, 1), (0, 1, 2))),
    "county, race 63 x ethnicity x adult, 10^6": ((3143, 63, 2, 2), ((), (0,), (0, 2), (0, 3), (0, 1), (0, 1, 2, 3))),
    "CUBE of county 50, age 18, race 7, sex, tenure 4": ((50, 18, 7, 2, 4), tuple(every_set((0, 1, 2, 3, 4)))),
    "eight keys: 1-way": ((9, 7, 15, 7, 6, 5, 2, 42), _ways(8, 1)),
    "six keys: 2-way": ((9, 7, 15, 7, 6, 5), _ways(6, 2)),
    "zip 1000 x age 100 x sex x race 50, 10^7": (
        (1000, 100, 2, 50), ((), (0,), (1, 2), (0, 2), (0, 3), (0, 1, 2, 3)),
    ),
}  # fmt: skip


def lines() -> Iterator[Line]:
    """One line for each workload: seconds of processor time, and the error beside the best found otherwise."""
    for name, (sizes, tables) in WORKLOADS.items():
        strategy.cache_clear()
        start = time.process_time()
        found = strategy(sizes, tables)
        seconds = time.process_time() - start
        own, apart = error(found.variances), math.sqrt(2 * found.even)
        best = searched(found)
        ratio = own / best
        worse = max(found.variances) > found.even * (1 + 2e-5)
        number = cells(sizes, tuple(range(len(sizes))))
        label = f"{name}, {number:,} cells: error {own:.3g}, {apart:.3g} apart, {best:.3g} the best found"
        target = f"{ratio:.3f}, at most {WITHIN}"
        yield Line(label, seconds, "", 0.0, ratio, target, ratio <= WITHIN and not worse)
    yield from running_totals.lines()
    yield from asked_ranges.lines()


def error(variances: Any) -> float:
    """The geometric mean of the standard deviations at epsilon 1, where a count has the variance 2."""
    return float(math.sqrt(2 * math.exp(np.log(variances).mean())))


def searched(found: MarginalStrategy, starts: int = STARTS) -> float:
    """The least error that sequential quadratic programming finds."""
    from scipy.optimize import minimize

    candidates = _candidates(found.sizes, found.tables, 10_000_000)
    problem = _Problem(found.sizes, found.tables, candidates, "geometric", found.power)
    own = dict(found.shares)

    def variances(p: Any) -> tuple[Any, Any]:
        """Of the tables, and their derivatives by the shares."""
        known = np.maximum(p**2 @ problem.gains, 1e-30)
        slopes = -(problem.loads / known**2) @ (2 * p[:, np.newaxis] * problem.gains).T
        return problem.loads @ (1 / known), slopes

    def objective(p: Any) -> tuple[float, Any]:
        value, slopes = variances(p)
        return float(np.log(value).mean()), (slopes / value[:, np.newaxis]).mean(axis=0)

    limits = [
        {"type": "eq", "fun": lambda p: p.sum() - 1, "jac": np.ones_like},
        {
            "type": "ineq",
            "fun": lambda p: np.log(found.even / variances(p)[0]),
            "jac": lambda p: -variances(p)[1] / variances(p)[0][:, np.newaxis],
        },
    ]
    random = np.random.default_rng(1)
    points = [np.array([float(own.get(keys, 0)) for keys in candidates])]
    points += [random.dirichlet(np.full(len(candidates), 0.3)) for _ in range(starts)]
    reached = [error(found.variances)]
    for start in points:
        ended = minimize(
            objective, np.clip(start, 1e-5, 1), jac=True, bounds=[(0, 1)] * len(candidates), constraints=limits,
            method="SLSQP", options={"maxiter": 150},
        )  # fmt: skip
        value = variances(ended.x / ended.x.sum())[0]
        if (value <= found.even * 1.0001).all():
            reached.append(error(value))
    return min(reached)
