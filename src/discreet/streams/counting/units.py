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
        *(int.from_bytes(padded[at : at + 4], "little") for at in range(0, len(padded), 4)),
    ]
    out = b""
    for numbers in _numbers(key).tolist():
        whole = sum(number * word for number, word in zip(numbers, words, strict=False))
        out += (whole >> 32 & 0xFFFFFFFF).to_bytes(4, "little")
    return out


def digests_of(key: bytes, units: pa.StringArray) -> list[bytes]:
    """The 16 bytes of each unit of a column without missing values; the same as `digest_of`."""
    _, offsets, data = units.buffers()
    out = np.zeros((len(units), _PARTS), np.uint32)
    if data is None or not len(units):
        return _listed(out)
    ends = np.frombuffer(offsets, np.int32)[units.offset : units.offset + len(units) + 1]
    # So that words may be read beyond the last text.
    raw = np.concatenate([np.frombuffer(data, np.uint8)[: ends[-1]], np.zeros(LONGEST_UNIT + 4, np.uint8)])
    lengths = np.diff(ends)
    for length in np.flatnonzero(np.bincount(np.minimum(lengths, LONGEST_UNIT + 1))):
        rows = (
            np.flatnonzero(lengths == length)
            if length <= LONGEST_UNIT
            else np.flatnonzero(lengths > LONGEST_UNIT)
        )
        if length > LONGEST_UNIT:
            for row in rows:
                digest = _long(key, raw[ends[row] : ends[row + 1]].tobytes())
                out[row] = np.frombuffer(digest, "<u4")
        else:
            out[rows] = _short(key, raw, ends[:-1][rows], int(length))
    return _listed(out)


def _short(key: bytes, raw: npt.NDArray[np.uint8], begins: npt.NDArray[np.int32], length: int) -> Any:
    """The hashes of texts of one length."""
    numbers = _numbers(key)
    made = np.empty((len(begins), _PARTS), np.uint64)
    made[:] = numbers[:, 0] + numbers[:, 1] * np.uint64(length)
    for at in range(0, length, 4):
        word = np.zeros(len(begins), np.uint64)
        for byte in range(min(4, length - at)):
            word |= raw[begins + (at + byte)].astype(np.uint64) << np.uint64(8 * byte)
        for part in range(_PARTS):
            made[:, part] += word * numbers[part, 2 + at // 4]
    return made >> np.uint64(32)


def _listed(hashes: npt.NDArray[np.uint32]) -> list[bytes]:
    found: list[bytes] = np.ascontiguousarray(hashes, "<u4").view("V16").ravel().tolist()
    return found


@lru_cache(maxsize=8)
def _numbers(key: bytes) -> npt.NDArray[np.uint64]:
    """The random numbers of a key, (parts, words)."""
    text = hashlib.shake_256(key).digest(8 * _PARTS * _WORDS)
    return np.frombuffer(text, "<u8").reshape(_PARTS, _WORDS).astype(np.uint64)


def _long(key: bytes, text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=16, key=key[:64]).digest()
