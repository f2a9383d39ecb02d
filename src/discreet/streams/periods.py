"""The periods of a stream: intervals of a public clock, which no row moves."""

from __future__ import annotations

import datetime as dt
from typing import Final

from discreet.errors import InvalidParameter
from discreet.records import dataclass

EVERY: Final = {"minute": 60, "hour": 3600, "day": 86400, "week": 7 * 86400}
"""The lengths of periods, in seconds; a month has its own rule."""
NO_TIME: Final = 'Name the column that holds the time of a row, such as time="seen_at".'
"""The fix where the column of the time is not there: it is called `time` unless another one is named."""
_EPOCH: Final = dt.datetime(1970, 1, 1)


@dataclass(frozen=True)
class Periods:
    """Periods in a row.

    Attributes:
        start: of the first one, in UTC.
        every: `minute`, `hour`, `day`, `week` or `month`.
        count: how many there are.

    Raises:
        InvalidParameter: `every` has another name, or a month does not begin with its first day.

    Example:
        >>> days = Periods(dt.datetime(2026, 1, 1), "day", 365)
        >>> days.of(dt.datetime(2026, 1, 2, 9, 30)), days.of(dt.datetime(2025, 12, 31)), days.label(2)
        (2, None, '2026-01-02')
        >>> days.ended(dt.datetime(2026, 1, 3))
        2
    """

    start: dt.datetime
    every: str
    count: int

    def __post_init__(self) -> None:
        if self.every != "month" and self.every not in EVERY:
            raise InvalidParameter(
                f"No period has the name {self.every}.", f"Choose from {', '.join([*EVERY, 'month'])}."
            )
        if self.every == "month" and (self.start.day, self.start.time()) != (1, dt.time()):
            raise InvalidParameter("A month does not begin there.", "Begin with its first day.")

    def of(self, when: dt.datetime) -> int | None:
        """The period of a time, from 1; None outside of all."""
        place = self._place(when)
        return place + 1 if 0 <= place < self.count else None

    def ended(self, now: dt.datetime) -> int:
        """How many periods have ended at a time."""
        return max(0, min(self.count, self._place(now)))

    def begin(self, t: int) -> dt.datetime:
        """When a period begins; the last moment that there is, where it is later.

        Example:
            >>> Periods(dt.datetime(2026, 11, 1), "month", 9).begin(3).isoformat()
            '2027-01-01T00:00:00'
        """
        try:
            if self.every == "month":
                years, month = divmod(self.start.month - 1 + t - 1, 12)
                return self.start.replace(year=self.start.year + years, month=month + 1)
            return self.start + dt.timedelta(seconds=(t - 1) * EVERY[self.every])
        except (ValueError, OverflowError):
            return dt.datetime.max

    def label(self, t: int) -> str:
        """The begin of a period, as short as its length allows."""
        if self.every == "month":
            months = self.start.year * 12 + self.start.month - 1 + t - 1
            return f"{months // 12:04}-{months % 12 + 1:02}"
        begin = self.start + dt.timedelta(seconds=(t - 1) * EVERY[self.every])
        whole_days = begin.time() == dt.time() and EVERY[self.every] % 86400 == 0
        return begin.date().isoformat() if whole_days else begin.isoformat(timespec="minutes")

    def _place(self, when: dt.datetime) -> int:
        if self.every == "month":
            return (when.year - self.start.year) * 12 + when.month - self.start.month
        return (when - self.start) // dt.timedelta(seconds=EVERY[self.every])


def time_of(value: object) -> dt.datetime | None:
    """Read a time of a row: ISO 8601, in UTC where it names no zone, or seconds since 1970. None for all else.

    Example:
        >>> time_of("2026-01-02T03:04+01:00"), time_of("soon"), time_of(86400)
        (datetime.datetime(2026, 1, 2, 2, 4), None, datetime.datetime(1970, 1, 2, 0, 0))
    """
    try:
        if isinstance(value, str):
            when = dt.datetime.fromisoformat(value.strip())
            return when.astimezone(dt.UTC).replace(tzinfo=None) if when.tzinfo else when
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _EPOCH + dt.timedelta(seconds=value)
    except (ValueError, OverflowError):
        pass
    return None
