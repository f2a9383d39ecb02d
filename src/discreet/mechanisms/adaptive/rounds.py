"""Choices and noisy counts in rounds, each decided by the answers before, under one loss that is fixed before.

Let one neighbour step move the integers of every table of counts by at most `l1` in L1 and by at most the root of
`square` in L2. A round takes a part of the loss and gives an answer: a table with noise, or a candidate by its score.
The parts may depend on the answers so far; no part is taken that would exceed the loss, for all answers.

Pure epsilon: a table with part e gets Laplace noise of scale l1/e; a choice is `PermuteAndFlip` at e. Parts that are
chosen by earlier answers add up as fixed ones do (Rogers, Roth, Ullman and Vadhan 2016, theorem 3.6).

zCDP: a table with part rho gets discrete Gaussian noise of parameter square/(2 rho) (`GaussianVector`). A choice is
`Exponential` at epsilon with epsilon^2/8 <= rho: its loss has a range of epsilon, and so it is epsilon^2/8-zCDP (Cesar
and Rogers 2021, lemma 3.4). Parts that are chosen by earlier answers add up (Whitehouse, Ramdas, Rogers and Wu 2023,
theorem 1; Feldman and Zrnic 2021).

Gaussian differential privacy, which needs less noise for an epsilon and a delta: a part r is a mu with mu^2 = 2r. A
table gets discrete Gaussian noise of parameter square/(2r) + `smoothing` (`accounting.gaussian.gdp`). A choice is
`Exponential` at epsilon with epsilon^2 <= 16 r/pi. Parts that are chosen by earlier answers add up (Smith and Thakurta
2022, theorem 1), and the slack of each discrete vector is a factor, so that it does, too.

Proof of the choice. Its loss has a range of epsilon, so between neighbours it is no easier to tell apart than a coin of
chance q and one of p with logit p = logit q + epsilon (Dong, Durfee and Rogers 2020). The coins are mu-GDP for mu =
h(logit p) - h(logit q), where h is the quantile of the normal law at the logistic function; at s = logistic(u) its
slope is s(1 - s)/I(s), with I(s) the normal density at the quantile of s. It is at most that at s = 1/2, root(2 pi)/4:
D(s) = I(s) - 4 I(1/2) s(1 - s) is 0 at 0 and at 1/2, where its slope is 0, too; D'' = 8 I(1/2) - 1/I(s) rises on (0,
1/2) and is positive at its end, so D is first concave and then convex there, and nowhere below 0. So mu is at most
epsilon root(2 pi)/4, and mu^2 <= epsilon^2 pi/8 <= 2r. In zCDP the same parts cost no more than r: a table as its noise
is larger, and a choice epsilon^2/8 <= 2r/pi.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from discreet.errors import InvalidParameter
from discreet.mechanisms.numeric.gaussian_vector import GaussianVector
from discreet.mechanisms.numeric.laplace_vector import LaplaceVector
from discreet.mechanisms.parameters import read_count, read_sensitivity
from discreet.mechanisms.selection.exponential import Exponential
from discreet.mechanisms.selection.permute_and_flip import PermuteAndFlip
from discreet.rational import Number, decimal, positive
from discreet.records import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    from discreet.accounting.events import Event, Neighbours
    from discreet.accounting.zcdp import ZCDP

    Integers = npt.NDArray[np.int64]

C = TypeVar("C", bound=Hashable)
R = TypeVar("R")

ABOVE_PI: Final = Fraction(355, 113)
"""A little more than pi."""
ROOT_STEPS: Final = 1 << 40
"""A root is rounded down to so many steps of its first power of two."""


class Rounds:
    """The rest of a loss, and the answers that it buys. Made by `AdaptiveRounds.release` alone."""

    def __init__(self, whole: AdaptiveRounds) -> None:
        self._whole = whole
        self.left = whole.amount
        self._draws = whole.draws

    def _take(self, part: Fraction) -> Fraction:
        if not 0 < part <= self.left:
            raise InvalidParameter("The parts of the loss exceed it.", "Take no more than the rest of it.")
        self.left -= part
        return part

    def measure(self, counts: Integers, part: Fraction) -> Integers:
        """Give a table of counts with noise: int64 array of the same shape.

        Args:
            counts: exact, int64 array of any shape, with each row of the data in one place of it.
            part: of the loss.

        Raises:
            InvalidParameter: there is not so much left, of the loss or of the tables. Nothing was drawn.
        """
        if self._whole.draws:
            if not self._draws:
                raise InvalidParameter(
                    "There are more tables than were said.", "Say how many there are at most."
                )
            self._draws -= 1
        return self._whole.noise(self._take(part)).release(counts)

    def choose(self, scores: Mapping[C, int], part: Fraction, sensitivity: int) -> C:
        """Choose a candidate with a large score.

        Args:
            scores: whole numbers, by candidate; the candidates depend on earlier answers alone.
            part: of the loss.
            sensitivity: how far one neighbour step moves a score at most.

        Raises:
            InvalidParameter: there is not so much left, or no candidate. Nothing was drawn.
        """
        chosen: C = self._whole.choice(self._take(part), sensitivity).release(scores)
        return chosen


@dataclass(frozen=True)
class AdaptiveRounds:
    """Run a procedure that is given noisy tables and choices, each part of one loss.

    Privacy: the loss of `amount` for one call of `release`, pure epsilon or zCDP, or half the square of mu in Gaussian
    differential privacy where `draws` is above 0, if the procedure reads exact counts only to give them to
    `Rounds.measure` and to score candidates by them, and each row is counted once in a table. That premise is the
    caller's to answer for. Sources: the module's text.

    Args:
        amount: of the loss of all rounds together: epsilon; rho where it is concentrated, or half the square of mu.
        l1: by how much one neighbour step moves a table of counts in L1.
        square: by how much in L2, squared.
        concentrated: whether the noise is Gaussian.
        draws: how many tables there are at most; above 0 the amount is half the square of mu.

    Raises:
        InvalidParameter: a parameter is outside its range.

    Example:
        >>> mechanism = AdaptiveRounds(40, 1, 1, concentrated=False)
        >>> def procedure(rounds):
        ...     best = rounds.choose({"a": 3, "b": 90}, Fraction(20), 1)
        ...     return best, rounds.measure(np.array([5, 9]), rounds.left).tolist()
        >>> mechanism.release(procedure)
        ('b', [5, 9])
    """

    amount: Fraction
    l1: int
    square: int
    concentrated: bool
    draws: int

    def __init__(self, amount: Number, l1: int, square: int, *, concentrated: bool, draws: int = 0) -> None:
        object.__setattr__(self, "amount", positive(decimal(amount, "amount"), "amount"))
        object.__setattr__(self, "l1", int(read_sensitivity(read_count(l1, "l1", "Give a whole number."))))
        object.__setattr__(self, "square", read_count(square, "square", "Give a whole number."))
        object.__setattr__(self, "concentrated", concentrated)
        most = read_count(draws, "draws", "Give the most tables.") if draws else 0
        if most and not concentrated:
            raise InvalidParameter("Laplace noise has no draws to count.", "Leave draws out.")
        object.__setattr__(self, "draws", most)

    @property
    def loss(self) -> Fraction | ZCDP:
        """The privacy loss of all rounds."""
        from discreet.accounting.zcdp import ZCDP

        return ZCDP(self.amount) if self.concentrated else self.amount

    def event(self, neighbours: Neighbours) -> Event:
        """The event that accountants price.

        Args:
            neighbours: those for which the sensitivities hold.
        """
        from discreet.accounting.events import Concentrated, GaussianPrivate, Released
        from discreet.accounting.zcdp import ZCDP

        if self.draws:
            return GaussianPrivate(2 * self.amount, self.draws, neighbours=neighbours)
        if self.concentrated:
            return Concentrated(ZCDP(self.amount), neighbours=neighbours)
        return Released(self.amount, neighbours=neighbours)

    def noise(self, part: Fraction) -> GaussianVector | LaplaceVector:
        """The noise of a table that takes a part of the loss."""
        if self.concentrated:
            return GaussianVector(self._variance(part), self.square)
        return LaplaceVector(Fraction(self.l1) / part, self.l1)

    def choice(self, part: Fraction, sensitivity: int) -> Exponential | PermuteAndFlip:
        """The choice that takes a part of the loss."""
        if self.concentrated:
            return Exponential(root_below((16 / ABOVE_PI if self.draws else 8) * part), sensitivity)
        return PermuteAndFlip(part, sensitivity)

    def _variance(self, part: Fraction) -> Fraction:
        from discreet.accounting.gaussian.gdp import smoothing

        return Fraction(self.square) / (2 * part) + (smoothing(self.square) if self.draws else 0)

    def deviation(self, part: Fraction) -> float:
        """The standard deviation of the noise of a table that takes a part of the loss."""
        if self.concentrated:
            return math.sqrt(self._variance(part))
        return math.sqrt(2) * self.l1 / float(part)

    def half_width(self, confidence: Number = 0.95) -> float:
        """The half-width of the interval of a count that takes the whole loss: none errs less."""
        return self.noise(self.amount).half_width(confidence)

    def release(self, procedure: Callable[[Rounds], R]) -> R:
        """Run a procedure once with the rounds that the loss buys.

        Args:
            procedure: its result is made of the answers of its rounds and of public values alone.

        Raises:
            InvalidParameter: it is no function. Nothing was drawn.
        """
        if not callable(procedure):
            raise InvalidParameter("The procedure is no function.", "Give a function of the rounds.")
        return procedure(Rounds(self))


def root_below(value: Fraction) -> Fraction:
    """A rational that is at most the root of a positive one, by a part in 10^6 less or so.

    Example:
        >>> root_below(Fraction(2)) ** 2 <= 2 < (root_below(Fraction(2)) + Fraction(1, 10**9)) ** 2
        True
    """
    shift = max(0, math.ceil(math.log2(float(1 / value)) / 2)) if value < 1 else 0
    steps = ROOT_STEPS << shift
    return Fraction(math.isqrt(math.floor(value * steps**2)), steps)
