"""The strategy of a stream, chosen by the error that is predicted for it, before there is any data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.errors import InvalidParameter
from discreet.rational import Number, epsilon_of
from discreet.streams.direct import EvenSplit, Fraction, PerPeriod
from discreet.streams.strategy import Strategy
from discreet.streams.toeplitz import SquareRoot
from discreet.streams.tree import Tree

if TYPE_CHECKING:
    from discreet.accounting.events import Neighbours
    from discreet.streams.strategy import Floats

STRATEGIES: Final[tuple[type[Strategy], ...]] = (PerPeriod, Tree, SquareRoot, EvenSplit, Fraction)
"""All of them; of two with the same error the first is chosen."""


@dataclass(frozen=True)
class Prediction:
    """The errors that a strategy will have.

    Attributes:
        strategy: with its periods.
        sd: the standard deviation of the noise of a node.
    """

    strategy: Strategy
    sd: float

    @property
    def rms(self) -> float:
        """The root of the mean squared error of the running totals."""
        return self.sd * self.strategy.rms()

    @property
    def errors(self) -> Floats:
        """The standard deviations of the running totals, for t = 1 … T."""
        return self.sd * np.sqrt(self.strategy.gains)


def named(name: str, periods: int) -> Strategy:
    """The strategy of a name.

    Raises:
        InvalidParameter: no strategy has it, or it is not for so many periods.

    Example:
        >>> named("tree", 365).l1
        7
    """
    for kind in STRATEGIES:
        if kind.name == name:
            return kind(periods)
    raise InvalidParameter(
        f"No method has the name {name}.", f"Choose from {', '.join(kind.name for kind in STRATEGIES)}."
    )


def predictions(
    periods: int, epsilon: Number, rows: int = 1, neighbours: Neighbours = "add_remove"
) -> Sequence[Prediction]:
    """The strategies for so many periods under Laplace noise, that of the least error first.

    Args:
        periods: T.
        epsilon: of the whole stream.
        rows: how many rows of a unit count in the whole stream.
        neighbours: whether a unit is added or removed, or replaced, which moves twice as much.

    Example:
        >>> [(made.strategy.name, round(made.rms, 1)) for made in predictions(365, 1)][:3]
        [('tree', 17.4), ('period', 19.1), ('root', 49.4)]
    """
    moved = moves(rows, neighbours)
    loss = float(epsilon_of(epsilon))
    fitting = [kind(periods) for kind in STRATEGIES if periods <= kind.most]
    made = [Prediction(one, math.sqrt(2) * one.l1 * moved / loss) for one in fitting]
    if not made:
        named("period", periods)  # raises
    return sorted(made, key=lambda one: one.rms)


def moves(rows: int, neighbours: Neighbours) -> int:
    """How many rows differ between neighbours at most: those of a unit, and those of its successor."""
    return rows * (2 if neighbours == "replace_one" else 1)
