"""Above threshold (the sparse vector technique), in the variant that is private.

One run answers question after question "is this value above the threshold?" until it has said yes c times. All
the noes together and the c yeses cost epsilon = epsilon_1 + epsilon_2, however many questions there were.

Guarantee. S bounds how far one value moves between neighbours. The threshold T gets noise R of scale S/epsilon_1
once; every question gets fresh noise N_i of scale 2 c S/epsilon_2, and the answer is yes if q_i + N_i >= T + R.

Proof (Lyu, Su, Li 2017, here on the integers). Fix the answers up to the c-th yes, and R = r on D against
R = r + S on D', which is less likely by at most e^epsilon_1. A no, q_i + N_i < T + r, implies q'_i + N_i < T + r + S,
so that noes are at least as likely on D'. A yes needs N_i >= T + r - q_i on D, and at most 2 S more on D', whose
probability is smaller by at most e^(2 S epsilon_2/(2 c S)) = e^(epsilon_2/c), because P(N >= t + u) >= e^(-u/b)
P(N >= t) for every t and u >= 0. There are c yeses. Sum over r. Values that depend on earlier answers change nothing:
given those answers, they are the same functions of the data.

Monotonic values. If between neighbours no value rises, or none falls, c S/epsilon_2 is enough: when all fall,
compare with the same r, and a yes needs at most S more; when all rise, with r + S, and so does a yes.

Published errors that are not made here (Lyu et al. 2017, section 3): questions without noise of their own,
noise that ignores c, and the noisy value itself in place of a yes, each of which breaks the guarantee. A number
costs a release of `Laplace`, with an epsilon of its own.
"""

from __future__ import annotations

import math
import os
import threading
from fractions import Fraction
from typing import Any, Final, NoReturn

import numpy as np
import numpy.typing as npt

from discreet.errors import Exhausted, InvalidParameter
from discreet.mechanisms import values as grid_values
from discreet.mechanisms.mechanism import PureLoss
from discreet.mechanisms.numeric.laplace import Laplace
from discreet.mechanisms.parameters import (
    read_confidence,
    read_count,
    read_flag,
    read_granularity,
    read_sensitivity,
)
from discreet.noise import laplace
from discreet.noise.parameters import read_scale
from discreet.noise.unbounded import continued
from discreet.rational import Number, epsilon_of
from discreet.records import dataclass

_FARTHEST: Final = 1 << 62
_BLOCK: Final = 1 << 16


