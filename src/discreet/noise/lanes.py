"""Many exact Bernoulli variables at once: compare random digits with the digits of p.

A uniform u in [0, 1) is below p with probability p. u is drawn a word at a time, most significant first,
and compared with the same digits of p: a word below decides 1, a word above decides 0, an equal word
decides nothing and the next word is drawn for that lane. So a lane is 1 with probability exactly p; a lane is
undecided after n digits if u shares its first n digits with p, and then it goes on.

A row of lanes has one column for each p ("plane"). Many rows compare bytes, which spends the fewest random
bits; few rows compare 64-bit words, which hardly ever tie. How many words are drawn depends on ties alone:
given that a word tied, the outcome has yet to be drawn, so the time says nothing about the outcome.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from discreet.noise.digits import Digits
from discreet.noise.entropy import RandomSource, Words
from discreet.records import dataclass

FEW: Final = 512
"""Up to so many rows, 64-bit words are compared; beyond it, bytes."""

BLOCK: Final = 1 << 20
"""Bytes of random words in a block: four arrays of this size stay in cache, and calls of NumPy cost little beside
them."""

_SIGNED: Final[dict[int, type[np.signedinteger]]] = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}


@dataclass(frozen=True, eq=False)
class Thresholds:
    """The probabilities of the planes, cut into words.

    Attributes:
        planes: the digits of each probability.
        width: bits of the first word.
        rest: bits of each further word, drawn only for lanes that are undecided.
    """

    planes: tuple[Digits, ...]
    width: int
    rest: int = 64

    @cached_property
    def first(self) -> Words:
        """The first word of each plane."""
        return _words([digits.word(0, self.width) for digits in self.planes], self.width)

    @cached_property
    def second(self) -> Words:
        """The second word of each plane."""
        return self.further(0)

    def further(self, level: int) -> Words:
        """The word of each plane after the first one and `level` more."""
        start = self.width + level * self.rest
        return _words([digits.word(start, self.rest) for digits in self.planes], self.rest)

    def tile(self, rows: int) -> Words:
        """The first words, repeated for every row: a flat comparison is much faster than a broadcast."""
        return self.first if rows == 1 else np.tile(self.first, rows)


def draw(
    source: RandomSource, thresholds: Thresholds, rows: int, tile: Words | None = None
) -> npt.NDArray[np.bool_]:
    """Return independent bits (rows, planes), those of plane j being 1 with probability p_j.

    Args:
        source: the source of the words.
        thresholds: the probabilities.
        rows: how many rows.
        tile: `thresholds.tile(rows)`, when the caller has it already.
    """
    planes = len(thresholds.planes)
    words = source.words(rows * planes, thresholds.width)
    if tile is None:
        tile = thresholds.tile(rows)
    bits = words < tile
    ties = _places(words == tile)
    level = 0
    while ties.size:
        limits = (thresholds.further(level) if level else thresholds.second)[ties % planes]
        words = source.words(ties.size, thresholds.rest)
        bits[ties] = words < limits
        ties = ties[words == limits]
        level += 1
    return bits.reshape(rows, planes)


def pack(bits: npt.NDArray[np.bool_]) -> npt.NDArray[np.signedinteger]:
    """Read each row of bits (rows, planes) as an integer, plane 0 least significant, in int8 to int64.

    With 8, 16, 32 or 64 planes the last one is the sign of two's complement.
    """
    rows, planes = bits.shape
    size = -(-planes // 8)
    if planes % 8:
        packed = np.packbits(bits, axis=1, bitorder="little").ravel()
    else:
        packed = np.packbits(bits.ravel(), bitorder="little")
    if size in (1, 2, 4, 8):
        whole: npt.NDArray[np.signedinteger] = packed.view(_SIGNED[size])
        return whole
    wide = np.zeros(rows, np.int64)
    for place, column in enumerate(packed.reshape(rows, size).T):
        wide.view(np.uint8)[place::8] = column
    return wide


def _places(ties: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
    """Where a flat array is true. Few places are, so eight are looked at together."""
    if ties.size < 64 or ties.size % 8:
        return np.flatnonzero(ties)
    eights = ties.view(np.uint64)
    hit = np.flatnonzero(eights != 0)
    inside = np.flatnonzero(eights[hit].view(np.bool_))
    places: npt.NDArray[np.intp] = hit[inside >> 3] * 8 + (inside & 7)
    return places


def _words(values: list[int], width: int) -> Words:
    return np.array(values, np.uint8 if width <= 8 else np.uint64)
