"""How quantiles that are chosen by rank are explained: the mechanism, and where its epsilon goes."""

from __future__ import annotations

from fractions import Fraction

from discreet.mechanisms.ranks.flipped_quantile import FlippedQuantile
from discreet.mechanisms.ranks.quantile_order import depth, steps
from discreet.mechanisms.ranks.quantiles_with_ends import QuantilesWithEnds
from discreet.mechanisms.ranks.surrounded_quantile import SurroundedQuantile
from discreet.rational import show


def noise_of(mechanism: QuantilesWithEnds, one_unit: str) -> list[str]:
    """The lines about the draws of a measure.

    Args:
        mechanism: of the measure.
        one_unit: how many rows of a unit count, in words.
    """
    lines = [
        f"   one row counts in one leaf, and so do the rows of one unit: {one_unit}",
        "   exponential mechanism on ranks: a leaf is e times less likely for each scale that its rank is off",
    ]
    levels = depth(mechanism.quantiles, mechanism.ends)
    if levels > 1 and not mechanism.ends:
        lines.append(
            f"   {levels} levels of epsilon {show(mechanism.level)}: a quantile splits the rows for those beside it"
        )
    for step in steps(mechanism.quantiles, mechanism.ends):
        number = mechanism.number(step.whole)
        flips = ", by permute-and-flip" if isinstance(number, FlippedQuantile) else ""
        spent = "number and interval in one draw" if mechanism.ends else "the number"
        line = (
            f"   {show(step.whole)} quantile, epsilon {show(mechanism.level)}: all of it for {spent}, at a scale of "
            f"{_rows(number.scale)} rows{flips}"
        )
        if isinstance(number, SurroundedQuantile):
            sure = _rows(Fraction(number.sure, number.q.denominator))
            line += f"; the ends are the narrowest around it that lie {sure} rows beyond the quantile"
        lines.append(line)
    return lines


def _rows(number: Fraction | int) -> str:
    return f"{float(number):,.3g}"
