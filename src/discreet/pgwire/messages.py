"""The messages of the protocol, as bytes.

A message is a letter, the length of the rest with these four bytes, and the rest; the first one of a connection has no
letter. Every length is checked before it is believed, and every text is UTF-8 without NUL.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any

from discreet.records import dataclass

PROTOCOL, SSL, GSS, CANCEL = 0x0003_0000, 80877103, 80877104, 80877102
"""The codes that a connection begins with."""
MOST_STARTUP, MOST = 10_000, 1 << 18
"""Bytes of the first message and of every other one."""
MOST_VALUES = 1000
"""Parameters of a question."""


class Malformed(Exception):
    """Bytes that are no message of the protocol; the connection is over."""


class Reader:
    r"""Reads the parts of a message.

    Example:
        >>> reader = Reader(b"ab\0" + struct.pack("!h", 3))
        >>> reader.text(), reader.int16(), reader.end()
        ('ab', 3, None)
    """

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def bytes(self, count: int) -> bytes:
        """So many bytes."""
        if count < 0 or self._at + count > len(self._data):
            raise Malformed
        self._at += count
        return self._data[self._at - count : self._at]

    def int16(self) -> int:
        """A number of two bytes."""
        return int(struct.unpack("!h", self.bytes(2))[0])

    def int32(self) -> int:
        """A number of four bytes."""
        return int(struct.unpack("!i", self.bytes(4))[0])

    def text(self) -> str:
        """A text up to the next NUL."""
        end = self._data.find(b"\0", self._at)
        if end < 0:
            raise Malformed
        try:
            found = self._data[self._at : end].decode()
        except UnicodeDecodeError:
            raise Malformed from None
        self._at = end + 1
        return found

    def count(self) -> int:
        """How many parts follow."""
        found = self.int16()
        if not 0 <= found <= MOST_VALUES:
            raise Malformed
        return found

    def end(self) -> None:
        """See that nothing is left."""
        if self._at != len(self._data):
            raise Malformed


def startup(data: bytes) -> dict[str, str]:
    """The parameters of the first message, after its code."""
    reader, found = Reader(data), {}
    while name := reader.text():
        found[name] = reader.text()
    reader.end()
    return found


@dataclass(frozen=True)
class Parse:
    """A statement is to be prepared.

    Attributes:
        name: empty for the one without a name.
        query: its text.
        types: the numbers of the types of its parameters; 0 where the client does not say.
    """

    name: str
    query: str
    types: tuple[int, ...]

    @classmethod
    def read(cls, data: bytes) -> Parse:
        """Read one."""
        reader = Reader(data)
        name, query = reader.text(), reader.text()
        types = tuple(reader.int32() & 0xFFFF_FFFF for _ in range(reader.count()))
        reader.end()
        return cls(name, query, types)


@dataclass(frozen=True)
class Bind:
    """A prepared statement gets its values.

    Attributes:
        portal: the name of the result; empty for the one without a name.
        statement: which one.
        formats: of the values: 0 for text, 1 for bytes.
        values: as bytes; None for NULL.
        results: the formats of the columns of the result.
    """

    portal: str
    statement: str
    formats: tuple[int, ...]
    values: tuple[bytes | None, ...]
    results: tuple[int, ...]

    @classmethod
    def read(cls, data: bytes) -> Bind:
        """Read one."""
        reader = Reader(data)
        portal, statement = reader.text(), reader.text()
        formats = tuple(reader.int16() for _ in range(reader.count()))
        values = []
        for _ in range(reader.count()):
            length = reader.int32()
            values.append(None if length == -1 else reader.bytes(length))
        results = tuple(reader.int16() for _ in range(reader.count()))
        reader.end()
        if not {*formats, *results} <= {0, 1} or len(formats) not in (0, 1, len(values)):
            raise Malformed
        return cls(portal, statement, formats, tuple(values), results)


def one_of(data: bytes) -> tuple[str, str]:
    """The kind, S for a statement or P for a portal, and the name in Describe and Close."""
    reader = Reader(data)
    kind, name = reader.bytes(1), reader.text()
    reader.end()
    if kind not in (b"S", b"P"):
        raise Malformed
    return kind.decode(), name


def message(letter: bytes, *parts: bytes) -> bytes:
    """A message of the server."""
    rest = b"".join(parts)
    return letter + struct.pack("!i", len(rest) + 4) + rest


def text(words: str) -> bytes:
    """A text as the protocol has it; NUL, which would end it, becomes a blank."""
    return words.replace("\0", " ").encode(errors="replace") + b"\0"


def int16(number: int) -> bytes:
    """A number of two bytes."""
    return struct.pack("!h", number)


def int32(number: int) -> bytes:
    """A number of four bytes."""
    return struct.pack("!i", number)


def authentication(code: int) -> bytes:
    """0: welcome; 3: send a password in clear."""
    return message(b"R", int32(code))


def ready(state: str) -> bytes:
    """The server waits: I for idle, T within a transaction, E within one that failed."""
    return message(b"Z", state.encode())


def fields(letter: bytes, said: Iterable[tuple[str, str]]) -> bytes:
    """An error (E) or a notice (N), of fields with a letter each."""
    return message(letter, *(name.encode() + text(words) for name, words in said if words), b"\0")


def described(columns: Sequence[tuple[str, int, int]], formats: Sequence[int]) -> bytes:
    """The columns of a result: name, number of the type, and its size; and the format of each."""
    parts = [int16(len(columns))]
    for (name, oid, size), form in zip(columns, formats, strict=True):
        parts += [text(name), int32(0), int16(0), int32(oid), int16(size), int32(-1), int16(form)]
    return message(b"T", *parts)


def row(values: Sequence[bytes | None]) -> bytes:
    """One row."""
    parts: list[Any] = [int16(len(values))]
    for value in values:
        parts += [int32(-1)] if value is None else [int32(len(value)), value]
    return message(b"D", *parts)
