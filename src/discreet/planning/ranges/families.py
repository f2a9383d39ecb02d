"""Families of sums over consecutive values: the values themselves, running totals, moving sums, ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from discreet.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]


@dataclass(frozen=True, order=True)
class WindowFrame:
    """For each value the sum from so many before it to so many after it.

    Attributes:
        before: how many values before it; None for all.
        after: how many values after it; None for all.
    """

    before: int | None
    after: int | None

    def ends(self, size: int) -> tuple[Integers, Integers]:
        """Of each sum the number of the first value, and of the value behind the last one."""
        index = np.arange(size)
        first = np.zeros(size, np.int64) if self.before is None else np.clip(index - self.before, 0, size)
        last = np.full(size, size) if self.after is None else np.clip(index + 1 + self.after, 0, size)
        return first, np.maximum(first, last)

    @property
    def words(self) -> str:
        """Its name for people."""
        if self.before is None or self.after is None:
            return "totals" if self.before is self.after else "running totals"
        span = 1 + self.before + self.after
        return "single groups" if span == 1 else f"sums of {span}"


@dataclass(frozen=True, order=True)
class Ranges:
    """Single ranges.

    Attributes:
        of: of each range the number of the first value, and of the value behind the last one.
    """

    of: tuple[tuple[int, int], ...]

    def ends(self, size: int) -> tuple[Integers, Integers]:
        """As for `WindowFrame`."""
        pairs = np.array(self.of, np.int64).reshape(-1, 2).clip(0, size)
        return pairs[:, 0], pairs[:, 1]

    @property
    def words(self) -> str:
        """Its name for people."""
        return "ranges"


RangeFamily: TypeAlias = "WindowFrame | Ranges"
EACH, RUNNING = WindowFrame(0, 0), WindowFrame(None, 0)


def sums(table: Floats, family: RangeFamily, every: int = 1) -> Floats:
    """The sums of a family, or each n-th of them: float64 (values, …) -> (sums, …)."""
    first, last = (ends[::every] for ends in family.ends(len(table)))
    total = np.concatenate([np.zeros((1, *table.shape[1:])), np.cumsum(table, axis=0)])
    return np.asarray(total[last] - total[first])


def counted(family: RangeFamily, size: int, every: int = 1) -> Floats:
    """In how many of the sums each value is: float64 (size,)."""
    first, last = (ends[::every] for ends in family.ends(size))
    steps = np.zeros(size + 1)
    np.add.at(steps, first, 1)
    np.add.at(steps, last, -1)
    return np.asarray(np.cumsum(steps)[:size])


def number(family: RangeFamily, size: int, every: int = 1) -> int:
    """How many sums there are."""
    return len(family.ends(size)[0][::every])
