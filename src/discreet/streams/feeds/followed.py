"""A file that is followed by its name: where it was moved away and begun anew, as logs are, the new one comes next."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import IO, Final, cast

from discreet.errors import StreamError

_BOM: Final = b"\xef\xbb\xbf"
_LEAST: Final = 64
"""So many bytes of the old file tell whether it has a header, or is JSON, behind blanks and a byte-order mark."""


class Followed:
    """A binary file that others append to; the files that take its name later are its continuation.

    The old file is read to its end before a new one, which is read once its first line is whole. So the input is that
    of `cat old new`, and so is the place in it.

    Args:
        path: of a plain file.
        lines: whether it holds lines, of which a header must stay the same.

    Raises:
        OSError: it cannot be opened.
    """

    def __init__(self, path: Path, lines: bool) -> None:
        self._path, self._lines = path, lines
        self._file: IO[bytes] = path.open("rb")

    def read1(self, most: int = -1) -> bytes:
        """Bytes that are there; none at the end.

        Raises:
            StreamError: the file became shorter, or the new one has another header.
        """
        return self._read(lambda file: cast("bytes", file.read1(most)))  # type: ignore[attr-defined]

    def readline(self, most: int = -1) -> bytes:
        """The next line, or the part of it that is there.

        Raises:
            StreamError: the file became shorter, or the new one has another header.
        """
        return self._read(lambda file: file.readline(most))

    def read(self) -> bytes:
        """All that is there of this file."""
        return self._file.read()

    def fileno(self) -> int:
        """The number of the file that is open."""
        return self._file.fileno()

    def close(self) -> None:
        """Close it."""
        self._file.close()

    def _read(self, how: Callable[[IO[bytes]], bytes]) -> bytes:
        found = how(self._file)
        after = None if found else self._next()
        if after is None:
            return found
        found = how(self._file)  # bytes that were still written to the old one
        if found:
            after.close()
            return found
        self._file.close()
        self._file = after
        return how(after)

    def _next(self) -> IO[bytes] | None:
        """The file that has taken the name, once it has a whole line; None where it is the same one."""
        here = os.fstat(self._file.fileno())
        if here.st_size < self._file.tell():
            raise StreamError(
                f"The file {self._path} became shorter while it was read, and lines may be lost.",
                "Move a file away and begin a new one, rather than cutting it; then give all files from the first: "
                "cat OLD NEW | discreet stream …",
            )
        try:
            there = os.stat(self._path)
            same = (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)
            if same or not stat.S_ISREG(there.st_mode):  # a pipe would wait for its writer
                return None
            new = self._path.open("rb")
        except OSError:  # there is none yet
            return None
        first = new.readline() if self._lines else new.read(1)
        if not first or (self._lines and not first.endswith(b"\n")):
            new.close()
            return None
        if self._lines:
            old = os.pread(self._file.fileno(), max(len(first), _LEAST), 0)
            json = old.removeprefix(_BOM).lstrip().startswith((b"{", b"#"))
            if old and not json and not old.startswith(first):
                new.close()
                raise StreamError(
                    f"A new file {self._path} begins with another header.",
                    "Name the same columns in its first line.",
                )
        new.seek(0)
        return new
