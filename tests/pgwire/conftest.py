"""The protocol over a service that listens, with a client of bytes."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

import psycopg
import pytest

from discreet.pgwire.listening import bound, serving
from tests.server.conftest import Running, run

Message = tuple[bytes, bytes]


@dataclass
class Wire:
    """A service that speaks the protocol, and its port."""

    running: Running
    port: int
    open: list[socket.socket] = field(default_factory=list)

    def url(self, who: str = "ana", options: str = "") -> str:
        """The address for libpq."""
        token = self.running.tokens[who]
        return (
            f"host=127.0.0.1 port={self.port} user={who} password={token} dbname=hospital options='{options}'"
        )

    def connect(self, who: str = "ana", options: str = "") -> psycopg.Connection[tuple[object, ...]]:
        """A connection of psycopg."""
        return psycopg.connect(self.url(who, options), autocommit=True)


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    for running in run(tmp_path_factory.mktemp("wire")):
        listener = bound("127.0.0.1", 0)
        with serving(running.service, listener):
            yield Wire(running, listener.getsockname()[1])


def message(letter: bytes, rest: bytes = b"") -> bytes:
    """A message of a client."""
    return letter + struct.pack("!i", len(rest) + 4) + rest


def begin(user: str = "ana", database: str = "hospital", version: int = 0x30000) -> bytes:
    """The first message."""
    said = b"".join(one.encode() + b"\0" for one in ("user", user, "database", database)) + b"\0"
    return struct.pack("!ii", len(said) + 8, version) + said


def read(connection: socket.socket) -> list[Message]:
    """All messages up to the end of the connection, or up to the first that says that the server waits."""
    out: list[Message] = []
    with contextlib.suppress(ConnectionError):
        while head := _exactly(connection, 5):
            length = struct.unpack("!i", head[1:])[0]
            out.append((head[:1], _exactly(connection, length - 4)))
            if head[:1] == b"Z":
                break
    return out


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = connection.recv(count - len(data))
        if not piece:
            return b""
        data += piece
    return data


def said(messages: list[Message]) -> dict[str, str]:
    """The fields of the first error."""
    found = next(rest for letter, rest in messages if letter == b"E")
    return {part[:1].decode(): part[1:].decode() for part in found.split(b"\0") if part}


def letters(messages: list[Message]) -> str:
    """The letters of messages."""
    return b"".join(letter for letter, _ in messages).decode()
