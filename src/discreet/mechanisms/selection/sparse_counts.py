"""Exact counts over the leaves of a public grid, in several groups: only leaves that hold a row are listed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter

Integers = npt.NDArray[np.int64]

MOST = 1 << 40
"""Counts stay at it, so that ranks fit 64 bits; no engine holds so many rows of one value."""


@dataclass(frozen=True, eq=False)
class SparseCounts:
    """How many rows lie in which leaf of which group.

    Attributes:
        groups: how many groups there are; those without rows count too.
        starts: int64 array (groups + 1,): where the leaves of each group begin, and where the last ones end.
        leaf: int64 array (n,): of each group in ascending order, each once.
        count: int64 array (n,): positive.
    """

    groups: int
    starts: Integers
    leaf: Integers
    count: Integers

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
            >>> one = SparseCounts.of(2, 9, np.array([1, 0, 1]), np.array([5, 7, 5]), np.array([1, 2, 3]))
            >>> one.starts.tolist(), one.leaf.tolist(), one.count.tolist()
            ([0, 1, 2], [7, 5], [2, 4])
        """
        group, leaf, count = (np.asarray(one, np.int64) for one in (group, leaf, count))
        if not group.shape == leaf.shape == count.shape or group.ndim != 1:
            raise InvalidParameter(
                "Groups, leaves and counts differ in length.", "Give one of each for each count."
            )
        if len(group) and (group.min() < 0 or group.max() >= groups):
            raise InvalidParameter("A count is of a group that is none.", "Number the groups from 0.")
        kept = count > 0
        group, leaf, count = group[kept], np.clip(leaf[kept], 0, leaves - 1), np.minimum(count[kept], MOST)
        order = np.lexsort((leaf, group))
        group, leaf, count = group[order], leaf[order], count[order]
        first = np.ones(len(group), np.bool_)
        first[1:] = (group[1:] != group[:-1]) | (leaf[1:] != leaf[:-1])
        at = np.flatnonzero(first)
        sums = np.minimum(np.add.reduceat(count, at), MOST) if len(at) else count
        starts = np.searchsorted(group[at], np.arange(groups + 1)).astype(np.int64)
        return cls(groups, starts, leaf[at], sums)

    @property
    def size(self) -> int:
        """How many groups there are: in each something is chosen once."""
        return self.groups

    @property
    def group(self) -> Integers:
        """The group of each leaf: int64 array (n,)."""
        return np.repeat(np.arange(self.groups), np.diff(self.starts))

    def __getitem__(self, some: slice) -> SparseCounts:
        """Some groups that stand together."""
        first, last, _ = some.indices(self.groups)
        at = slice(self.starts[first], self.starts[last])
        return SparseCounts(
            last - first, self.starts[first : last + 1] - at.start, self.leaf[at], self.count[at]
        )


def read_counts(counts: Any) -> SparseCounts:
    """Read the counts that a mechanism is given.

    Raises:
        InvalidParameter: they are something else.
    """
    if not isinstance(counts, SparseCounts):
        raise InvalidParameter("The counts are not SparseCounts.", "Make them with SparseCounts.of.")
    return counts
