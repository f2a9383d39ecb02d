"""Which windows are measured for some families of sums: the least geometric mean of their errors that a search finds.

The number of values and the families alone decide, with the same steps always; the data is not looked at. The search
starts with each pair of widths on a coarse grid, then moves widths and weights in turn while the error falls. Where
values are many, each n-th sum stands for those beside it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from discreet.imports import one_thread
from discreet.planning.ranges.factors import WHOLE_WEIGHT, Factors, error, single
from discreet.planning.ranges.families import RangeFamily, WindowFrame

LEAST, MOST = 8, 4096
"""So many values may be summed in this way; fewer gain nothing, more would take long to plan."""
MOST_HATS = 160
SAMPLED = 128
"""How many sums of a family are looked at while searching."""
GAIN = 1.05
"""The least gain for which single values, whose counts are whole, are given up."""
WIDTHS = 2.0
"""The ratio of the widths on the coarse grid."""
TRIED = 160
"""The most places looked at from one start."""


@lru_cache(maxsize=256)
def factors(size: int, families: tuple[RangeFamily, ...]) -> Factors | None:
    """The best matrix found; None where single values are as good.

    Args:
        size: how many values there are, in order.
        families: the sums that are wanted.

    Example:
        >>> from discreet.planning.ranges.families import EACH, RUNNING
        >>> found = factors(365, (RUNNING,))
        >>> round(found.variance(RUNNING) ** 0.5, 1), round(single(365).variance(RUNNING) ** 0.5, 1)
        (8.1, 19.1)
        >>> factors(365, (EACH,)) is None
        True
    """
    if not families or not LEAST <= size <= MOST:
        return None
    with one_thread():
        found = _FactorSearch(size, families).best()
        return found if error(found, families) * GAIN < error(single(size), families) else None


class _FactorSearch:
    def __init__(self, size: int, families: tuple[RangeFamily, ...]) -> None:
        self.size, self.families = size, families
        self.every = max(1, size // SAMPLED)
        self.fade = _fade(families)
        self.known: dict[Factors, float] = {}

    def value(self, factors: Factors) -> float:
        """The error of a matrix; infinite for one that is too large, or leaves a value no weight."""
        if factors not in self.known:
            weight = sum(weight for _, weight in factors.levels)
            hats = sum(self.size / apart for apart, _ in factors.levels)
            sound = (
                weight < WHOLE_WEIGHT
                and hats <= MOST_HATS
                and all(w > 0 and a > 1 for a, w in factors.levels)
            )
            self.known[factors] = error(factors, self.families, self.every) if sound else np.inf
        return self.known[factors]

    def best(self) -> Factors:
        """Of one, two and three levels the best start, moved as far as it helps."""
        found, levels = single(self.size), 0
        while levels < 3:
            levels += 1
            start = min(self._starts(found, levels), key=self.value, default=found)
            moved = self._moved(start)
            if self.value(moved) >= self.value(found) * 0.998:
                break
            found = moved
        return found

    def _starts(self, before: Factors, levels: int) -> Iterator[Factors]:
        widths = [
            max(2, round(self.size / 3 / WIDTHS**k)) for k in range(12) if self.size / 3 / WIDTHS**k >= 1.5
        ]
        weight = WHOLE_WEIGHT // (levels + 1)
        if levels <= 2:
            for chosen in itertools.combinations(reversed(widths), levels):
                yield Factors(self.size, tuple((width, weight) for width in chosen), self.fade)
            return
        for width in widths:
            kept = tuple((apart, own * levels // (levels + 1)) for apart, own in before.levels)
            yield Factors(self.size, tuple(sorted((*kept, (width, weight)))), before.fade)

    def _moved(self, start: Factors) -> Factors:
        """The place where no step of the widths or weights helps any more."""
        found, step, tried = start, 0.3, 0
        while step > 0.03 and tried < TRIED:
            near = list(self._near(found, step))
            tried += len(near)
            better = min(near, key=self.value)
            if self.value(better) < self.value(found) * (1 - 1e-4):
                found = better
            else:
                step /= 2
        return found

    def _near(self, factors: Factors, step: float) -> Iterator[Factors]:
        for index, sign in itertools.product(range(len(factors.levels)), (-1, 1)):
            apart, weight = factors.levels[index]
            wider = max(2, apart + sign * max(1, round(apart * step)))
            heavier = weight + sign * max(1, round(weight * step))
            for changed in ((wider, weight), (apart, heavier)):
                levels = [*factors.levels]
                levels[index] = changed
                yield Factors(factors.size, tuple(sorted(levels)), factors.fade)


def _fade(families: tuple[RangeFamily, ...]) -> int:
    """The end where a value counts in few of the sums: 1 the last values, -1 the first, 0 none."""
    frames = [family for family in families if isinstance(family, WindowFrame)]
    forward = any(frame.before is None and frame.after is not None for frame in frames)
    backward = any(frame.after is None and frame.before is not None for frame in frames)
    return forward - backward
