"""Batches of Arrow: IPC streams, one behind the other, or one file of IPC; from stdin or from a file that grows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Final

import pyarrow as pa
import pyarrow.ipc

from discreet.errors import StreamError
from discreet.streams.counting.columns import see_types
from discreet.streams.feeds.place import FeedPosition, more
from discreet.streams.feeds.sound import sound

_MAGIC: Final = b"ARROW1\0\0"
_MARK: Final = b"\xff\xff\xff\xff"
_END: Final = _MARK + bytes(4)


class ArrowFeed(FeedPosition):
    """The batches of an input, and the place behind the last one.

    Args:
        file: binary, from its first byte.
        follow: whether its end is not the end.
        needed: the columns that are read.
    """

    def __init__(self, file: IO[bytes], follow: bool, needed: list[str]) -> None:
        super().__init__()
        self._file = file
        self._follow = follow
        self._needed = needed
        self._rest, self._at = b"", 0
        self._wanted = 0
        self._ended = False  # behind the batches of a file there is a footer
        self._one_file = False
        self._schema: pa.Schema | None = None
        self._head = b""
        """The messages with the schema and the dictionaries."""

    def look(self) -> None:
        """See, before a charge, that the schema has the columns; a file may have none yet.

        Raises:
            StreamError: the input is no Arrow, or lacks a column.
        """
        while (size := self._first()) is None:
            new, ended = more(self._file)
            self._rest += new
            if ended and not new:
                if self._follow or not self._rest:
                    return
                raise _broken("ends within its schema")
        begin = len(_MAGIC) if self._rest.startswith(_MAGIC) else 0
        try:
            schema = pa.ipc.read_schema(pa.py_buffer(self._rest[begin:size]))
        except (pa.ArrowException, OSError, UnicodeError):
            raise _broken("has a schema that cannot be read") from None
        see_types(schema, self._needed[0], self._needed[1:])

    def _first(self) -> int | None:
        """Where the first message ends; None where it is not there yet."""
        begin = 8 if self._rest.startswith(_MAGIC) else 0
        if len(self._rest) < begin + 8:
            return None
        self._at, before = begin, self.read
        try:
            size = self._size()
        finally:
            self._at, self.read = 0, before
        return None if size is None else begin + size

    def skip(self, read: int, digest: str) -> None:
        """Skip the batches that were counted before.

        Raises:
            StreamError: they are other ones now.
        """
        if read:
            for _ in self._messages(read):
                pass
        self.see(read, digest)

    def pieces(self) -> Iterator[pa.Table]:
        """The batches that are there, up to the end of the input as it stands; the place is behind each one.

        Raises:
            StreamError: the input is no Arrow, or ends within a batch, or lacks a column.
        """
        for message, text in self._messages():
            if message.type == "record batch":
                yield self._batch(message, text)

    def _batch(self, message: pa.ipc.Message, text: bytes) -> pa.Table:
        try:
            if any(pa.types.is_dictionary(field.type) for field in self._schema or ()):
                found = pa.ipc.open_stream(self._head + text).read_all()
            else:
                found = pa.Table.from_batches([pa.ipc.read_record_batch(message, self._schema)])
            kept = sound(found.select([name for name in self._needed if name in found.column_names]))
        except (pa.ArrowException, OSError, KeyError, UnicodeError):
            raise _broken("has a batch that cannot be read") from None
        return kept

    def _messages(self, most: int | None = None) -> Iterator[tuple[pa.ipc.Message, bytes]]:
        """The whole messages that are there."""
        while True:
            while (most is None or self.read < most) and (size := self._size()) is not None:
                text = self._rest[self._at : self._at + size]
                self._at += size
                self.took(text)
                if text == _END:
                    self._ended, self._schema = self._one_file, None
                elif text.startswith(_MARK) and not self._ended:
                    yield self._message(text), text
            if most is not None and self.read >= most:
                return
            new, ended = more(self._file)
            self._rest, self._at = self._rest[self._at :] + new, 0
            if ended and not new:
                if self._rest and not self._follow:
                    raise _broken("ends within a batch")
                return

    def _size(self) -> int | None:
        """The size of the next message with all of its body; None where it is not there yet."""
        there = len(self._rest) - self._at
        begin = self._rest[self._at : self._at + 8]
        if self._ended:  # the footer
            return there or None
        if not self.read and begin == _MAGIC:
            self._one_file = True
            return 8
        if len(begin) < 8 or there < self._wanted:
            return None
        if begin == _END:
            return 8
        if not begin.startswith(_MARK):
            raise _broken("is no IPC stream")
        reader = pa.BufferReader(pa.py_buffer(memoryview(self._rest)[self._at :]))
        try:
            pa.ipc.read_message(reader)
        except (pa.ArrowException, OSError, EOFError):
            self._wanted = there + 1
            return None
        self._wanted = 0
        size: int = reader.tell()
        return size

    def _message(self, text: bytes) -> pa.ipc.Message:
        try:
            message = pa.ipc.read_message(text)
            if message.type == "schema":
                self._schema, self._head = pa.ipc.read_schema(message), text
        except (pa.ArrowException, OSError, UnicodeError):
            raise _broken("has a schema that cannot be read") from None
        if message.type == "dictionary":
            self._head += text
        if self._schema is None:
            raise _broken("has a batch without a schema")
        return message


def _broken(words: str) -> StreamError:
    return StreamError(f"The input {words}.", "Give Arrow's IPC, or name another --format.")
