"""The words and marks of groups in pictures of a release: those without an answer, and those that noise explains."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any, Final

from discreet.escaping import picture

GROUND: Final = "#9a9a9a"
PALE: Final = "#dedcd8"
CROSS: Final = "\N{MULTIPLICATION SIGN}"
EXPLAINED: Final = "the noise alone could have made it"
NONE: Final = f"{CROSS} no answer"


def ordered(value: Any) -> bool:
    """Whether values of this kind are points on an axis."""
    return isinstance(value, int | float | dt.date) and not isinstance(value, bool)


def text(value: Any) -> str:
    """A key, in words."""
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else picture(str(value))


def number_format(ends: Sequence[float]) -> str:
    """How numbers are written on an axis: whole while that is short."""
    return "~s" if max(map(abs, ends), default=0.0) >= 100_000 else ",~f"


def explained(row: Mapping[str, Any], name: str, reach: float = 1.0) -> bool:
    """Whether the noise alone could have made a number of a map: zero lies within its reach."""
    value, low, high = (row.get(f"{field} {name}") for field in "vlh")
    if value is None or low is None or high is None:
        return False
    return bool(value - reach * (value - low) <= 0 <= value + reach * (high - value))
