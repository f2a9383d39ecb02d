"""The place in an input of bytes, and the bytes that are there."""

from __future__ import annotations

import hashlib
import select
from typing import IO, Final

from discreet.errors import StreamError

BLOCK: Final = 1 << 23
"""So many bytes are read at once, where they are there."""


class Place:
    """How many bytes of an input were counted, and their hash.

    Attributes:
        read: how many.
    """

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self.read = 0

    @property
    def digest(self) -> str:
        """The SHA-256 of these bytes."""
        return self._hash.hexdigest()

    def took(self, part: bytes | memoryview) -> None:
        """Count some bytes."""
        self._hash.update(part)
        self.read += len(part)

    def see(self, read: int, digest: str) -> None:
        """See that this is the place.

        Raises:
            StreamError: it is another one.
        """
        if (self.read, self.digest) != (read, digest):
            raise StreamError(
                "The input does not begin with the rows that this stream has counted.",
                "Give the same input from its start, with the new rows behind.",
            )


def more(file: IO[bytes], until: bytes = b"") -> tuple[bytes, bool]:
    """The bytes that are there, at least one, up to about a block; and whether the file has ended.

    Args:
        file: binary.
        until: wait until these are among them.
    """
    parts, size = [], 0
    while True:
        new = file.read1(BLOCK)  # type: ignore[attr-defined]  # binary files of Python have it
        parts.append(new)
        size += len(new)
        if not new or (until in new and (size >= BLOCK or not _ready(file))):
            return b"".join(parts), not new


def _ready(file: IO[bytes]) -> bool:
    """Whether more can be read without waiting."""
    try:
        return bool(select.select([file], [], [], 0)[0])
    except (OSError, ValueError, TypeError):
        return False