@dataclass(frozen=True)
class AboveThreshold(PureLoss):
    """Find out which of many values are above a threshold, and pay only for those that are.

    Privacy: one run, from `start` to its c-th yes, is epsilon-differentially private (pure) if no single value
    that it is asked about moves by more than `sensitivity` between neighbouring data sets. That premise is
    the caller's to answer for. Questions may be chosen after seeing earlier answers. Source and proof: the
    module's text.

    Args:
        epsilon: positive rational, for the whole run; a float is its shortest decimal.
        sensitivity: positive rational, in the unit of the values: the largest change of one value.
        c: how many times a run says yes. The noise of each question grows with it.
        resets: True draws the noise of the threshold anew after each yes, each of the c rounds having
            epsilon/c: an unlucky threshold is then left behind. It needs more noise.
        monotonic: True promises that between neighbours all values move in one direction (or stay), as
            counts do when a unit is added or removed. Leave it False when neighbours replace a unit.
        granularity: None for integer values; for reals the grid, a power of two from 2^-512 to 2^512.

    Raises:
        InvalidParameter: a parameter outside its range, or a scale outside 2^-10 to 2^56 steps.

    Example:
        >>> watch = AboveThreshold(epsilon=1, c=2).start(threshold=1000)
        >>> [watch.above(count) for count in (3, 5000, 20, 7000)]
        [False, True, False, True]
        >>> watch.above(10)
        Traceback (most recent call last):
        ...
        discreet.errors.Exhausted: The run has said yes as often as its epsilon buys. Start another run...
    """

    epsilon: Fraction
    sensitivity: Fraction
    c: int
    resets: bool
    monotonic: bool
    granularity: Fraction | None

    def __init__(
        self,
        epsilon: Number,
        sensitivity: Number = 1,
        *,
        c: int = 1,
        resets: bool = False,
        monotonic: bool = False,
        granularity: Number | None = None,
    ) -> None:
        object.__setattr__(self, "epsilon", epsilon_of(epsilon))
        object.__setattr__(self, "sensitivity", read_sensitivity(sensitivity))
        object.__setattr__(self, "c", read_count(c, "c", "Give how many times to say yes."))
        object.__setattr__(self, "resets", read_flag(resets, "resets"))
        object.__setattr__(self, "monotonic", read_flag(monotonic, "monotonic"))
        object.__setattr__(self, "granularity", read_granularity(granularity))
        for scale in (self.threshold_scale, self.scale):
            read_scale(scale / self._grid, "The scale, in steps of the values,")

    @property
    def loss(self) -> Fraction:
        """The privacy loss of one run: pure epsilon."""
        return self.epsilon

    @property
    def threshold_scale(self) -> Fraction:
        """The scale of the noise of the threshold, S/epsilon_1, in the unit of the values."""
        return self._moves / self._split[0]

    @property
    def scale(self) -> Fraction:
        """The scale of the noise of each question, in the unit of the values."""
        return (1 if self.monotonic else 2) * self._yeses * self._moves / self._split[1]

    def start(self, threshold: Number) -> Watch:
        """Begin a run, which costs epsilon, with a public threshold in the unit of the values.

        Raises:
            InvalidParameter: a threshold that is not a finite number, not whole without granularity, or
                2^62 steps or more from zero.
            EntropyError: the operating system gave no randomness.
        """
        return Watch(self, int(self._steps(threshold)))

    def error(self, questions: int, confidence: Number = 0.95) -> float:
        """How far from the threshold all answers of a run are right, with the confidence given.

        With that confidence every yes among so many questions is for a value of at least T - error and every
        no for one of at most T + error. In the unit of the values; with granularity, rounding adds a step.

        Raises:
            InvalidParameter: questions not a positive int, or a confidence not strictly between 0 and 1.
        """
        count = read_count(questions, "questions", "Give their number.")
        each = (
            1 + read_confidence(confidence)
        ) / 2  # half of the chance of failure for the threshold, half for the rest
        drawn = min(count, self.c) if self.resets else 1
        threshold = Laplace(1, self.threshold_scale, self.granularity).max_error(drawn, each)
        return float(threshold + Laplace(1, self.scale, self.granularity).max_error(count, each))

    def release(self, values: Any, threshold: Number = 0) -> npt.NDArray[np.bool_]:
        """Say of each of many values whether it is above a threshold: a whole run at once, which costs epsilon.

        Args:
            values: as for `Watch.above_each`.
            threshold: as for `start`.

        Raises:
            Those of `start` and of `Watch.above_each`.

        Example:
            >>> AboveThreshold(epsilon=1, c=2).release([3, 5000, 20], threshold=1000).tolist()
            [False, True, False]
        """
        return self.start(threshold).above_each(values)

    def half_width(self, confidence: Number = 0.95, questions: int = 1) -> float:
        """The same as `error`, by the name that every mechanism has."""
        return self.error(questions, confidence)

    @property
    def _moves(self) -> Fraction:
        """How far a value moves, once it is on the grid."""
        if self.granularity is None:
            return self.sensitivity
        return math.ceil(self.sensitivity / self.granularity) * self.granularity

    @property
    def _yeses(self) -> int:
        return 1 if self.resets else self.c

    @property
    def _split(self) -> tuple[Fraction, Fraction]:
        """epsilon_1 and epsilon_2 of a round, near the ratio 1 : (2c)^(2/3) of least variance (Lyu et al.)."""
        factor = self._yeses if self.monotonic else 2 * self._yeses
        ratio = Fraction(round(100 * factor ** (2 / 3)), 100)  # any ratio is private; this one errs least
        epsilon = self.epsilon / (self.c if self.resets else 1)
        return epsilon / (1 + ratio), epsilon * ratio / (1 + ratio)

    @property
    def _grid(self) -> Fraction:
        return Fraction(1) if self.granularity is None else self.granularity

    def _steps(self, values: Any) -> npt.NDArray[np.int64]:
        if self.granularity is not None:
            steps = grid_values.nearest(values, self.granularity)
        else:
            steps = grid_values.integers(values, "Round it, or give the mechanism a granularity.")
        if steps.size and (steps.max() >= _FARTHEST or steps.min() <= -_FARTHEST):
            raise InvalidParameter("A value is too far from zero.", "Clamp the values to below 2^62.")
        return steps


