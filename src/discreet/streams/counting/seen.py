"""How many rows of each unit were counted: a hash table in arrays, for one row or for a whole column at once.

Two million units in a dictionary of Python are as many objects, each somewhere else in memory, and most of the time of
counting went into waiting for them. Here a unit is 16 bytes in one array and its rows are a number in another; places
are tried in the steps of double hashing, and at least half of them are free.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Integers = npt.NDArray[np.int64]
    Mask = npt.NDArray[np.bool_]
    Digests = npt.NDArray[np.uint64]

_PIECE: Final = 1 << 16
"""So many rows are looked up at once."""
_MIXED: Final = 0x9E3779B97F4A7C15
"""An odd number whose high bits of a product depend on all bits of the other factor (Knuth 1973, section 6.4)."""
_WORD: Final = (1 << 64) - 1


class Seen(Mapping[bytes, int]):
    """The rows of each unit that were counted, by its 16 bytes.

    Privacy: the rows of one unit that count are the first `most` of its own, in the order of the input; other units do
    not move them.

    Args:
        units: uint64 (n, 2), distinct; that were counted before.
        rows: int64 (n,), at least 1; how many rows of each.

    Example:
        >>> seen = Seen()
        >>> seen.first(np.array([[7, 7], [8, 8], [7, 7], [7, 7]], np.uint64), 2).tolist(), len(seen)
        ([True, True, True, False], 2)
    """

    def __init__(self, units: Digests | None = None, rows: Integers | None = None) -> None:
        self._empty(1 << 10)
        if units is not None and rows is not None:
            self._put(units, rows)

    def first(self, units: Digests, most: int) -> Mask:
        """Which rows are among the first of their units, counting those seen before; and remember them.

        Args:
            units: uint64 (n, 2), the unit of each row.
            most: so many rows of each unit are counted.
        """
        out = np.empty(len(units), bool)
        for begin in range(0, len(units), _PIECE):
            out[begin : begin + _PIECE] = self._first(units[begin : begin + _PIECE], most)
        return out

    def admit(self, unit: bytes, most: int) -> bool:
        """The same for one row."""
        self._room(1)
        place = self._place(unit)
        if not self._rows[place]:
            self._low[place], self._high[place] = _words(unit)
            self._used += 1
        if self._rows[place] >= most:
            return False
        self._rows[place] += 1
        return True

    def kept(self) -> tuple[Digests, Integers]:
        """The units and their rows, in no order."""
        full = np.flatnonzero(self._rows)
        return np.stack([self._low[full], self._high[full]], axis=1), self._rows[full]

    def __len__(self) -> int:
        return self._used

    def __iter__(self) -> Iterator[bytes]:
        text = self.kept()[0].astype("<u8").tobytes()
        return iter([text[offset : offset + 16] for offset in range(0, len(text), 16)])

    def __getitem__(self, unit: bytes) -> int:
        rows = int(self._rows[self._place(unit)])
        if not rows:
            raise KeyError(unit)
        return rows

    def _place(self, unit: bytes) -> int:
        """The place of a unit, or the free one that it would have."""
        low, high = _words(unit)
        place = (low * _MIXED & _WORD) >> (65 - len(self._rows).bit_length())
        while self._rows[place] and (int(self._low[place]), int(self._high[place])) != (low, high):
            place = (place + (high | 1)) & (len(self._rows) - 1)
        return place

    def _first(self, units: Digests, most: int) -> Mask:
        places = self._places(units)
        before = self._rows[places]
        np.add.at(self._rows, places, 1)
        after = self._rows[places]
        counted: Mask = before < most
        over = after > most
        if over.any():
            self._rows[places] = np.maximum(before, np.minimum(after, most))
            # Only units that are filled up here need the order of their rows.
            crossing = np.flatnonzero(counted & over)
            counted[crossing] = before[crossing] + _ranks(places[crossing]) < most
        return counted

    def _places(self, units: Digests) -> Integers:
        """The place of each unit; that of a new one has no rows yet."""
        self._room(len(units))
        bits = np.uint64(65 - len(self._rows).bit_length())
        low, high = units[:, 0].copy(), units[:, 1].copy()
        places = (low * np.uint64(_MIXED) >> bits).astype(np.int64)
        probes, left = places, np.arange(len(units))
        new = []
        while left.size:
            free = np.flatnonzero(self._rows[probes] == 0)
            if free.size:
                # One of the units that want a free place has it: the one whose mark is there in the end.
                marks = -1 - left[free]
                self._rows[probes[free]] = marks
                won = free[self._rows[probes[free]] == marks]
                taken = probes[won]
                self._low[taken], self._high[taken] = low[won], high[won]
                new.append(taken)
            wrong = np.flatnonzero((self._low[probes] != low) | (self._high[probes] != high))
            left, low, high = left[wrong], low[wrong], high[wrong]
            probes = (probes[wrong] + (high | np.uint64(1)).astype(np.int64)) & (len(self._rows) - 1)
            places[left] = probes
        for claimed in new:
            self._rows[claimed] = 0
            self._used += len(claimed)
        return places

    def _room(self, more: int) -> None:
        """Make room for so many more units, so that half of the places stay free."""
        if 2 * (self._used + more) <= len(self._rows):
            return
        units, rows = self.kept()
        size = 1 << (2 * (self._used + more) - 1).bit_length()
        self._empty(size)
        self._put(units, rows)

    def _empty(self, size: int) -> None:
        self._used = 0
        self._low, self._high = np.zeros(size, np.uint64), np.zeros(size, np.uint64)
        self._rows: Integers = np.zeros(size, np.int64)

    def _put(self, units: Digests, rows: Integers) -> None:
        self._room(len(units))
        for begin in range(0, len(units), _PIECE):
            piece = slice(begin, begin + _PIECE)
            self._rows[self._places(units[piece])] = rows[piece]


def _words(unit: bytes) -> tuple[int, int]:
    return int.from_bytes(unit[:8], "little"), int.from_bytes(unit[8:], "little")


def _ranks(groups: Integers) -> Integers:
    """How many earlier entries each has that are equal to it."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    begins = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    out = np.empty(len(groups), np.int64)
    out[order] = np.arange(len(groups)) - np.repeat(begins, np.diff(np.r_[begins, len(groups)]))
    return out
