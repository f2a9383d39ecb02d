"""Which marginals to measure, and with which shares of epsilon, so that some tables have the least error.

One row counts in one cell of each measured marginal, so their losses add up: shares p_A of epsilon, of the sum 1, give
noise of the variance 1/p_A^e in units of that at the whole epsilon. e is 2 for Laplace noise under pure epsilon, and 1
for Gaussian noise under zCDP (Bun and Steinke 2016), whose rho is shared. By the algebra of `marginals` a table S has

    Var_S(p) = sum over T of h_ST / L_T(p),   L_T(p) = sum over A of g_AT p_A^e.

**Objective.** The mean of log Var_S over the tables (`geometric`), none worse than where each is measured alone with an
even share; or the sum of the squared errors of all cells of all tables (`squares`). A derivative by log p_A is
-e C_A(p), where C_A sums w_ST g_AT p_A^e / L_T over T, and w_ST is the weight of table S times the share of its
variance that is from T. Where the objective is least p is proportional to C (Lagrange), which the damped fixed point

    p <- p^(1 - t) C(p)^t, normalised,   t = 1/(1 + e)

finds; it is exact in one step where each table is measured by itself. A bound on a table is a weight that grows while
it is broken. For e = 1 the objective is convex (1/L is log-convex, and so are its sums). For e = 2 it is not, as one
marginal with everything beats two with half of it each: so many starts are made, at once, from each single marginal,
from the even split, from the marginals that are wanted, and from points spread over the simplex; the best one is taken.
Policy and question alone decide, with the same starts always.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from discreet.planning.marginals import Keys, MeasuredMarginals, cells, every_set, gain, load, parts_of
from discreet.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Objective: TypeAlias = Literal["geometric", "squares"]
MOST_CANDIDATES = 64
"""The most marginals that are weighed against each other."""
STARTS = 96
STEPS = 500
PLACES = 1_000_000
"""Shares are whole millionths of epsilon."""
TOLERANCE = 1e-5
"""Of the bound that no table may be worse: an even split may be no whole number of millionths."""
NOTHING, STILL = 1e-12, 1e-7
"""Shares below the first are none; the search ends when no share moves by more than the second."""
NEVER, HUGE = 1e-100, 1e50
"""The precision of a part that no marginal holds, and a variance that no strategy has."""


@dataclass(frozen=True)
class MarginalStrategy:
    """Marginals to measure.

    Attributes:
        sizes: the number of values of each key.
        tables: the keys of the tables that are wanted.
        shares: of epsilon, by the keys of the marginal; their sum is 1.
        power: e, 2 for Laplace noise and 1 for Gaussian noise.
    """

    sizes: tuple[int, ...]
    tables: tuple[Keys, ...]
    shares: tuple[tuple[Keys, Fraction], ...]
    power: int = 2

    @property
    def measured(self) -> MeasuredMarginals:
        """The marginals, with their variances in units of the variance at the whole epsilon."""
        return MeasuredMarginals(
            self.sizes, {keys: float(share) ** -self.power for keys, share in self.shares}
        )

    @property
    def variances(self) -> tuple[float, ...]:
        """Of a cell of each table, in units of the variance at the whole epsilon."""
        measured = self.measured
        return tuple(measured.variance(table) for table in self.tables)

    @property
    def cells(self) -> int:
        """How many cells are measured in all."""
        return sum(cells(self.sizes, keys) for keys, _ in self.shares)

    @property
    def even(self) -> float:
        """The variance of a cell of each table where all are measured by themselves."""
        return float(len(self.tables) ** self.power)


@lru_cache(maxsize=256)
def strategy(
    sizes: tuple[int, ...],
    tables: tuple[Keys, ...],
    objective: Objective = "geometric",
    power: int = 2,
    most: int = 10_000_000,
    within: tuple[tuple[int, int], ...] = (),
) -> MarginalStrategy:
    """Choose the marginals to measure.

    Args:
        sizes: the number of values of each key.
        tables: the keys of each table that is wanted, increasing; no two alike.
        objective: which mean of the errors is made least.
        power: 2 for Laplace noise, 1 for Gaussian noise.
        most: the most cells of a marginal that is not wanted itself.
        within: pairs of a key and the one that it is measured with only.

    Example:
        >>> found = strategy((2, 16, 2), ((), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)))
        >>> [(keys, round(float(share), 2)) for keys, share in found.shares]
        [((0, 1, 2), 0.54), ((0, 2), 0.46)]
    """
    possible = [
        keys
        for keys in _candidates(sizes, tables, most)
        if all(outer in keys for inner, outer in within if inner in keys)
    ]
    problem = _Problem(sizes, tables, possible, objective, power)
    shares = problem.solve()
    return MarginalStrategy(sizes, tables, shares, power)


def _candidates(sizes: tuple[int, ...], tables: tuple[Keys, ...], most: int) -> list[Keys]:
    """The marginals that may be measured: those wanted, and their unions and intersections, the small ones first."""
    used = tuple(sorted({key for table in tables for key in table}))
    if 2 ** len(used) <= MOST_CANDIDATES:
        found = set(every_set(used))
    else:
        found = set(tables)
        pairs = itertools.combinations(tables, 2)
        near = [tuple(sorted(joined)) for a, b in pairs for joined in ({*a} & {*b}, {*a} | {*b})]
        for keys in sorted(set(near) - found, key=lambda keys: (cells(sizes, keys), keys)):
            if len(found) < MOST_CANDIDATES:
                found.add(keys)
    wanted = set(tables)
    return sorted(keys for keys in found if keys in wanted or cells(sizes, keys) <= most)


class _Problem:
    def __init__(
        self,
        sizes: tuple[int, ...],
        tables: tuple[Keys, ...],
        candidates: list[Keys],
        objective: Objective,
        power: int,
    ) -> None:
        self.tables, self.candidates, self.power = tables, candidates, power
        parts = parts_of(sizes, tables)
        self.gains = np.array([[gain(sizes, keys, part) for part in parts] for keys in candidates])
        self.loads = np.array([[load(sizes, table, part) for part in parts] for table in tables])
        self.sizes = np.array([float(cells(sizes, table)) for table in tables])
        self.squares = objective == "squares"
        self.even = float(len(tables) ** power)

    def variances(self, p: Floats) -> Floats:
        """Of the tables: (points, tables) from (points, candidates); beyond `HUGE` where they are not determined."""
        return np.asarray((1 / np.maximum(p**self.power @ self.gains, NEVER)) @ self.loads.T)

    def value(self, variances: Floats) -> Floats:
        """The objective, less is better; infinite where a table is worse than by an even split."""
        if self.squares:
            return np.asarray(np.log(variances @ self.sizes))
        bad = (variances > self.even * (1 + TOLERANCE)).any(axis=-1)
        return np.where(bad, np.inf, np.log(variances).mean(axis=-1))

    def solve(self) -> tuple[tuple[Keys, Fraction], ...]:
        """The best shares found."""
        even = np.array([[float(keys in self.tables) for keys in self.candidates]])
        even /= even.sum()
        found = self._descend(self._starts(even))
        toward = np.linspace(0, 1, 33)[:, np.newaxis, np.newaxis]
        points = ((1 - toward) * found + toward * even).reshape(-1, len(self.candidates))
        order = np.argsort(self.value(self.variances(points)), kind="stable")[:STARTS]
        rounded = np.concatenate([self._rounded(points[order]), self._rounded(even)])
        best = int(np.argmin(self.value(self.variances(rounded / PLACES))))
        return tuple(
            (keys, Fraction(int(share), PLACES))
            for keys, share in zip(self.candidates, rounded[best], strict=True)
            if share
        )

    def _starts(self, even: Floats) -> Floats:
        """Points to start from: (points, candidates)."""
        count = len(self.candidates)
        single = np.eye(count)
        single = single[(self.variances(single) < HUGE).all(axis=1)]
        spread = np.random.default_rng(1).dirichlet(np.full(count, 0.5), STARTS)  # plans; protects nothing
        full = np.full((1, count), 1 / count)
        return np.concatenate([single, even, full, 0.9 * single + 0.1 * full, (spread + full) / 2])

    def _descend(self, p: Floats) -> Floats:
        """The fixed point from each start."""
        weight = np.full((len(p), len(self.tables)), 1 / len(self.tables))
        extra = np.zeros_like(weight)
        turn = 1 / (1 + self.power)
        for step in range(STEPS):
            known = np.maximum(p**self.power @ self.gains, NEVER)
            of_parts = self.loads / known[:, np.newaxis, :]
            variances = of_parts.sum(axis=-1)
            if self.squares:
                weight = variances * self.sizes
                weight = weight / weight.sum(axis=1, keepdims=True)
            else:
                broken = np.log(variances / self.even)
                extra = np.maximum(0, extra + broken * (0.5 / (1 + step / 50)))
            pull = ((weight + extra)[..., np.newaxis] * of_parts / variances[..., np.newaxis]).sum(axis=1)
            moved = p**self.power * ((pull / known) @ self.gains.T)
            before, p = p, p ** (1 - turn) * (moved / moved.sum(axis=1, keepdims=True)) ** turn
            p = np.where(p < NOTHING, 0, p)
            p = p / p.sum(axis=1, keepdims=True)
            if np.abs(p - before).max() < STILL:
                break
        return p

    def _rounded(self, p: Floats) -> Floats:
        """Shares in whole millionths that add up to one: largest remainders."""
        exact = p * PLACES
        out = np.floor(exact + 1e-9)
        missing = np.rint(PLACES - out.sum(axis=1)).astype(int)
        order = np.argsort(-(exact - out), axis=1, kind="stable")
        for row, (some, places) in enumerate(zip(missing, order, strict=True)):
            out[row, places[:some]] += 1
        return out
