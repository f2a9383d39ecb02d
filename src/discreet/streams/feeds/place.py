"""The place in an input of bytes, and the bytes that are there."""

from __future__ import annotations

import hashlib
import select
from typing import IO, Final

from discreet.errors import StreamError

BLOCK: Final = 1 << 23
"""So many bytes are read at once, where they are there."""


class FeedPosition:
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


class Again:
    """A binary file of which some bytes were read, which come again."""

    def __init__(self, ahead: bytes, file: IO[bytes]) -> None:
        self._ahead, self._file = ahead, file

    def readline(self, most: int = -1) -> bytes:
        """The next line, or the part of it that was there."""
        if not self._ahead:
            return self._file.readline(most)
        end = self._ahead.find(b"\n") + 1 or len(self._ahead)
        return self._taken(end if most < 0 else min(end, most))

    def read1(self, most: int) -> bytes:
        """Bytes that are there."""
        return self._taken(most) if self._ahead else self._file.read1(most)  # type: ignore[attr-defined]

    def read(self) -> bytes:
        """All that is left."""
        return self._taken(len(self._ahead)) + self._file.read()

    def fileno(self) -> int:
        """The number of the file; none while bytes are ahead, which need no waiting."""
        if self._ahead:
            raise OSError
        return self._file.fileno()

    def _taken(self, most: int) -> bytes:
        out, self._ahead = self._ahead[:most], self._ahead[most:]
        return out


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
