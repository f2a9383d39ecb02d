"""Times written as ISO 8601 in its plain layouts, read for a whole column at once."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from discreet import arrow

if TYPE_CHECKING:
    import pyarrow as pa

    Integers = npt.NDArray[np.int64]
    Mask = npt.NDArray[np.bool_]
    Bytes = npt.NDArray[np.uint8]

EPOCH: Final = dt.datetime(1970, 1, 1)
_DAYS: Final = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31], np.int32)
_LAYOUTS: Final = {
    len(layout): layout
    for layout in (
        "0000-00-00", "0000-00-00T00:00", "0000-00-00T00:00Z", "0000-00-00T00:00:00", "0000-00-00T00:00:00Z",
        "0000-00-00T00:00:00.000", "0000-00-00T00:00:00.000Z", "0000-00-00T00:00:00.000000",
        "0000-00-00T00:00:00.000000Z",
    )
}  # fmt: skip
"""By length; no two have the same one."""


def micro_of(when: dt.datetime) -> int:
    """The microseconds of a time since 1970."""
    since = when - EPOCH
    return (since.days * 86400 + since.seconds) * 10**6 + since.microseconds


def iso_times(texts: pa.StringArray) -> tuple[Integers, Mask]:
    """Microseconds since 1970 of times in plain layouts, in UTC, and which ones these are.

    Args:
        texts: of which those in other layouts, or that are no times, are left to others.

    Example:
        >>> import pyarrow as pa
        >>> [array.tolist() for array in iso_times(pa.array(["1970-01-02", "1970-01-01 00:01", "2026-02-30", "soon"]))]
        [[86400000000, 60000000, 0, 0], [True, True, False, False]]
    """
    _, offsets, data = texts.buffers()
    micro, known = np.zeros(len(texts), np.int64), np.zeros(len(texts), bool)
    if data is None or not len(texts):
        return micro, known
    ends = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    raw = np.frombuffer(data, np.uint8)
    lengths = np.diff(ends)
    valid = arrow.known(texts) if texts.null_count else None
    for length in np.flatnonzero(np.bincount(np.minimum(lengths, 64))):
        layout = _LAYOUTS.get(int(length))
        if layout is None:
            continue
        rows = (
            np.flatnonzero(lengths == length)
            if valid is None
            else np.flatnonzero((lengths == length) & valid)
        )
        if len(rows) == len(texts):
            block = raw[ends[0] : ends[-1]].reshape(-1, length)
        else:
            block = raw[ends[:-1][rows, np.newaxis] + np.arange(length)]
        micro[rows], known[rows] = _read(block, layout)
    return micro, known


def _read(block: Bytes, layout: str) -> tuple[Integers, Mask]:
    """The times of texts of one length."""
    good = np.ones(len(block), bool)
    digit: dict[int, npt.NDArray[np.int32]] = {}
    for position, sign in enumerate(layout):
        here = block[:, position]
        if sign == "0":
            number = here - np.uint8(48)
            good &= number <= 9
            digit[position] = number.astype(np.int32)
        elif sign == "T":
            good &= (here == ord("T")) | (here == ord(" "))
        else:
            good &= here == ord(sign)

    def whole(first: int, last: int) -> npt.NDArray[np.int32]:
        out = np.zeros(len(block), np.int32)
        for position in range(first, min(last, len(layout.rstrip("Z")))):
            out = out * np.int32(10) + digit[position]
        return out

    year, month, day = whole(0, 4), whole(5, 7), whole(8, 10)
    hour, minute, second = whole(11, 13), whole(14, 16), whole(17, 19)
    part = whole(20, 26).astype(np.int64) * (1000 if "." in layout and len(layout) < 26 else 1)
    good &= (year >= 1) & (month >= 1) & (month <= 12) & (hour < 24) & (minute < 60) & (second < 60)
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    good &= (day >= 1) & (day <= _DAYS[np.where(good, month, 0)] + (leap & (month == 2)))
    early = month <= 2  # a year that begins with March has its odd day at its end
    since = year - early
    days = 365 * since + since // 4 - since // 100 + since // 400
    days = days + (153 * (month + np.where(early, 9, -3)) + 2) // 5 + day - 719469
    seconds = days.astype(np.int64) * 86400 + (hour * 3600 + minute * 60 + second)
    return np.where(good, seconds * 10**6 + part, 0), good
