"""A release to people who allow different epsilons: each class is counted by itself, with noise of its own.

The classes split the units (`algebra.personal`), so a unit moves the integers of its own class and no others. Those of
the class with share r get noise for r epsilon: parallel composition (McSherry 2009) gives each person r epsilon of
their own class. The numbers that are shown are sums over the classes, which is post-processing, so they have no bias.

Sampling (`sampled`) would keep a person of share r with the probability q = (e^(r t) - 1)/(e^t - 1) and add noise for
t. A sum that is to have no bias divides by q: its noise has the standard deviation sqrt(2)/(q t), and the coins add the
variance (1 - q)/q for each person who counts. As e^x - 1 is convex, q <= r: the noise here, sqrt(2)/(r t), is never
larger, and there are no coins. So sums are always taken by class.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.records import dataclass
from discreet.sql.algebra import keys as ks
from discreet.sql.algebra.personal import Classes
from discreet.sql.plan.recalled import Law, Recalled

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

ANY = -1
"""In the place of a class: a group that may hold people of each."""


@dataclass(frozen=True)
class ByClass:
    """How a release counts the classes of people by themselves.

    Attributes:
        classes: the classes.
        possible: by measure and class, whether a unit of the class can move the measure; for each at least one is.
        scales: by measure, the scale of the noise of the class with share 1.
        sampled: the numbers of the measures that are taken of a sample of the people, as `plan.people.sampled` says.
        key: the number of the key of the release that is the class of a person; None without one.
        only: the class of the groups that the law is asked for; ANY for all of them.
    """

    classes: Classes
    possible: tuple[tuple[bool, ...], ...]
    scales: tuple[Fraction, ...]
    sampled: frozenset[int] = frozenset()
    key: int | None = None
    only: int = ANY

    def shown(self, measure: int, group: int = ANY) -> list[int]:
        """The classes whose integers are added up for a measure in a group of one class, or of any."""
        inside = [number for number, may in enumerate(self.possible[measure]) if may]
        if group == ANY:
            return inside
        return [group] if group in inside else inside[-1:]

    def of_groups(self, keys: tuple[ks.Key, ...], cells: int) -> NDArray[np.intp]:
        """The class of each group: intp array (cells,), ANY where nothing tells it.

        A group whose key names no class holds nobody who is counted; it is shown as one of the class with share 1.
        """
        if self.key is None:
            return np.full(cells, ANY, np.intp)
        named = {literal.value: index for index, literal in enumerate(self.classes.values())}  # type: ignore[union-attr]
        (column,) = ks.table(keys, [self.key]).values()
        return np.array([named.get(value, len(named) - 1) for value in column.to_pylist()], np.intp)

    @cached_property
    def law(self) -> Recalled:
        """The law of the noise of an integer: one Laplace variable for each class that is added up.

        Where groups are of different classes and none is named, that of the class with the most noise.
        """
        laws: list[tuple[Law, ...]] = []
        for measure, scale in enumerate(self.scales):
            if measure in self.sampled:
                laws.append((((float(scale), 1),),))
                continue
            mixed = self.key is not None and self.only == ANY
            shown = self.shown(measure)[:1] if mixed else self.shown(measure, self.only)
            laws.append((tuple((float(scale / self.classes.shares[number]), 1) for number in shown),))
        return Recalled(tuple(laws))

    def narrowed(self, group: int) -> ByClass:
        """The same for the groups of one class."""
        return replace(self, only=group)

    def sample_noise(
        self,
        measure: int,
        shape: tuple[int, ...],
        groups: NDArray[np.intp],
        generator: np.random.Generator,
    ) -> Floats:
        """Noise of the integers of some groups, drawn anew: float64 array (draws, groups, integers).

        This simulates; it protects nothing.

        Args:
            measure: its number.
            shape: of the array.
            groups: the class of each group.
            generator: draws it.
        """
        out = np.empty(shape)
        for group in np.unique(groups).tolist():
            mask = groups == group
            out[:, mask] = self.narrowed(group).law.sample_noise(
                measure, (shape[0], int(mask.sum()), *shape[2:]), generator
            )
        return out
