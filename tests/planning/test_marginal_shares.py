"""The strategies: the numbers that are known, none worse than an even split, and near the optimum of another search."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from discreet.planning.marginal_shares import Objective, strategy
from discreet.planning.marginals import Keys, MeasuredMarginals, every_set
from tests.depth import DEEP, examples

CUBE = (2, 16, 2), tuple(every_set((0, 1, 2)))
ROLLUP = (8, 10), ((), (0,), (0, 1))
WORKLOADS: list[tuple[tuple[int, ...], tuple[Keys, ...]]] = [
    CUBE,
    ROLLUP,
    ((2, 2), ((0,), (1,))),
    ((9, 7, 2), ((0, 1), (0, 2), (1, 2))),
    ((50, 4), ((), (0,), (1,))),
    ((74, 7, 2), tuple(every_set((0, 1, 2)))),
    ((5, 5, 5, 2), ((0,), (1,), (2,), (3,), ())),
]


def errors(variances: tuple[float, ...]) -> list[float]:
    """Standard deviations at epsilon 1: the noise of a count has variance 2."""
    return [math.sqrt(2 * one) for one in variances]


def test_the_known_numbers() -> None:
    finest = MeasuredMarginals((2, 16, 2), {(0, 1, 2): 1.0})
    assert [round(math.sqrt(2 * finest.variance(table)), 1) for table in reversed(every_set((0, 1, 2)))] == [
        1.4, 2.0, 5.7, 2.0, 8.0, 2.8, 8.0, 11.3,
    ]  # fmt: skip
    cube = errors(strategy(*CUBE).variances)
    assert max(cube) <= math.sqrt(2 * strategy(*CUBE).even) == pytest.approx(11.31, abs=0.01)
    assert (
        math.exp(np.log(cube).mean())
        < 3.9
        < 3.99
        < math.exp(np.log([1.4, 2, 5.7, 2, 8, 2.8, 8, 11.3]).mean())
    )
    rollup = errors(strategy(*ROLLUP).variances)
    assert max(rollup) <= 4.2427
    # Without the bound by the even split it would be 3.65, 3.63 and 4.56.
    assert math.exp(np.log(rollup).mean()) <= 1.02 * (3.65 * 3.63 * 4.56) ** (1 / 3)
    squares = strategy(*ROLLUP, "squares").variances
    average = math.sqrt(sum(2 * v * n for v, n in zip(squares, (1, 8, 80), strict=True)) / 89)
    assert average == pytest.approx(2.32, abs=0.02)


OBJECTIVES: list[Objective] = ["geometric", "squares"]


@pytest.mark.parametrize(
    ("sizes", "tables", "power", "objective"),
    [
        (*workload, power, objective)
        for at, workload in enumerate(WORKLOADS)
        for place, objective in enumerate(OBJECTIVES)
        for power in (1, 2)
        if DEEP or (place, power) == (at % 2, 1 + at // 2 % 2)  # a deep run asks each workload with all four
    ],
)
def test_it_is_within_two_percent_of_the_optimum(
    sizes: tuple[int, ...], tables: tuple[Keys, ...], power: int, objective: Objective
) -> None:
    found = strategy(sizes, tables, objective, power)
    assert sum(share for _, share in found.shares) == 1
    assert all(share > 0 for _, share in found.shares)
    best = searched(sizes, tables, objective, power)
    assert math.isfinite(best)
    reached = value(found.variances, sizes, tables, objective)
    assert math.sqrt(math.exp(reached - best)) <= 1.02
    if objective == "geometric":
        assert max(found.variances) <= found.even * (1 + 2e-5)


def value(variances: Any, sizes: tuple[int, ...], tables: tuple[Keys, ...], objective: Objective) -> float:
    if objective == "geometric":
        return float(np.log(variances).mean())
    weights = [math.prod(sizes[key] for key in table) for table in tables]
    return float(np.log(np.dot(variances, weights) / sum(weights)))


def searched(
    sizes: tuple[int, ...],
    tables: tuple[Keys, ...],
    objective: Objective,
    power: int,
    starts: int = examples(3, 12),
) -> float:
    """The least objective that sequential quadratic programming finds from some starts."""
    candidates = every_set(tuple(range(len(sizes))))
    even = len(tables) ** power

    def variances(p: Any) -> Any:
        measured = MeasuredMarginals(
            sizes, {k: max(float(s), 1e-4) ** -power for k, s in zip(candidates, p, strict=True)}
        )
        return np.array([measured.variance(table) for table in tables])

    def objective_of(p: Any) -> float:
        return value(variances(p), sizes, tables, objective)

    limits: list[Any] = [{"type": "eq", "fun": lambda p: p.sum() - 1}]
    if objective == "geometric":
        limits.append({"type": "ineq", "fun": lambda p: np.log(even / variances(p))})
    random, found = np.random.default_rng(8), []
    for _ in range(starts):
        start = random.dirichlet(np.full(len(candidates), 0.3))
        ended = minimize(
            objective_of, start, bounds=[(1e-4, 1)] * len(candidates), constraints=limits, method="SLSQP",
            options={"maxiter": 60},
        )  # fmt: skip
        if objective == "squares" or (variances(ended.x) <= even * 1.0001).all():
            found.append(objective_of(ended.x))
    return min(found, default=math.inf)


def test_every_table_is_determined_by_the_shares() -> None:
    random = np.random.default_rng(1)
    for _ in range(examples(10, 40)):
        sizes = tuple(int(n) for n in random.integers(1, 30, 4))
        every = every_set((0, 1, 2, 3))
        tables = tuple(keys for keys in every if random.random() < 0.3) or ((0,),)
        found = strategy(sizes, tables)
        several = [{key for key in table if sizes[key] > 1} for table in tables]
        assert all(any(keys <= set(held) for held, _ in found.shares) for keys in several)
        assert all(share.denominator <= 1_000_000 for _, share in found.shares)
        assert sum((share for _, share in found.shares), Fraction(0)) == 1
