"""The share of rows or values that a cap or the bounds of a column cut off, as an answer tells it."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from discreet.records import dataclass


@dataclass(frozen=True)
class CutShare:
    """A noisy share with its interval.

    Attributes:
        subject: `rows`, `groups`, or the name of a column.
        by: the cap with its value, or the bounds.
        share: the share that was cut off, from 0 to 1; NaN where noise drowns it.
        low: the lower end of its interval.
        high: the upper end.
        counted: how many rows of a unit were looked at, at most; None where all were that count.
    """

    subject: str
    by: str
    share: float
    low: float
    high: float
    counted: int | None = None

    def __str__(self) -> str:
        """The share in words."""
        whole = self.counted is not None
        subject, cut = (f"the {self.subject}", "dropped by") if whole else (self.subject, "clamped to")
        if math.isnan(self.share) or self.high - self.low >= 1:
            return f"the noise is too large to tell how much of {subject} was {cut} {self.by}"
        error = max(self.share - self.low, self.high - self.share)
        digits = 0 if error >= 0.01 else max(0, -math.floor(math.log10(100 * max(error, 1e-9))))
        said = f"about {100 * self.share:.{digits}f} ± {100 * error:.{digits}f} % of {subject}"
        if not whole:
            return f"{said} was {cut} {self.by}"
        return (
            f"{said} were {cut} {self.by}; {self.subject} of a unit beyond {self.counted:,} are not in this"
        )

    def to_dict(self) -> dict[str, Any]:
        """The share as JSON, None for a number that there is not."""
        numbers = {
            name: None if isinstance(v, float) and math.isnan(v) else v for name, v in asdict(self).items()
        }
        return {**numbers, "text": str(self)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> CutShare:
        """Read a share that `to_dict` wrote."""
        share, low, high = (
            math.nan if data[name] is None else data[name] for name in ("share", "low", "high")
        )
        return cls(data["subject"], data["by"], share, low, high, data["counted"])
