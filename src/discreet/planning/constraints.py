"""Two demands on the error of one number, a ceiling on epsilon, and the verdict.

A standard deviation of at most s allows scales b <= s/sqrt(2); P(|Z| > T) <= beta allows b <= T/ln(1/beta). Both
bound b from above and so epsilon = sensitivity/b from below; the ceiling of the steward bounds it from above. Large
noise is no leak: it is never the ceiling that asks for less noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.errors import InvalidParameter
from discreet.planning import read
from discreet.planning.laplace import LaplaceError, scale_for_rms, scale_for_tail
from discreet.rational import Number, decimal, show


@dataclass(frozen=True)
class Verdict:
    """What the demands need, and whether the ceiling allows it.

    Attributes:
        scale: the largest b that meets the demands.
        epsilon: the least epsilon that meets them.
        binding: `sd` or `tail`, the demand that decides.
        ceiling: the largest epsilon that the steward allows, or None.
        feasible: whether epsilon is at most the ceiling.
        relax: what would do at the ceiling, a sentence for each demand that is too strict; empty when feasible.

    Example:
        >>> demands(sd=1, ceiling=1).feasible
        False
    """

    scale: float
    epsilon: float
    binding: str
    ceiling: float | None
    feasible: bool
    relax: tuple[str, ...]


def demands(
    sd: Number | None = None,
    tail: tuple[Number, Number] | None = None,
    ceiling: Number | None = None,
    sensitivity: Number = 1,
) -> Verdict:
    """Find the least epsilon that meets the demands, and what to relax when the ceiling is below it.

    Args:
        sd: the largest standard deviation, in the unit of the number.
        tail: (T, beta): P(|Z| > T) is at most beta.
        ceiling: the largest epsilon that the steward allows; None for no ceiling.
        sensitivity: L1, in the unit of the number.

    Raises:
        InvalidParameter: no demand, or a parameter out of range.

    Example:
        >>> plan = demands(sd=5, tail=(20, 0.001), ceiling=1)
        >>> round(plan.scale, 4), round(plan.epsilon, 4), plan.binding, plan.feasible
        (2.8953, 0.3454, 'tail', True)
        >>> demands(sd=1, ceiling=1).relax
        ('allow a standard deviation of 1.41422',)
    """
    scales: dict[str, float] = {}
    if sd is not None:
        scales["sd"] = scale_for_rms(sd)
    if tail is not None:
        scales["tail"] = scale_for_tail(*tail)
    if not scales:
        raise InvalidParameter("There is no demand.", "Give a standard deviation, a tail, or both.")
    distance = read.above_zero(sensitivity, "sensitivity")
    binding = min(scales, key=lambda name: scales[name])
    epsilon = distance / scales[binding]
    if ceiling is None:
        return Verdict(scales[binding], epsilon, binding, None, True, ())
    most = read.above_zero(ceiling, "ceiling")
    feasible = epsilon <= most * (1 + 1e-12)
    reached = LaplaceError(distance / most)
    relax = [] if feasible else _relax(reached, scales, tail)
    return Verdict(scales[binding], epsilon, binding, most, feasible, tuple(relax))


def _relax(reached: LaplaceError, scales: dict[str, float], tail: tuple[Number, Number] | None) -> list[str]:
    found = []
    if scales.get("sd", math.inf) < reached.scale:
        found.append(f"allow a standard deviation of {_above(reached.rms)}")
    if tail is not None and scales["tail"] < reached.scale:
        t, beta = tail
        wide = reached.scale * -math.log(read.probability(beta, "beta"))
        found.append(
            f"allow errors of {_above(wide)} with probability {show(decimal(beta))}, "
            f"or of {show(decimal(t))} with probability {_above(reached.beyond(t))}"
        )
    return found


def _above(value: float) -> str:
    """Six digits that are not below the value."""
    step = 10.0 ** (math.floor(math.log10(value)) - 5)
    return f"{math.ceil(value / step) * step:.6g}"
