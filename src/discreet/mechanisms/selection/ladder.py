"""The ladder mechanism: an integer whose local sensitivity is small, by the exponential mechanism on rungs around it.

Let f be an integer function of a graph, or of any data, and u an integer statistic of it that moves by at most 1
between neighbours. Let B be a public function that does not fall, with |f(D) - f(D')| <= B(u(D)) for all neighbours.
Then I_t(D) = B(u(D) + t) is a ladder function: it bounds the local sensitivity at t = 0, and
I_t(D') <= I_(t+1)(D) for neighbours (Zhang, Cormode, Procopiuc, Srivastava and Xiao 2015, definition 4.3). Rung 0 is f
itself, and rung t has the I_(t-1) integers behind rung t - 1 on either side. The score of an integer is -t on rung t.

Proof (their theorem 4.2). Rungs 0 to t of D are f(D) - F_t .. f(D) + F_t, F_t = I_0 + ... + I_(t-1). They lie within
rungs 0 to t + 1 of a neighbour D', since |f(D) - f(D')| <= I_0(D') and I_s(D) <= I_(s+1)(D') for each s < t. So the
score of each integer moves by at most 1, and it is the exponential mechanism at scale 2/epsilon: epsilon-private.

Two things make the candidates finite, and leave scores that move by at most 1: only integers from 0 to a public `most`
are candidates, with f clamped to them; and all beyond a public number of rungs have the score of one rung more. The
draw is exact: a rung by `noise.large.choice`, then an integer of it, uniformly.

Error. Its distribution depends on u, which is private. `half_width` gives it for a u, so that somebody who released
u with noise knows the error too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.mechanisms.mechanism import PureLoss
from discreet.mechanisms.parameters import read_confidence, read_count
from discreet.noise.large.choice import large_choice, uniform_large
from discreet.noise.parameters import read_scale
from discreet.rational import Number, epsilon_of
from discreet.records import dataclass, field

Floats = npt.NDArray[np.float64]

RUNGS: Final = 1 << 17
"""So many rungs there are at most."""
_BEYOND: Final = 40
"""Integers beyond the last rung together weigh e^-40 of the middle, unless there are too many rungs."""
_WIDTHS: Final = 64
"""For so many values of the statistic, spread over its range, the error is worked out."""


@dataclass(frozen=True)
class Climbed:
    """The numbers that a ladder stands on; both are secret.

    Attributes:
        value: f.
        width: u.
    """

    value: int
    width: int

    @property
    def size(self) -> int:
        """One value gets noise."""
        return 1


@dataclass(frozen=True)
class Ladder(PureLoss):
    """Release an integer with noise that fits its local sensitivity.

    Privacy: one call of `release` is epsilon-differentially private (pure) if between neighbouring data sets the width
    moves by at most 1, and the value by at most rung(width) of either of them. These premises are the caller's to
    answer for. Source and proof: the module's text.

    Args:
        epsilon: positive rational; a float is its shortest decimal.
        rung: from a width to the size of the first rung, an int >= 0; public, and it never falls.
        most: the largest value there can be, public.

    Raises:
        InvalidParameter: a parameter outside its range.

    Example:
        >>> triangles = Ladder(1, lambda common: common, most=34 * 33 * 32 // 6)
        >>> 0 <= triangles.release(Climbed(value=45, width=10)) <= 5984
        True
        >>> triangles.half_width(0.5, width=10)  # the median error
        18
    """

    epsilon: Fraction
    rung: Callable[[int], int] = field(repr=False)
    most: int

    def __init__(self, epsilon: Number, rung: Callable[[int], int], most: int) -> None:
        object.__setattr__(self, "epsilon", epsilon_of(epsilon))
        object.__setattr__(self, "rung", rung)
        object.__setattr__(self, "most", read_count(most, "most", "Give the largest value.", least=0))
        read_scale(self.scale, "The scale, in rungs,")

    @property
    def loss(self) -> Fraction:
        """The privacy loss of one release: pure epsilon."""
        return self.epsilon

    @property
    def scale(self) -> Fraction:
        """A rung that is farther by so many is e times less likely for each of its integers."""
        return 2 / self.epsilon

    @property
    def rungs(self) -> int:
        """How many rungs there are around the middle, public."""
        return min(RUNGS, math.ceil(self.scale * (math.ceil(math.log(self.most + 1)) + _BEYOND)))

    def release(self, exact: Climbed) -> int:
        """Return the value with noise: an int from 0 to `most`.

        Raises:
            InvalidParameter: it was given something else than `Climbed`.
            EntropyError: the operating system gave no randomness.
        """
        if not isinstance(exact, Climbed):
            raise InvalidParameter("A ladder stands on a value and a width.", "Give Climbed(value, width).")
        ends = self.ends(exact)
        chosen = large_choice(_sizes(ends), self.scale)
        inner = ends[chosen - 1] if chosen else (ends[0][1] + 1, ends[0][1])
        low, high = ends[chosen]
        place = uniform_large(high - low + 1 - (inner[1] - inner[0] + 1))
        return low + place if low + place < inner[0] else low + place + inner[1] - inner[0] + 1

    def ends(self, exact: Climbed) -> list[tuple[int, int]]:
        """The least and the largest integer of rungs 0 to t, for each t; the last has all candidates."""
        middle, far, out = min(max(exact.value, 0), self.most), 0, []
        for t in range(self.rungs):
            out.append((max(0, middle - far), min(self.most, middle + far)))
            far += self.rung(exact.width + t)
        return [*out, (0, self.most)]

    def half_width(self, confidence: Number = 0.95, width: int = 0) -> int:
        """The least m, within parts in 10^9, with P(|noise| <= m) >= confidence where this is the width.

        The ends of the range only make the noise smaller.

        Raises:
            InvalidParameter: a confidence not strictly between 0 and 1.
        """
        return self._half_width([self.rung(width + t) for t in range(self.rungs)], confidence, self._far)

    def half_width_up_to(self, width: int, confidence: Number = 0.95) -> int:
        """The same for all widths up to this one: the largest of some that are spread over them."""
        widths = sorted({round(width * step / _WIDTHS) for step in range(_WIDTHS + 1)} | {0})
        rungs, far = self.rungs, self._far
        # The rungs of several widths are mostly the same ones.
        shared = width < len(widths) * rungs
        every = [self.rung(index) for index in range(widths[-1] + rungs)] if shared else []
        return max(
            self._half_width(
                every[start : start + rungs] if shared else [self.rung(start + t) for t in range(rungs)],
                confidence,
                far,
            )
            for start in widths
            if start >= 0
        )

    @property
    def _far(self) -> Floats:
        """How much less likely an integer of each rung is than the middle: float64 array (rungs,)."""
        return np.exp(-np.arange(1, self.rungs + 1) / float(self.scale))

    def _half_width(self, rungs: list[int], confidence: Number, far: Floats) -> int:
        """The half-width from the sizes of the rungs, each on one side, and how likely their integers are."""
        level = float(read_confidence(confidence))
        sizes = np.array(rungs, np.float64)
        weights = 2 * sizes * far
        # Rounded up: all integers of the range are once more beyond the last rung.
        beyond = math.exp(math.log(self.most + 1) - len(rungs) / float(self.scale))
        tails = np.append(np.cumsum(weights[::-1])[::-1], 0) + beyond
        allowed = (1 - level) * (1 + tails[0])
        if tails[0] <= allowed:
            return 0
        rung = int(np.argmax(tails[1:] <= allowed))
        if tails[-1] > allowed:
            return self.most
        inside = math.ceil(float((tails[rung] - allowed) / weights[rung] * sizes[rung]) - 1e-9)
        return min(self.most, sum(rungs[:rung]) + inside)

    def probabilities(self, exact: Climbed) -> list[float]:
        """The law of `release` for each integer from 0 to `most`: not private; for proofs, on small ranges."""
        ends = self.ends(exact)
        rung = [
            next(t for t, (low, high) in enumerate(ends) if low <= k <= high) for k in range(self.most + 1)
        ]
        weights = [math.exp(-t / float(self.scale)) for t in rung]
        return [weight / math.fsum(weights) for weight in weights]


def _sizes(ends: list[tuple[int, int]]) -> list[int]:
    """How many integers each rung has within the range."""
    whole = [high - low + 1 for low, high in ends]
    return [new - old for new, old in zip(whole, [0, *whole], strict=False)]
