"""The messages of the server, read as strictly as the manual of the protocol has them; anything else is a fault."""

from __future__ import annotations

import re
import struct

STATE = re.compile(r"[0-9A-Z]{5}")
EMPTY = {"1", "2", "3", "n", "I", "s"}


class Parts:
    """The parts of one message."""

    def __init__(self, data: bytes) -> None:
        self.left = data

    def bytes(self, count: int) -> bytes:
        """So many bytes."""
        assert 0 <= count <= len(self.left), "a message is shorter than it says"
        found, self.left = self.left[:count], self.left[count:]
        return found

    def number(self, form: str) -> int:
        """A number of this format of `struct`."""
        return int(struct.unpack("!" + form, self.bytes(struct.calcsize(form)))[0])

    def text(self) -> str:
        """A text, which is UTF-8 and ends."""
        found, end, self.left = self.left.partition(b"\0")
        assert end, "a text has no end"
        return found.decode()


def read_strictly(data: bytes, cut: bool = False, orderly: bool = False) -> str:
    """The letters of all messages that a server sent on one connection.

    Args:
        data: from the first byte to the last.
        cut: whether the connection was lost, so that the last message may be a part of one.
        orderly: whether each description is of the rows that follow it, as a sane client asks.

    Raises:
        AssertionError: they are not what the protocol allows.
    """
    # A row may come without a description: a client need not ask for one.
    order = "TD" if orderly else "D"
    refused = len(data) - len(data.lstrip(b"N"))  # of TLS; a notice cannot come before the start
    data, letters, columns = data[refused:], "N" * refused, 0
    while data:
        if cut and (len(data) < 5 or len(data) < 1 + struct.unpack_from("!i", data, 1)[0]):
            return letters
        parts = Parts(data)
        letter = parts.bytes(1).decode()
        length = parts.number("i")
        assert 4 <= length <= 1 << 26, "a length is none"
        body = Parts(parts.bytes(length - 4))
        before, columns = columns, _one(letter, body)
        assert not (letter == "D" and letters[-1:] in order and columns != before), "rows differ"
        assert not body.left, "a message is longer than its parts"
        letters += letter
        data = parts.left
    return letters


def _one(letter: str, body: Parts) -> int:
    """Read one message; how many columns it has."""
    if letter == "R":
        assert body.number("i") in (0, 3)
    elif letter == "S":
        assert body.text()
        body.text()
    elif letter == "K":
        assert body.number("i") > 0
        body.number("i")
    elif letter == "Z":
        assert body.bytes(1) in (b"I", b"T", b"E")
    elif letter in "EN":
        _told(letter, body)
    elif letter == "C":
        assert body.text()
    elif letter == "T":
        return _columns(body)
    elif letter == "D":
        columns = body.number("h")
        for _ in range(columns):
            size = body.number("i")
            body.bytes(0 if size == -1 else size)
        return columns
    elif letter == "t":
        body.bytes(4 * body.number("h"))
    elif letter == "v":
        assert body.number("i") == 0
        for _ in range(body.number("i")):
            body.text()
    else:
        assert letter in EMPTY, f"no server sends {letter!r}"
    return 0


def _columns(body: Parts) -> int:
    columns = body.number("h")
    assert columns > 0
    for _ in range(columns):
        body.text()
        body.bytes(16)
        assert body.number("h") in (0, 1)
    return columns


def _told(letter: str, body: Parts) -> None:
    fields = {}
    while (name := body.bytes(1)) != b"\0":
        fields[name.decode()] = body.text()
    assert fields.keys() >= {"S", "V", "C", "M"}, "an error lacks a field"
    assert fields["S"] in (("ERROR", "FATAL") if letter == "E" else ("NOTICE",))
    assert STATE.fullmatch(fields["C"])
    assert fields["C"] != "XX000", "an error that nobody foresaw"