class Watch:
    """One run of `AboveThreshold`, made by its `start`. It cannot be copied: a copy would answer for nothing.

    Attributes:
        left: how many times it will still say yes.

    Example:
        >>> watch = AboveThreshold(epsilon=100).start(threshold=50)
        >>> watch.above_each([3, 7, 99, 4]), watch.left
        (array([False, False,  True]), 0)
    """

    def __init__(self, mechanism: AboveThreshold, threshold: int) -> None:
        self._mechanism = mechanism
        self._public = threshold
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self.left = mechanism.c
        self._noisy = self._new_threshold()

    def above(self, value: Any) -> bool:
        """Tell whether a value, with fresh noise, is above the noisy threshold.

        Args:
            value: integer; with granularity any real number.

        Raises:
            Exhausted: the run has said yes c times already, or was carried into another process by a fork.
            InvalidParameter: not a single number, NaN, infinite, a boolean, not whole without granularity,
                or 2^62 steps or more from zero. Nothing was drawn.
            EntropyError: the operating system gave no randomness.
        """
        if not grid_values.is_scalar(value):
            raise InvalidParameter("value is not a single number.", "Ask about several with above_each.")
        return bool(self.above_each([value])[0])

    def above_each(self, values: Any) -> npt.NDArray[np.bool_]:
        """Answer a flat sequence of values in order, up to the last yes that the run has: bools (m,), m <= n.

        Errors are those of `above`.
        """
        steps = self._mechanism._steps(values)
        if steps.ndim != 1:
            raise InvalidParameter("values is not a flat sequence.", "Give one.")
        with self._lock:
            if os.getpid() != self._owner:
                raise Exhausted("The run belongs to another process.", "Ask there, or start another run.")
            if steps.size and not self.left:
                raise Exhausted(
                    "The run has said yes as often as its epsilon buys.",
                    "Start another run, which costs epsilon again.",
                )
            answers: list[bool] = []
            for start in range(0, steps.size, _BLOCK):
                answers += self._answer(steps[start : start + _BLOCK])
            return np.array(answers, np.bool_)

    def _answer(self, steps: npt.NDArray[np.int64]) -> list[bool]:
        if not self.left:
            return []
        scale = self._mechanism.scale / self._mechanism._grid
        noise = continued(laplace(scale, steps.size), scale)
        answers: list[bool] = []
        for value, more in zip(steps.tolist(), noise, strict=True):
            if not self.left:
                break
            answers.append(value + more >= self._noisy)
            if answers[-1]:
                self.left -= 1
                if self._mechanism.resets and self.left:
                    self._noisy = self._new_threshold()
        return answers

    def _new_threshold(self) -> int:
        scale = self._mechanism.threshold_scale / self._mechanism._grid
        return self._public + continued(laplace(scale, 1), scale)[0]

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(
            "A run cannot be copied or pickled: its answers would be given twice for one epsilon."
        )
