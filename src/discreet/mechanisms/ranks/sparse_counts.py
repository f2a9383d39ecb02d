"""Exact counts over the leaves of a public grid, in several groups: only leaves that hold a row are listed.

Leaves that stand together may be listed as one wide entry with the sum of their rows, where the counts of each are
found later, when they are needed: `finer`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.records import dataclass

Integers = npt.NDArray[np.int64]

MOST = 1 << 40
"""Counts stay at it, so that ranks fit 64 bits; no engine holds so many rows of one value."""
_KEYS = (1 << 30) + 1
"""More than a grid has leaves."""


@dataclass(frozen=True, eq=False)
class SparseCounts:
    """How many rows lie in which leaf of which group.

    Attributes:
        groups: how many groups there are; those without rows count too.
        starts: int64 array (groups + 1,): where the leaves of each group begin, and where the last ones end.
        leaf: int64 array (n,): of each group in ascending order, each once.
        count: int64 array (n,): positive.
        stop: int64 array (n,): the leaf behind the last one of each entry; None where no entry is wide.
        find: finds the same counts without wide entries; None where there are none.
    """

    groups: int
    starts: Integers
    leaf: Integers
    count: Integers
    stop: Integers | None = None
    find: Callable[[], SparseCounts] | None = None

    @classmethod
    def of(cls, groups: int, leaves: int, group: Integers, leaf: Integers, count: Integers) -> SparseCounts:
        """Bring counts into order; counts of one leaf add up, and leaves beyond the ends count at the ends.

        Args:
            groups: how many groups there are.
            leaves: how many leaves the grid has.
            group: int64 array (n,), from 0 to groups - 1, in any order.
            leaf: int64 array (n,).
            count: int64 array (n,); those that are not positive count nothing.

        Raises:
            InvalidParameter: the arrays differ in length, or name a group that is none.

        Example:
            >>> counts = SparseCounts.of(2, 9, np.array([1, 0, 1]), np.array([5, 7, 5]), np.array([1, 2, 3]))
            >>> counts.starts.tolist(), counts.leaf.tolist(), counts.count.tolist()
            ([0, 1, 2], [7, 5], [2, 4])
        """
        group, leaf, count = (np.asarray(array, np.int64) for array in (group, leaf, count))
        if not group.shape == leaf.shape == count.shape or group.ndim != 1:
            raise InvalidParameter(
                "Groups, leaves and counts differ in length.", "Give one of each for each count."
            )
        if len(group) and (group.min() < 0 or group.max() >= groups):
            raise InvalidParameter("A count is of a group that is none.", "Number the groups from 0.")
        if (count <= 0).any():
            kept = count > 0
            group, leaf, count = group[kept], leaf[kept], count[kept]
        if len(leaf) and (leaf.min() < 0 or leaf.max() >= leaves):
            leaf = np.clip(leaf, 0, leaves - 1)
        key = leaf if groups == 1 else group * leaves + leaf
        order = np.argsort(key)
        key, sums = key[order], np.minimum(count[order], MOST)
        del order, leaf, group, count  # they may be millions of leaves
        if (key[1:] == key[:-1]).any():
            begins = np.flatnonzero(np.diff(key, prepend=-1))
            key, sums = key[begins], np.minimum(np.add.reduceat(sums, begins), MOST)
        starts = np.searchsorted(key, np.arange(groups + 1) * leaves).astype(np.int64)
        return cls(groups, starts, key if groups == 1 else key % leaves, sums)

    @classmethod
    def wide(
        cls, leaves: int, leaf: Integers, count: Integers, width: Integers, find: Callable[[], SparseCounts]
    ) -> SparseCounts:
        """Counts of one group, with wide entries.

        Args:
            leaves: how many leaves the grid has.
            leaf: int64 array (n,): the first leaf of each entry, in any order; no leaf is in two entries.
            count: int64 array (n,): positive.
            width: int64 array (n,): how many leaves each entry has; those beyond the grid are none.
            find: finds the same counts without wide entries.
        """
        order = np.argsort(leaf)
        leaf, count = leaf[order], np.minimum(count[order], MOST)
        stop = np.minimum(leaf + width[order], leaves)
        return cls(1, np.array([0, len(leaf)]), leaf, count, stop, find)

    @cached_property
    def finer(self) -> SparseCounts:
        """The same counts without wide entries."""
        return self if self.find is None else self.find()

    @cached_property
    def wide_before(self) -> Integers:
        """How many wide entries stand before each entry, and behind the last one: int64 array (n + 1,)."""
        wide = self.stops - self.leaf > 1
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(wide)])

    @property
    def stops(self) -> Integers:
        """The leaf behind the last one of each entry: int64 array (n,)."""
        return self.leaf + 1 if self.stop is None else self.stop

    def inside(self, group: Integers, leaf: Integers) -> bool:
        """Whether one of some leaves of some groups lies inside a wide entry, behind its first leaf."""
        if self.stop is None or not len(self.leaf):
            return False
        before = self.entry(group, leaf) - 1
        return bool(((before >= self.starts[group]) & (self.stop[before] > leaf)).any())

    @property
    def size(self) -> int:
        """How many groups there are: in each something is chosen once."""
        return self.groups

    @property
    def group(self) -> Integers:
        """The group of each leaf: int64 array (n,)."""
        return np.repeat(np.arange(self.groups), np.diff(self.starts))

    @cached_property
    def rows_before(self) -> Integers:
        """The rows of all groups before each leaf, and behind the last one: int64 array (n + 1,)."""
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(self.count)])

    @property
    def totals(self) -> Integers:
        """The rows of each group: int64 array (groups,)."""
        return np.diff(self.rows_before[self.starts])

    def entry(self, group: Integers, leaf: Integers) -> Integers:
        """Which is the first leaf listed of some groups that is not below some leaf: int64 array (n,)."""
        if self.groups == 1:
            return np.searchsorted(self.leaf, leaf)
        return np.searchsorted(self._keys, group * _KEYS + leaf)

    @cached_property
    def _keys(self) -> Integers:
        return np.asarray(self.group * _KEYS + self.leaf)

    def __getitem__(self, some: slice) -> SparseCounts:
        """Some groups that stand together."""
        first, last, _ = some.indices(self.groups)
        span = slice(self.starts[first], self.starts[last])
        starts = self.starts[first : last + 1] - span.start
        if self.stop is None:
            return SparseCounts(last - first, starts, self.leaf[span], self.count[span])
        return SparseCounts(
            last - first, starts, self.leaf[span], self.count[span], self.stop[span], lambda: self.finer[some]
        )


def read_counts(counts: Any) -> SparseCounts:
    """Read the counts that a mechanism is given.

    Raises:
        InvalidParameter: they are something else.
    """
    if not isinstance(counts, SparseCounts):
        raise InvalidParameter("The counts are not SparseCounts.", "Make them with SparseCounts.of.")
    return counts
