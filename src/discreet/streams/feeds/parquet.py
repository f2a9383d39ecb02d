"""Parquet: a file, or a folder whose files come one after the other by name; a file is counted as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Final

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.errors import StreamError
from discreet.streams.feeds.place import Place
from discreet.streams.feeds.sound import sound

_ROWS: Final = 1 << 17


class ParquetFeed(Place):
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
            raise StreamError("A file is no Parquet.", "Give Parquet, or name another --format.") from None

    def _files(self) -> Iterator[tuple[str, Callable[[], bytes]]]:
        if not isinstance(self._source, Path):
            yield "-", self._source.read
        else:
            for path in sorted(self._source.glob("*.parquet")):
                yield path.name, path.read_bytes
