"""Dates and time stamps that Python cannot hold: before the year 1, after 9999, and the infinities of databases.

DuckDB and PostgreSQL have them, so a group that is found may have one for its key. Here they are integers that are
shown as text; everything that Python can hold stays a date. Intervals of time, which it cannot hold either, are texts
wherever they are shown.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from discreet.records import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

DAY = 86_400_000_000
FIRST_DAY = dt.date.min.toordinal() - dt.date(1970, 1, 1).toordinal()
LAST_DAY = dt.date.max.toordinal() - dt.date(1970, 1, 1).toordinal()
_MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}
"""Of the units of a time stamp; nanoseconds reach from 1677 to 2262."""
INFINITE_DAY, INFINITE_MOMENT = 2**31 - 1, 2**63 - 1
"""How Arrow tables of DuckDB hold `infinity`, as a date and as a time stamp; with a minus the other one."""


@dataclass(frozen=True, order=True)
class FarDate:
    """A date, or a time stamp, beyond the range of Python's.

    Attributes:
        count: days or microseconds since 1970.
        day: whether it is a date.
        utc: whether it is a moment of a time zone, which is UTC then.

    Example:
        >>> str(FarDate(INFINITE_DAY, True)), str(FarDate(-800_000, True)), str(FarDate(72_328_972, True))
        ('infinity', '0222-09-04 (BC)', '200000-01-01')
        >>> str(FarDate(2**62, False))
        '148108-07-06 14:00:27.387904'
    """

    count: int
    day: bool
    utc: bool = False

    def __str__(self) -> str:
        date, time, before = self._parts()
        zone = "+00:00" if self.utc and time else ""
        return f"{date}{' (BC)' if before else ''}{time}{zone}"  # as DuckDB writes it

    def isoformat(self) -> str:
        """The date as text, by the name of the method that Python's dates have."""
        return str(self)

    def sql(self) -> str:
        """As PostgreSQL reads it."""
        date, time, before = self._parts()
        return f"{date}{time}{' BC' if before else ''}"

    def _parts(self) -> tuple[str, str, bool]:
        """The date, the time of day, and whether it is before the year 1."""
        end = INFINITE_DAY if self.day else INFINITE_MOMENT
        if abs(self.count) == end:
            return "infinity" if self.count > 0 else "-infinity", "", False
        days, rest = (self.count, 0) if self.day else divmod(self.count, DAY)
        year, month, day = _civil(days)
        date, time = f"{year if year > 0 else 1 - year:04}-{month:02}-{day:02}", ""
        if not self.day:
            seconds, micros = divmod(rest, 1_000_000)
            time = f" {seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
            time += f".{micros:06}" if micros else ""
        return date, time, year <= 0


def _civil(days: int) -> tuple[int, int, int]:
    """Year, month and day of the Gregorian calendar without end, the year 0 being 1 BC (H. Hinnant)."""
    days += 719_468
    era, of_era = divmod(days, 146_097)
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    month += 3 if month < 10 else -9
    return year + era * 400 + (month <= 2), month, day


def values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The values of a column; a date that Python cannot hold is `FarDate`.

    Example:
        >>> import pyarrow as pa
        >>> [str(one) for one in values(pa.array([0, None, 2**31 - 1], pa.int32()).cast(pa.date32()))]
        ['1970-01-01', 'None', 'infinity']
    """
    raw = _integers(column)
    if raw is None or not any(map(_is_far, raw, [column.type] * len(raw))):
        return _inside(column) if _holds_moments(column.type) else list(column.to_pylist())
    day, utc = _is_day(column.type), not _is_day(column.type) and column.type.tz is not None
    return [
        None
        if count is None
        else FarDate(count, day, utc)
        if _is_far(count, column.type)
        else _near(count, day, utc)
        for count in raw
    ]


def in_microseconds(column: pa.ChunkedArray) -> pa.Array:
    """A column of time stamps, by the microsecond; the infinities stay so."""
    import pyarrow as pa

    return pa.array(_integers(column), pa.int64()).view(pa.timestamp("us", column.type.tz))


def _holds_moments(kind: pa.DataType) -> bool:
    """Whether the values of a type are made of others, some of them dates or time stamps."""
    import pyarrow as pa

    inside = [kind.field(index).type for index in range(kind.num_fields)] if pa.types.is_nested(kind) else []
    return any(
        pa.types.is_date32(item) or pa.types.is_timestamp(item) or _holds_moments(item) for item in inside
    )


def _inside(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The values of a column that are made of others, as PyArrow gives them, with `FarDate` in them."""
    import pyarrow as pa

    kind = column.type
    if isinstance(column, pa.ChunkedArray):
        return [value for chunk in column.chunks for value in _inside(chunk)]
    if pa.types.is_struct(kind):
        parts = [values(column.field(index)) for index in range(kind.num_fields)]
        names = [kind.field(index).name for index in range(kind.num_fields)]
        rows: list[Any] = [dict(zip(names, row, strict=True)) for row in zip(*parts, strict=True)]
        return [
            row if there else None for row, there in zip(rows, column.is_valid().to_pylist(), strict=True)
        ]
    if pa.types.is_union(kind):
        return list(column.to_pylist())
    held = [values(item.values) if item.is_valid else None for item in column]
    if pa.types.is_map(kind):
        return [item if item is None else [(pair["key"], pair["value"]) for pair in item] for item in held]
    return held


