"""Sums of groups that were estimated from smooth windows, such as of the days of a running total: their noise.

The groups of one series have noise in common, so a sum of them has other noise than so many independent ones: that of
its weights of all nodes (`planning.ranges.factors`).
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.records import dataclass
from discreet.sql.finish.estimates import EarlierRelease, Sums, added, widest
from discreet.sql.plan.recalled import Law
from discreet.sql.plan.workloads.series_law import SeriesLaw

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

MOST_PAIRS = 1 << 18
"""No more groups of a question times groups of a table are looked at."""


def windowed(source: EarlierRelease) -> bool:
    """Whether its groups were estimated from windows."""
    return isinstance(source.noisy.plan.estimated, SeriesLaw)


def sums_of(source: EarlierRelease, measure: int, place: Integers, count: int) -> Sums | None:
    """A measure as sums of groups of a table; None where too many groups of a series would have to be looked at."""
    if not windowed(source):
        return Sums(source, measure, place, count)
    pairs = len(place) * (1 + int(place.max(initial=0)))
    return WindowSums(source, measure, place, count) if pairs <= MOST_PAIRS else None


@dataclass(frozen=True, eq=False)
class WindowSums(Sums):
    """A measure of a question as sums of groups that were estimated from windows."""

    @cached_property
    def law(self) -> Law:
        """The law of the group whose noise is largest."""
        law = self.source.noisy.plan.estimated
        assert isinstance(law, SeriesLaw)
        own = np.moveaxis(self.place.reshape(law.sizes), law.axis, -1)[..., list(law.order)]
        series = own.reshape(-1, own.shape[-1])
        scale = float(law.scales[self.measure])
        found: set[Law] = set()
        for group in range(1 + int(self.place.max(initial=0))):
            held = np.unique(series[(series == group).any(axis=1)] == group, axis=0, return_counts=True)
            weights = law.factors.weights_of(held[0].astype(np.float64))
            each = np.concatenate(
                [np.tile(row, count) for row, count in zip(weights, held[1], strict=True)] or [np.ones(1)]
            )
            kinds, counts = np.unique(np.abs(np.round(each, 9)), return_counts=True)
            found.add(
                tuple(
                    (float(kind) * scale, int(count))
                    for kind, count in zip(kinds, counts, strict=True)
                    if kind
                )
            )
        return widest(sorted(found))

    def entries(self, cells: int) -> Floats:  # type: ignore[override]
        """The sums, by group: float64 array (cells, integers)."""
        noisy = self.source.noisy
        own = noisy.entries[:, noisy.plan.entries[self.measure]].astype(np.float64)
        return added(own * 2.0 ** -(noisy.places or (0,) * 64)[self.measure], self.place, cells)
