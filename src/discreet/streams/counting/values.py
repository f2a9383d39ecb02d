"""The meaning of one value of a row: as a key or a unit, and as a number. `columns` has the same for whole columns."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.streams.measure import Measure


def text_of(value: object) -> str:
    """A key or a unit as text, equal for equal numbers; empty for a value that is none."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def number_of(value: object) -> int | float | None:
    """A value as a number; None where it is none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = value if isinstance(value, int) else float(value)
    except ValueError:
        return None
    return None if isinstance(number, float) and math.isnan(number) else number


def steps_of(measure: Measure, value: object) -> int | None:
    """The steps of a value, clamped as infinities are; None for a value that is no number."""
    if not measure.column:
        return 1
    number = number_of(value)
    if number is None:
        return None
    if isinstance(number, float) and math.isinf(number):
        return measure.steps(measure.hi if number > 0 else measure.lo)
    return measure.steps(Fraction(number))
