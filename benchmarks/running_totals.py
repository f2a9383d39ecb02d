"""The error of running totals: single days, binary trees, the best blocks, ours, the best found, and a bound.

Root mean squares over all totals at epsilon 1, of a count where each row is a unit. The best found is a search over all
matrices of the form [D; C] with columns of norm one and as many rows of C as ours has, at most 32 (p-identity; McKenna,
Miklau, Hay and Machanavajjhala 2018), by L-BFGS (SciPy) with exact derivatives, from a random start. The bound is that
of matrices with columns of length one in L2, which have no less of it in L1: for every matrix A whose columns have such
a length, the error is at least the sum of the singular values of W over the root of T (Li and Miklau 2013).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.line import Line
from discreet.planning.ranges.factors import single
from discreet.planning.ranges.families import EACH, RUNNING
from discreet.planning.ranges.search import factors

WITHIN = 1.05
SEARCHED = 128
"""The search is made for up to so many days; of 365 it takes minutes, and found 7.88."""
FOUND = {365: 7.88}


def lines(sizes: tuple[int, ...] = (48, 100, 365, 1000, 3650)) -> Iterator[Line]:
    """One line for each number of days: seconds of processor time, and the error beside the best known."""
    for size in sizes:
        factors.cache_clear()
        start = time.process_time()
        found = factors(size, (RUNNING,))
        seconds = time.process_time() - start
        assert found is not None
        own, naive = math.sqrt(found.variance(RUNNING)), math.sqrt(single(size).variance(RUNNING))
        label = f"running total of {size:,} days: error {own:.3g}, {naive:.3g} by single days"
        label += f", {bound(size):.3g} the bound"
        best = searched(size, min(32, len(found.hats) + 2)) if size <= SEARCHED else FOUND.get(size)
        if size <= 365:
            label += f", {tree(size, 2):.3g} a binary tree, {blocks(size):.3g} the best blocks"
        if best is None:
            yield Line(label, seconds, "", 0.0, own / naive, "of single days", own < naive)
        else:
            ratio = own / best
            yield Line(f"{label}, {best:.3g} the best found", seconds, "", 0.0, ratio,
                       f"at most {WITHIN}", ratio <= WITHIN)  # fmt: skip
    both = factors(365, (EACH, RUNNING))
    assert both is not None
    day, total = (math.sqrt(both.variance(one)) for one in (EACH, RUNNING))
    label = f"365 days and their running total: {day:.3g} and {total:.3g}, 1.41 and 19.1 by single days"
    ratio = math.sqrt(day * total / math.sqrt(2 * 366))
    yield Line(label, 0.0, "", 0.0, ratio, "of the geometric mean", ratio < 1)


def bound(size: int) -> float:
    """The least error of any matrix whose columns have the length one in L2, for Laplace noise of scale one."""
    at = np.arange(1, size + 1)
    values = 1 / (2 * np.sin((2 * at - 1) * np.pi / (4 * size + 2)))
    return float(math.sqrt(2) * values.sum() / size)


def tree(size: int, branches: int) -> float:
    """The error of a tree with even shares of epsilon and least squares (Hay et al. 2010)."""
    levels = [branches**k for k in range(math.ceil(math.log(size, branches)))]
    return _error(size, levels, [1 / len(levels)] * len(levels))


def blocks(size: int) -> float:
    """The least error of days and one or two levels of disjoint blocks, with the best of some shares."""
    best = math.inf
    for first in (10, 14, 18):
        for second in (0, 100):
            levels = [1, first] + ([second] if first < second < size else [])
            for share in (0.36, 0.5):
                rest = [share] + [(1 - share) / (len(levels) - 1)] * (len(levels) - 1)
                best = min(best, _error(size, levels, rest))
    return best


def _error(size: int, levels: list[int], shares: list[float]) -> float:
    at, gram = np.arange(size), np.zeros((size, size))
    for block, share in zip(levels, shares, strict=True):
        gram += share**2 * (at[:, None] // block == at[None, :] // block)
    total = np.tril(np.ones((size, size)))
    return float(math.sqrt(2 * np.trace(np.linalg.solve(gram, total.T @ total)) / size))


def searched(size: int, rows: int, seed: int = 1) -> float:
    """The least error that a search over all entries finds."""
    from scipy.optimize import minimize

    total = np.tril(np.ones((size, size)))
    wanted, eye = total.T @ total, np.eye(size)

    def objective(flat: Any) -> tuple[float, Any]:
        more = flat.reshape(rows, size)
        norms = 1 + more.sum(axis=0)
        scaled = norms[:, None] * wanted * norms
        inverse = eye - more.T @ np.linalg.solve(np.eye(rows) + more @ more.T, more)
        value = float(np.sum(inverse * scaled))
        slope = -2 * more @ (inverse @ scaled @ inverse) + 2 * ((wanted * inverse) @ norms)
        return math.log(value), slope.ravel() / value

    start = np.random.default_rng(seed).random(rows * size) * 2
    ended = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(start),
                     options={"maxiter": 400})  # fmt: skip
    return math.sqrt(2 * math.exp(ended.fun) / size)
