"""Units in the state of a stream: 16 bytes each, by a hash with a random key, one by one or for a whole column.

If two units had the same 16 bytes they would share one bound, and one of them could move the rows of the other. The
hash makes that a matter of chance alone. A text of up to 60 bytes is a vector of 32-bit words, its length and then its
bytes, and each of the four parts of its hash is ((a_0 + a_1 x_1 + ... + a_n x_n) mod 2^64) div 2^32 with random 64-bit
numbers a of its own: strongly universal, so two texts agree in a part with probability 2^-32, and in all four with
2^-128, over the key, for any two texts (Dietzfelbinger 1996, theorem 3; Thorup 2015, section 3.3). The numbers
stand in for random ones: they are SHAKE-256 of a key that the operating system drew. A longer text is hashed by keyed
BLAKE2b.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    Digests = npt.NDArray[np.uint64]

LONGEST_UNIT: Final = 60
_PARTS: Final = 4
_WORDS: Final = LONGEST_UNIT // 4 + 2
"""The constant, the length, and the bytes."""


def digest_of(key: bytes, unit: str) -> bytes:
    """The 16 bytes of a unit.

    Example:
        >>> digest_of(b"key", "p1") == digest_of(b"key", "p1"), digest_of(b"key", "p1") == digest_of(b"key", "p2")
        (True, False)
    """
    text = unit.encode("utf-8", "surrogatepass")
    if len(text) > LONGEST_UNIT:
        return _long(key, text)
    padded = text + bytes(-len(text) % 4)
    words = [
        1,
        len(text),
        *(int.from_bytes(padded[offset : offset + 4], "little") for offset in range(0, len(padded), 4)),
    ]
    out = b""
    for numbers in _numbers(key).tolist():
        whole = sum(number * word for number, word in zip(numbers, words, strict=False))
        out += (whole >> 32 & 0xFFFFFFFF).to_bytes(4, "little")
    return out


def digests_of(key: bytes, units: pa.StringArray) -> Digests:
    """The 16 bytes of each unit of a column without missing values, as uint64 (n, 2); the same as `digest_of`."""
    return digests_at(key, units, np.arange(len(units)))


def digests_at(key: bytes, units: pa.StringArray, places: npt.NDArray[np.int64]) -> Digests:
    """The 16 bytes of the units at some places, which may come more than once, as uint64 (places, 2)."""
    if len(units) < len(places):
        return digests_of(key, units).take(places, axis=0)
    _, offsets, data = units.buffers()
    out = np.zeros((len(places), _PARTS), np.uint32)
    if not len(places):
        return out.view(np.uint64)
    ends = np.frombuffer(offsets, np.int32)[units.offset : units.offset + len(units) + 1]
    # So that words may be read beyond the last text.
    there = np.frombuffer(b"" if data is None else data, np.uint8)[: ends[-1]]
    raw = np.concatenate([there, np.zeros(LONGEST_UNIT + 4, np.uint8)])
    begins = ends[places]
    lengths = ends[places + 1] - begins
    sizes = np.minimum(lengths, LONGEST_UNIT + 1)
    for length in np.flatnonzero(np.bincount(sizes)):
        rows = np.flatnonzero(sizes == length)
        if length > LONGEST_UNIT:
            for row in rows:
                digest = _long(key, raw[begins[row] : begins[row] + lengths[row]].tobytes())
                out[row] = np.frombuffer(digest, "<u4")
        else:
            out[rows] = _short(key, raw, begins[rows], int(length))
    return np.ascontiguousarray(out, "<u4").view("<u8").astype(np.uint64, copy=False)


def _short(key: bytes, raw: npt.NDArray[np.uint8], begins: npt.NDArray[np.int32], length: int) -> Any:
    """The hashes of texts of one length."""
    numbers = _numbers(key)
    words = np.ndarray((len(raw) - 3,), "<u4", raw.data, strides=(1,))  # one begins at each byte
    made = np.empty((_PARTS, len(begins)), np.uint64)
    made[:] = (numbers[:, 0] + numbers[:, 1] * np.uint64(length))[:, np.newaxis]
    for offset in range(0, length, 4):
        word = words[begins + offset]
        if length - offset < 4:
            word = word & np.uint32((1 << 8 * (length - offset)) - 1)
        wide = word.astype(np.uint64)
        for part in range(_PARTS):
            made[part] += wide * numbers[part, 2 + offset // 4]
    return (made >> np.uint64(32)).T


@lru_cache(maxsize=8)
def _numbers(key: bytes) -> npt.NDArray[np.uint64]:
    """The random numbers of a key, (parts, words)."""
    text = hashlib.shake_256(key).digest(8 * _PARTS * _WORDS)
    return np.frombuffer(text, "<u8").reshape(_PARTS, _WORDS).astype(np.uint64)


def _long(key: bytes, text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=16, key=key[:64]).digest()
