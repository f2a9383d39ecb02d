"""Parquet: a file, or a folder whose files come one after the other by name; a file is counted as a whole."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Final

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.errors import StreamError
from discreet.streams.counting.columns import see_types
from discreet.streams.feeds.place import FeedPosition
from discreet.streams.feeds.sound import sound

_ROWS: Final = 1 << 17


class ParquetFeed(FeedPosition):
    """The row groups of files, and the place behind the last file.

    Args:
        source: a folder, into which more files may be moved when they are whole, or an open binary file.
        needed: the columns that are read.
    """

    def __init__(self, source: Path | IO[bytes], needed: list[str]) -> None:
        super().__init__()
        self._source = source
        self._needed = needed
        self._done: list[str] = []

    def look(self) -> None:
        """See, before a charge, that the first file has the columns; a folder may have no file yet.

        Raises:
            StreamError: it is no Parquet, or lacks a column.
        """
        if not isinstance(self._source, Path):
            text = self._source.read()
            self._source = io.BytesIO(text)
            opened: Path | io.BytesIO = io.BytesIO(text)
        else:
            path = next(iter(sorted(self._source.glob("*.parquet"))), None)
            if path is None:
                return
            opened = path
        try:
            schema = pq.read_schema(opened)
        except (pa.ArrowException, OSError):
            raise _none() from None
        see_types(schema, self._needed[0], self._needed[1:])

    def skip(self, read: int, digest: str) -> None:
        """Skip the files that were counted before.

        Raises:
            StreamError: they are other ones now.
        """
        for name, opened in self._files():
            if self.read >= read:
                break
            self.took(opened())
            self._done.append(name)
        self.see(read, digest)

    def pieces(self) -> Iterator[pa.Table]:
        """The rows of the files that are there.

        Raises:
            StreamError: a file is no Parquet or lacks a column, or comes before one that was counted.
        """
        for name, opened in self._files():
            if name in self._done:
                continue
            if self._done and name < self._done[-1]:
                raise StreamError(
                    f"The file {name} comes before one that was counted.", "Name files in the order of time."
                )
            text = opened()
            self._done.append(name)
            self.took(text)
            yield from self._rows(text)

    def _rows(self, text: bytes) -> Iterator[pa.Table]:
        try:
            file = pq.ParquetFile(pa.BufferReader(text))
            names = [name for name in self._needed if name in file.schema_arrow.names]
            for batch in file.iter_batches(_ROWS, columns=names, use_threads=False):
                yield sound(pa.Table.from_batches([batch]))
        except (pa.ArrowException, OSError):
            raise _none() from None

    def _files(self) -> Iterator[tuple[str, Callable[[], bytes]]]:
        if not isinstance(self._source, Path):
            yield "-", self._source.read
        else:
            for path in sorted(self._source.glob("*.parquet")):
                yield path.name, path.read_bytes


def _none() -> StreamError:
    return StreamError("A file is no Parquet.", "Give Parquet, or name another --format.")
