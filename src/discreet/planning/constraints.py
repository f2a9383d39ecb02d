"""Two demands on the error of one number, a ceiling on epsilon, and the verdict.

A standard deviation of at most s allows scales b <= s/sqrt(2); P(|Z| > T) <= beta allows b <= T/ln(1/beta). Both
bound b from above and so epsilon = sensitivity/b from below; the ceiling of the steward bounds it from above. Large
noise is no leak: it is never the ceiling that asks for less noise.

These bounds are those of a density. Noise on a whole number is drawn in whole numbers, and its tail is sometimes
heavier (`whole`). Where the sensitivity is a whole number, the number may be one too: then epsilon is the least that
meets the demands under both laws, and the demands proposed at a ceiling hold under both too.
"""

from __future__ import annotations

import math

from discreet.errors import InvalidParameter
from discreet.planning import read
from discreet.planning.laplace import LaplaceError, scale_for_rms, scale_for_tail
from discreet.planning.whole import beyond, whole_epsilon_for_rms, whole_epsilon_for_tail
from discreet.rational import Number, decimal, show
from discreet.records import dataclass


@dataclass(frozen=True)
class Verdict:
    """The epsilon that the demands need, and whether the ceiling allows it.

    Attributes:
        scale: the largest b that meets the demands under both laws.
        epsilon: the least epsilon that meets them under both.
        density: the least epsilon for noise with a density, by the formulas of the textbook.
        whole: the least epsilon for a whole number; None where the sensitivity is not one.
        binding: `sd` or `tail`, the demand that decides.
        ceiling: the largest epsilon that the steward allows, or None.
        feasible: whether epsilon is at most the ceiling.
        relax: demands that the ceiling allows, a sentence for each demand that is too strict; empty when feasible.

    Example:
        >>> demands(sd=1, ceiling=1).feasible
        False
    """

    scale: float
    epsilon: float
    density: float
    whole: float | None
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
    """Find the least epsilon that meets the demands, and the demands to relax when the ceiling is below it.

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
        >>> some = demands(tail=(2.9, 0.05))
        >>> [round(each, 4) for each in (some.density, some.whole, some.epsilon)]
        [1.033, 1.1369, 1.1369]
    """
    distance = read.above_zero(sensitivity, "sensitivity")
    needs: dict[str, tuple[float, float]] = {}  # of a density, of a whole number
    if sd is not None:
        needs["sd"] = distance / scale_for_rms(sd), whole_epsilon_for_rms(sd, sensitivity)
    if tail is not None:
        needs["tail"] = distance / scale_for_tail(*tail), whole_epsilon_for_tail(*tail, sensitivity)
    if not needs:
        raise InvalidParameter("There is no demand.", "Give a standard deviation, a tail, or both.")
    both = decimal(sensitivity).denominator == 1
    least = {name: max(each) if both else each[0] for name, each in needs.items()}
    binding = max(least, key=lambda name: least[name])
    epsilon = least[binding]
    density = max(each[0] for each in needs.values())
    whole = max(each[1] for each in needs.values()) if both else None
    if ceiling is None:
        return Verdict(distance / epsilon, epsilon, density, whole, binding, None, True, ())
    most = read.above_zero(ceiling, "ceiling")
    feasible = epsilon <= most * (1 + 1e-12)
    relax = (
        [] if feasible else _relax(distance / most, {n: distance / e for n, e in least.items()}, tail, both)
    )
    return Verdict(distance / epsilon, epsilon, density, whole, binding, most, feasible, tuple(relax))


def _relax(
    scale: float, scales: dict[str, float], tail: tuple[Number, Number] | None, both: bool
) -> list[str]:
    found, reached = [], LaplaceError(scale)
    if scales.get("sd", math.inf) < scale:
        found.append(f"allow a standard deviation of {_above(reached.rms)}")
    if tail is not None and scales["tail"] < scale:
        t, beta = tail
        level = read.probability(beta, "beta")
        wide, often = scale * -math.log(level), reached.beyond(t)
        if both:
            wide = max(wide, _least(1 / scale, level))
            often = max(often, beyond(1 / scale, math.floor(decimal(t))))
        found.append(
            f"allow errors of {_above(wide)} with probability {show(decimal(beta))}, "
            f"or of {show(decimal(t))} with probability {_above(often)}"
        )
    return found


def _least(rate: float, level: float) -> int:
    """The least whole t with P(|Z| > t) <= level for whole numbers."""
    t = max(0, math.ceil(-math.log(level * (1 + math.exp(-rate)) / 2) / rate) - 2)
    while beyond(rate, t) > level:
        t += 1
    return t


def _above(value: float) -> str:
    """Six digits that are not below the value."""
    if value == int(value) and value < 1e6:
        return str(int(value))
    step = 10.0 ** (math.floor(math.log10(value)) - 5)
    return f"{math.ceil(value / step) * step:.6g}"
