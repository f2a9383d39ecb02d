"""diffprivlib: NumPy arrays in memory, parallel composition over the public places.

Its mean and its variance take the number of rows of a place for public knowledge and protect a changed row, not a
missing one: they hide less than all others here are asked to, and `SIZES=1` asks for them. Else the neighbours are
those of everybody: sums and counts with shares of epsilon, divided by hand. It has no people with several rows.
"""

# mypy: ignore-errors
from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow.parquet as pq
from diffprivlib import tools

from benchmarks.peers.twelve.asked import QUESTIONS, Answer, Asks, Case, by, main, running, top, totals

NO_USERS = "it protects one row and bounds no one's contributions"
NO_DELTA = "it has no groups that are found for a delta"
Array = np.ndarray


def prepare(case: Case) -> Asks:
    """Load the arrays."""
    if case.user:
        return dict.fromkeys(QUESTIONS, NO_USERS)
    table = pq.read_table(case.path)
    place, amount = table["place"].to_numpy(), table["amount"].to_numpy()
    parts = {at: amount[place == at] for at in case.places}
    bounds, epsilon = (case.low, case.high), case.epsilon

    def histogram(column: str, keys: list[int], table: object = table) -> dict[int, float]:
        edges = [*keys, keys[-1] + 1]
        told, _ = tools.histogram(table[column].to_numpy(), epsilon=epsilon, bins=edges)
        return dict(zip(keys, told, strict=True))

    def places(one: Callable[[Array], float]) -> Callable[[], Answer]:
        return lambda: by({at: one(part) for at, part in parts.items()}, case.places)

    def two_way() -> Answer:
        edges = [[*keys, keys[-1] + 1] for keys in (case.places, case.sexes)]
        told, _, _ = tools.histogram2d(place, table["sex"].to_numpy(), epsilon=epsilon, bins=edges)
        cells = {(p, s): told[i, j] for i, p in enumerate(case.places) for j, s in enumerate(case.sexes)}
        return totals(cells, case)

    once = table.select(["person", "place"]).group_by(["person", "place"]).aggregate([])
    sizes = os.environ.get("SIZES")
    mean, variance = _mean(case), _variance(case)
    if sizes:
        mean = partial(tools.mean, epsilon=epsilon, bounds=bounds)
        variance = partial(tools.var, epsilon=epsilon, bounds=bounds)
    asks: Asks = {
        "count": lambda: by(histogram("place", case.places), case.places),
        "sum": places(lambda part: tools.sum(part, epsilon=epsilon, bounds=bounds)),
        "mean": places(mean),
        "variance": places(variance),
        "median": places(lambda part: tools.median(part, epsilon=epsilon, bounds=bounds)),
        "ninetieth": places(lambda part: tools.quantile(part, 0.9, epsilon=epsilon, bounds=bounds)),
        "two_way": two_way,
        "unknown": NO_DELTA,
        "distinct": lambda: by(histogram("place", case.places, once), case.places),
        "many": NO_USERS,
        "running": lambda: running(histogram("day", case.days), case.days),
        "top": lambda: top(histogram("day", case.days)),
    }
    return {name: ask for name, ask in asks.items() if not sizes or name in ("mean", "variance")}


def _mean(case: Case) -> Callable[[Array], float]:
    """A sum around the middle of the bounds, and a count."""
    middle, half = (case.low + case.high) / 2, (case.high - case.low) / 2
    share = case.epsilon / 2

    def mean(part: Array) -> float:
        n = tools.count_nonzero(np.ones(part.size), epsilon=share)
        return middle + float(tools.sum(part - middle, epsilon=share, bounds=(-half, half))) / max(1, n)

    return mean


def _variance(case: Case) -> Callable[[Array], float]:
    """A sum, a sum of squares, and a count."""
    middle, half = (case.low + case.high) / 2, (case.high - case.low) / 2
    share = case.epsilon / 3

    def variance(part: Array) -> float:
        n = max(2, tools.count_nonzero(np.ones(part.size), epsilon=share))
        total = float(tools.sum(part - middle, epsilon=share, bounds=(-half, half)))
        squares = float(tools.sum((part - middle) ** 2, epsilon=share, bounds=(0, half * half)))
        return min(half * half, max(0.0, (squares - total * total / n) / (n - 1)))

    return variance


if __name__ == "__main__":
    main(prepare, "diffprivlib", "scikit-learn")