def _has_far(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_has_far, value.values()))
    return any(map(_has_far, value)) if isinstance(value, list | tuple) else isinstance(value, FarDate)


def _in_words(value: Any) -> Any:
    """The same with text in place of the dates in it."""
    if isinstance(value, dict):
        return {name: _in_words(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_in_words(item) for item in value]
    return str(value) if isinstance(value, FarDate | dt.date) else value


def integer(value: object) -> int:
    """Days since 1970 of a date, or microseconds of a time stamp."""
    if isinstance(value, FarDate):
        return value.count
    if isinstance(value, dt.datetime):
        return (value - dt.datetime(1970, 1, 1, tzinfo=value.tzinfo and dt.UTC)) // dt.timedelta(
            microseconds=1
        )
    assert isinstance(value, dt.date)
    return value.toordinal() - dt.date(1970, 1, 1).toordinal()


def is_far(column: pa.Array | pa.ChunkedArray) -> bool:
    """Whether a column holds a date or time stamp that Python cannot hold."""
    return any(map(_has_far, values(column))) if _may_be_far(column) or _holds_moments(column.type) else False


def shown(table: pa.Table, intervals: bool = True) -> pa.Table:
    """The table with text in place of the columns that hold a date beyond Python's range, intervals of time or unions.

    Args:
        table: any.
        intervals: whether those are texts, too.
    """
    import pyarrow as pa

    for index, name in enumerate(table.column_names):
        column = table.column(index)
        far = is_far(column)
        if far and pa.types.is_nested(column.type):
            table = table.set_column(index, name, pa.array(list(map(_in_words, values(column)))))
            continue
        if far:
            texts = [None if value is None else str(value) for value in values(column)]
        elif intervals and pa.types.is_interval(column.type):
            texts = [None if value is None else interval_text(value) for value in column.to_pylist()]
        elif pa.types.is_union(column.type):
            texts = [None if value is None else str(value) for value in column.to_pylist()]
        else:
            continue
        table = table.set_column(index, name, pa.array(texts, pa.string()))
    return table


def interval_text(value: Any) -> str:
    """An interval of time in words, as DuckDB writes it.

    Args:
        value: months, days and nanoseconds, as PyArrow gives them.

    Example:
        >>> interval_text((14, 3, 3_723_000_000_000)), interval_text((0, -1, 0)), interval_text((0, 0, 0))
        ('1 year 2 months 3 days 01:02:03', '-1 day', '00:00:00')
    """
    months, days, rest = value
    years, months = (-part if months < 0 else part for part in divmod(abs(months), 12))
    counts = {"year": years, "month": months, "day": days}
    words = [f"{count} {unit}{'' if abs(count) == 1 else 's'}" for unit, count in counts.items() if count]
    if rest or not words:
        seconds, micros = divmod(abs(rest) // 1000, 1_000_000)
        time = f"{'-' if rest < 0 else ''}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        words.append(f"{time}.{micros:06}".rstrip("0") if micros else time)
    return " ".join(words)


def listed(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Dates or time stamps, some of them `FarDate`, as an Arrow array."""
    import pyarrow as pa

    raw = [None if value is None else integer(value) for value in values]
    return pa.array(raw, pa.int32() if _is_day(kind) else pa.int64()).view(kind)


def _is_day(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_date32(kind))


def _integers(column: pa.Array | pa.ChunkedArray) -> list[int | None] | None:
    """Days or microseconds; None for a column of another type."""
    import pyarrow as pa

    if not _may_be_far(column):
        return None
    wide, times = (pa.int32(), 1) if _is_day(column.type) else (pa.int64(), _MICROSECONDS[column.type.unit])
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    found = [value for chunk in chunks for value in chunk.view(wide).to_pylist()]
    if times == 1:
        return found
    return [value if value is None or abs(value) == INFINITE_MOMENT else value * times for value in found]


def _may_be_far(column: pa.Array | pa.ChunkedArray) -> bool:
    import pyarrow as pa

    return _is_day(column.type) or (pa.types.is_timestamp(column.type) and column.type.unit in _MICROSECONDS)


def _is_far(count: int | None, kind: pa.DataType) -> bool:
    if count is None:
        return False
    return not FIRST_DAY <= (count if _is_day(kind) else count // DAY) <= LAST_DAY


def _near(count: int, day: bool, utc: bool) -> dt.date:
    if day:
        return dt.date(1970, 1, 1) + dt.timedelta(days=count)
    return dt.datetime(1970, 1, 1, tzinfo=dt.UTC if utc else None) + dt.timedelta(microseconds=count)
