"""An integer with discrete Laplace noise that fits its smooth sensitivity, for those who have a delta.

Let S be the smooth sensitivity for a rational q (`mechanisms.numeric.smoothness`). Noise of scale b = S/a is added,
where a < epsilon is the loss of a shift by S. Nissim, Raskhodnikova and Smith (2007, corollary 2.4) take a = epsilon/2
and ln(1/q) = epsilon/(2 ln(2/delta)). Both are chosen better where the delta of discrete noise is worked out:

Guarantee. Let D and D' be neighbours with scales b >= b', f(D) = 0 and f(D') = s, where |s| <= S(D) and S(D'). Let p
and p' be the laws of the two outputs, b/b' = e^l with 0 <= l <= ln(1/q), x = 1/b, x' = 1/b' = x e^l and r = e^l.

    p against p'. ln(p/p') is largest far out, where p is wider; at 0 it is at most |s| x' <= a <= epsilon, and between
        0 and s no more. So p/p' exceeds e^epsilon at most on two tails. On that beyond m, on the far side of s,
            sum of p - e^epsilon p' = A u - C A' u^r,   u = e^(-m x), A = 1/(1 + e^-x), A' = 1/(1 + e^-x'),
            C = e^(epsilon - |s| x').
        Over all u > 0 that is largest at u^(r-1) = A/(A' C r), where it is A u (1 - 1/r). As A <= A' and A < 1 it is
        less than (1 - 1/r) exp(-(epsilon - |s| x' + l)/(r - 1)). The other tail has epsilon + |s| x' in place of the
        difference. The sum of both grows with |s| x' <= a and with l, so that delta is less than
            (1 - q) (E(epsilon - a) + E(epsilon + a)),   E(c) = exp(-(c + ln(1/q)) q/(1 - q)).
    p' against p. As tanh(x'/2) <= e^l tanh(x/2), ln(p'/p) is at most l + |s|/b, which it would be at s. Here |s| is at
        most S(D') <= a b' = a b e^-l, so it is at most l + a e^-l, which is convex in l and so at most the larger of a
        and ln(1/q) + a q. Neither is above epsilon: there delta is 0.

The scale is rounded up to b = ceil(2^32 S/a + q/(1 - q))/2^32. It is no less than S/a, and still q b(D') <= b(D): for
with t = 2^32 S/a of D and t' of D', q ceil(t' + q/(1 - q)) < q t' + q/(1 - q) <= t + q/(1 - q). So all of it stands.
Where S is 0 the function is constant on all data sets that can be reached, and nothing is added.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from discreet.errors import InvalidParameter
from discreet.mechanisms.numeric.laplace import least_half_width
from discreet.mechanisms.numeric.smoothness import SmoothNoise, smooth_sensitivity
from discreet.mechanisms.parameters import read_confidence, read_count
from discreet.noise.digits import enclose_exp
from discreet.noise.large.laplace import large_laplace
from discreet.rational import Number, decimal, epsilon_of
from discreet.records import dataclass, field

if TYPE_CHECKING:
    from discreet.accounting.events import Neighbours, Released

_GRID: Final = 1 << 32
"""Steps of the scale."""
_SHARES: Final = 1 << 40
"""Steps of the loss of a shift."""
MOST_STEPS: Final = 1 << 14
"""The noise of neighbours differs by one part in so many at the finest."""


@dataclass(frozen=True)
class SmoothLaplace(SmoothNoise):
    """Release an integer with Laplace noise that fits its smooth sensitivity.

    Privacy: one call of `release` is (epsilon, delta)-differentially private if between neighbouring data sets the
    width moves by at most 1, and the value by at most rung(width) of either of them. These premises are the caller's
    to answer for. Source and proof: the module's text.

    Args:
        epsilon: positive rational; a float is its shortest decimal.
        delta: rational, strictly between 0 and 1.
        rung: from a width to the largest local sensitivity, an int >= 0; public, it never falls, and its logarithm
            is concave. If it is 0 for the width 65,536 it is 0 for ever.
        most: the largest value there can be, public.
        width: a public guess of the width, for which the noise shall be least; privacy does not hang on it.

    Attributes:
        steps: the noise of neighbours differs by one part in so many at most: q = 1 - 1/steps.
        shift: a, the part of epsilon that a shift by the smooth sensitivity costs.

    Raises:
        InvalidParameter: a parameter outside its range, or an epsilon so small that this delta buys no such noise.

    Example:
        >>> from discreet.mechanisms import Climbed
        >>> triangles = SmoothLaplace(1, 1e-6, lambda common: min(common, 32), most=5984, width=10)
        >>> 0 <= triangles.release(Climbed(value=45, width=10)) <= 5984
        True
        >>> triangles.half_width(0.5, width=10)  # the median error
        16
    """

    epsilon: Fraction
    delta: Fraction
    rung: Callable[[int], int] = field(repr=False)
    most: int
    steps: int
    shift: Fraction

    def __init__(
        self, epsilon: Number, delta: Number, rung: Callable[[int], int], most: int, width: int = 0
    ) -> None:
        object.__setattr__(self, "epsilon", epsilon_of(epsilon))
        object.__setattr__(self, "delta", decimal(delta, "delta"))
        object.__setattr__(self, "rung", rung)
        object.__setattr__(self, "most", read_count(most, "most", "Give the largest value.", least=0))
        if not 0 < self.delta < 1:
            raise InvalidParameter("delta must be strictly between 0 and 1.", "Write delta=1e-9.")
        guess = read_count(width, "width", "Give a whole number.", least=0)
        possible = list(_possible(self.epsilon, self.delta))
        if not possible:
            raise InvalidParameter(
                "So small an epsilon and delta buy no such noise.", "Take more, or another method."
            )

        def scale(pair: tuple[int, Fraction]) -> Fraction:
            return smooth_sensitivity(rung, guess, _kept_share(pair[0])) / pair[1]

        steps, shift = min(possible, key=scale)
        object.__setattr__(self, "steps", steps)
        object.__setattr__(self, "shift", shift)

    @property
    def loss(self) -> tuple[Fraction, Fraction]:
        """The privacy loss of one release: epsilon and delta."""
        return self.epsilon, self.delta

    def event(self, neighbours: Neighbours) -> Released:
        """The event that accountants price.

        Args:
            neighbours: those for which the rung and the width hold.
        """
        from discreet.accounting.events import Released
        from discreet.accounting.loss import Loss

        return Released(Loss(self.epsilon, self.delta), neighbours=neighbours)

    def scale(self, width: int) -> Fraction:
        """The scale of the noise where this is the width: at least the smooth sensitivity by `shift`."""
        q = _kept_share(self.steps)
        size = smooth_sensitivity(self.rung, width, q)
        return Fraction(math.ceil(_GRID * size / self.shift + q / (1 - q)), _GRID) if size else Fraction(0)

    @staticmethod
    def _noise(scale: Fraction) -> int:
        return large_laplace(scale)

    def half_width(self, confidence: Number = 0.95, width: int = 0) -> int:
        """The least m with P(|noise| <= m) >= confidence where this is the width.

        Raises:
            InvalidParameter: a confidence not strictly between 0 and 1.
        """
        level, scale = read_confidence(confidence), self.scale(width)
        return min(self.most, least_half_width(scale, 1, level)) if scale else 0


def _kept_share(steps: int) -> Fraction:
    return 1 - Fraction(1, steps)


def _possible(epsilon: Fraction, delta: Fraction) -> Iterator[tuple[int, Fraction]]:
    """The numbers of steps, and with each the largest loss of a shift, for which the guarantee is proven."""
    for power in range(1, MOST_STEPS.bit_length()):
        for steps in (2 * 2 ** (power - 1), 3 * 2 ** (power - 1)):
            q = _kept_share(steps)
            # ln(1/q) + a q <= epsilon, as ln y <= (y - 1/y)/2 for y >= 1
            narrow = (epsilon - (1 / q - q) / 2) / q
            for missing in (0.0, math.log(2) + 1e-9):
                tail = math.log(1 / steps / float(delta)) + missing - float(2 * q / (1 + q))
                spare = max(0.0, tail) / (steps - 1) * (1 + 1e-9)
                shift = min(epsilon, epsilon - Fraction(math.ceil(spare * _SHARES), _SHARES), narrow)
                shift = Fraction(math.floor(shift * _SHARES), _SHARES)
                if shift > 0 and _proven(epsilon, delta, shift, q):
                    yield steps, shift
                    break


def _proven(epsilon: Fraction, delta: Fraction, shift: Fraction, q: Fraction) -> bool:
    """Whether the delta of the module's text is at most this one; every rounding is towards more.

    ln y >= 2 (y - 1)/(y + 1) for y >= 1, so that ln(1/q) q/(1 - q) >= 2 q/(1 + q).
    """
    bits = 128 + math.ceil(1 / delta).bit_length()
    tails = sum(
        enclose_exp(c * q / (1 - q) + 2 * q / (1 + q), bits)[1] for c in (epsilon - shift, epsilon + shift)
    )
    return (1 - q) * tails <= delta * (1 << bits)
