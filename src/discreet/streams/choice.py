"""The strategy of a stream, chosen by the error that is predicted for it, before there is any data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction as Exact
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.accounting.gaussian.bought import gaussian_variances
from discreet.accounting.loss import Loss
from discreet.errors import InvalidParameter
from discreet.rational import Number, decimal, epsilon_of
from discreet.records import dataclass
from discreet.streams.direct import EvenSplit, Fraction, PerPeriod
from discreet.streams.doubling import UNBOUNDED, Doubling
from discreet.streams.strategy import Strategy
from discreet.streams.toeplitz import SquareRoot
from discreet.streams.tree import Tree

if TYPE_CHECKING:
    from discreet.accounting.events import Neighbours
    from discreet.streams.strategy import Floats

STRATEGIES: Final[tuple[type[Strategy], ...]] = (PerPeriod, Tree, SquareRoot, Doubling, EvenSplit, Fraction)
"""All of them; of two with the same error the first is chosen."""

_SEEN: Final = 1024


@dataclass(frozen=True)
class Prediction:
    """The errors that a strategy will have.

    Attributes:
        strategy: with its periods.
        sd: the standard deviation of the noise of a node.
        window: of totals of so many periods; 0 for running totals.
        gaussian: whether the noise is Gaussian; else it is Laplace noise.
    """

    strategy: Strategy
    sd: float
    window: int = 0
    gaussian: bool = False

    @property
    def rms(self) -> float:
        """The root of the mean squared error of the totals."""
        return math.sqrt(float((self.errors**2).mean()))

    @property
    def errors(self) -> Floats:
        """The standard deviations of the totals, for t = 1 … T."""
        gains = self.strategy.window_gains(self.window) if self.window else self.strategy.gains
        return self.sd * np.sqrt(gains)

    @property
    def noise(self) -> str:
        """The name of its noise."""
        return "Gaussian" if self.gaussian else "Laplace"


def named(name: str, periods: int, gaussian: bool = False, window: int = 0) -> Strategy:
    """The strategy of a name.

    Args:
        name: of the strategy.
        periods: T.
        gaussian: whether its noise is Gaussian; else it is Laplace noise.
        window: of totals of so many periods; 0 for running totals.

    Raises:
        InvalidParameter: no strategy has it, or it is not for so many periods.

    Example:
        >>> named("tree", 365).l1, named("tree", 365, window=7).l1, named("tree", 365, gaussian=True).l1
        (2, 1, 8)
    """
    for kind in STRATEGIES:
        if kind.name == name:
            return _made(kind, periods, gaussian, window)
    raise InvalidParameter(
        f"No method has the name {name}.", f"Choose from {', '.join(kind.name for kind in STRATEGIES)}."
    )


def _made(kind: type[Strategy], periods: int, gaussian: bool, window: int) -> Strategy:
    if kind is Tree:
        return Tree(periods, gaussian=gaussian, window=window)
    return Doubling(periods, gaussian) if kind is Doubling else kind(periods)


def predictions(
    periods: int,
    epsilon: Number,
    rows: int = 1,
    neighbours: Neighbours = "add_remove",
    delta: Number = 0,
    window: int = 0,
    measures: int = 1,
) -> Sequence[Prediction]:
    """The strategies for so many periods, that of the least error first.

    Args:
        periods: T.
        epsilon: of the whole stream.
        rows: how many rows of a unit count in the whole stream.
        neighbours: whether a unit is added or removed, or replaced, which moves twice as much, or under Gaussian noise
            the root of 2 times as much.
        delta: of the whole stream; above zero the noise is Gaussian, and else Laplace noise.
        window: of totals of so many periods; 0 for running totals.
        measures: how many numbers share epsilon.

    Example:
        >>> [(made.strategy.name, round(made.rms, 1)) for made in predictions(365, 1)][:3]
        [('tree', 11.9), ('doubling', 16.2), ('period', 19.1)]
        >>> [(made.strategy.name, round(made.rms, 1)) for made in predictions(365, 1, delta=1e-6)][:2]
        [('root', 11.8), ('tree', 19.3)]
    """
    fitting = [kind for kind in STRATEGIES if periods <= kind.most]
    if window and periods > SquareRoot.most:  # epochs are for running totals
        fitting = [kind for kind in fitting if kind is not Doubling]
    gaussian = bool(decimal(delta, "delta"))
    strategies = [_made(kind, periods, gaussian, window) for kind in fitting]
    if not strategies:
        named("period", periods)  # raises
    if gaussian:
        square = rows * moves(rows, neighbours)
        sds = [math.sqrt(gaussian_variances([Exact(square * strategy.l2_squared)] * measures, Loss(epsilon, delta))[0])
               for strategy in strategies]  # fmt: skip
    else:
        moved = measures * moves(rows, neighbours)
        sds = [math.sqrt(2) * strategy.l1 * moved / float(epsilon_of(epsilon)) for strategy in strategies]
    made = [Prediction(strategy, sd, window, gaussian) for strategy, sd in zip(strategies, sds, strict=True)]
    return sorted(made, key=lambda prediction: prediction.rms)


def compared(
    periods: int, epsilon: Number, rows: int, neighbours: Neighbours, delta: Number = 0, window: int = 0,
    measures: int = 1,
) -> Sequence[Prediction]:  # fmt: skip
    """The strategies under Laplace noise, and where delta is above zero under Gaussian noise too, the best one first.

    Example:
        >>> [(prediction.strategy.name, prediction.noise) for prediction in compared(365, 1, 1, "add_remove", 1e-6)][:2]
        [('root', 'Gaussian'), ('tree', 'Laplace')]
    """
    made = [*predictions(periods, epsilon, rows, neighbours, 0, window, measures)]
    if decimal(delta, "delta"):
        made += predictions(periods, epsilon, rows, neighbours, delta, window, measures)
    return sorted(made, key=lambda prediction: prediction.rms)


def ranked(
    periods: int | None,
    epsilon: Number,
    rows: int,
    neighbours: Neighbours,
    delta: Number = 0,
    window: int = 0,
    measures: int = 1,
) -> Sequence[tuple[str, bool]]:
    """The strategies to take, the best first, each with whether its noise is Gaussian.

    Where there is no last period, these are the strategies whose errors need none.
    """
    # The errors of a window do not change any more after a few windows.
    seen = periods or min(UNBOUNDED, max(_SEEN, 4 * window))
    made = compared(seen, epsilon, rows, neighbours, delta, window, measures)
    found = [(prediction.strategy.name, prediction.gaussian) for prediction in made]
    if periods:
        return found
    fitting = (PerPeriod.name, Tree.name) if window else (Doubling.name, Tree.name)
    return sorted(
        (pair for pair in found if pair[0] in fitting),
        key=lambda pair: 0 if window else fitting.index(pair[0]),
    )


def noises(
    name: str, periods: int, epsilon: Number, rows: int, neighbours: Neighbours, delta: Number, window: int,
    measures: int,
) -> Sequence[tuple[str, bool]]:  # fmt: skip
    """A strategy with the kinds of noise that it may have, that of the least error first."""
    seen = min(periods, max(_SEEN, 4 * window))
    made = compared(seen, epsilon, rows, neighbours, delta, window, measures)
    found = [
        (prediction.strategy.name, prediction.gaussian)
        for prediction in made
        if prediction.strategy.name == name
    ]
    return found or [(name, False)]


def moves(rows: int, neighbours: Neighbours) -> int:
    """How many rows differ between neighbours at most: those of a unit, and those of its successor."""
    return rows * (2 if neighbours == "replace_one" else 1)
