"""Lines of an input as rows: CSV with a header, or JSON, a row in each line. No row can fail; some lines are none."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any

from discreet.errors import StreamError
from discreet.streams.periods import NO_TIME

TICK = b"#tick "
"""A line that begins so names a time that has come, where ticks are asked for."""


class Lines:
    """The lines of an input, and the place in it.

    Args:
        file: binary, from its first byte.
        follow: whether its end is not the end.
        needed: the columns that a header must name.

    Attributes:
        read: how many bytes were given out as lines, or skipped.
    """

    def __init__(self, file: IO[bytes], follow: bool = False, needed: Iterable[str] = ()) -> None:
        self._file = file
        self._needed = tuple(needed)
        self._follow = follow
        self._hash = hashlib.sha256()
        self._part = b""
        self._names: list[str] | None = None
        self.read = 0

    @property
    def digest(self) -> str:
        """The SHA-256 of these bytes."""
        return self._hash.hexdigest()

    def skip(self, read: int, digest: str) -> None:
        """Skip the bytes that were counted before, but for the header.

        Raises:
            StreamError: they are other ones now.
        """
        while self.read < read and (line := self._file.readline(read - self.read)):
            if self._names is None and line.endswith(b"\n"):
                self._header(line)
            self._took(line)
        if (self.read, self.digest) != (read, digest):
            raise StreamError(
                "The input does not begin with the lines that this stream has counted.",
                "Give the same input from its start, with the new lines behind.",
            )

    def __iter__(self) -> Iterator[bytes]:
        """The next whole lines that are there; where the end is the end, the rest of it too.

        Raises:
            StreamError: the first line is no header, or lacks a column.
        """
        while line := self._file.readline():
            line, self._part = self._part + line, b""
            if self._follow and not line.endswith(b"\n"):
                self._part = line
                return
            self._took(line)
            if self._names is not None or not self._header(line):
                yield line

    def row(self, line: bytes) -> Mapping[str, Any] | None:
        """A line as a row by column; None where it is none."""
        if self._names:
            fields = self.fields(line)
            return None if fields is None else dict(zip(self._names, fields, strict=True))
        try:
            found = json.loads(line.decode("utf-8-sig"))
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None

    def fields(self, line: bytes) -> list[str] | None:
        """A line of CSV as its fields, one for each column; None where it is none."""
        try:
            found = next(csv.reader([line.decode("utf-8-sig")]), [])
        except (ValueError, csv.Error):
            return None
        return found if self._names and len(found) == len(self._names) else None

    def _header(self, line: bytes) -> bool:
        """Read the first line; whether it is a header, which JSON has not.

        Raises:
            StreamError: it is no header, or lacks a column.
        """
        self._names = self._names_of(line)
        return bool(self._names)

    def _names_of(self, line: bytes) -> list[str]:
        """The columns that a first line names; none where it is no header, as of JSON.

        Raises:
            StreamError: it is none, and no JSON, or lacks a column.
        """
        text = line.decode("utf-8-sig", "replace").strip()
        if text.startswith(("{", "#")):
            return []
        try:
            names = next(csv.reader([text]), [])
        except csv.Error:
            names = []
        missing = [name for name in self._needed if name not in names]
        if not names or missing:
            lacks = f" with the column {missing[0]}" if missing else ""
            raise StreamError(
                f"The input does not begin with a header of CSV{lacks}, nor with JSON.",
                "Put the names of the columns into its first line."
                + (f" {NO_TIME}" if missing[:1] == [*self._needed[:1]] else ""),
            )
        return names

    def _took(self, line: bytes) -> None:
        self._hash.update(line)
        self.read += len(line)
