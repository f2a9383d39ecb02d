"""How quantiles that are chosen by rank are explained: the mechanism, and where its epsilon goes."""

from __future__ import annotations

from fractions import Fraction

from discreet.mechanisms.selection.quantiles_with_ends import MARGIN, NUMBER, QuantilesWithEnds
from discreet.rational import show


def noise_of(mechanism: QuantilesWithEnds, one_unit: str) -> list[str]:
    """The lines about the draws of a measure.

    Args:
        mechanism: of the measure.
        one_unit: how many rows of a unit count, in words.
    """
    each = mechanism.epsilon / len(mechanism.quantiles)
    lines = [
        f"   one row counts in one leaf, and so do the rows of one unit: {one_unit}",
        "   exponential mechanism on ranks: a leaf is e times less likely for each scale that its rank is off",
    ]
    for q in mechanism.quantiles:
        number, end = mechanism.number(q).scale, mechanism.end(q).scale
        lines.append(
            f"   {show(q)} quantile, epsilon {show(each)}: {show(NUMBER)} of it for the number, at a scale of "
            f"{_rows(number)} rows; the rest for the ends of its interval, {_rows(end * MARGIN)} rows below and above "
            f"it, at {_rows(end)}"
        )
    return lines


def _rows(number: Fraction) -> str:
    return f"{float(number):,.3g}"
