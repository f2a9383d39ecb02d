from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.pgwire import messages as wire
from discreet.pgwire.messages import Bind, Malformed, Parse, Reader

BIND = b"p\0s\0" + struct.pack("!hhhi", 1, 1, 2, 1) + b"x" + struct.pack("!ihh", -1, 1, 0)
READERS: list[Callable[[bytes], Any]] = [Parse.read, Bind.read, wire.startup, wire.one_of]


def test_messages_of_the_manual_are_read() -> None:
    assert wire.startup(b"user\0ana\0database\0h\0\0") == {"user": "ana", "database": "h"}
    assert Parse.read(b"s\0SELECT $1\0" + struct.pack("!hi", 1, 23)) == Parse("s", "SELECT $1", (23,))
    assert Bind.read(BIND) == Bind("p", "s", (1,), (b"x", None), (0,))
    assert wire.one_of(b"Sname\0") == ("S", "name")


@pytest.mark.parametrize(
    "data",
    [BIND[:-1], BIND + b"x", BIND.replace(b"p\0s", b"p\0\xff"), b"p\0s\0" + struct.pack("!h", -1), b"\0\0" + struct.pack("!hhi", 0, 1, -2)],
)  # fmt: skip
def test_a_message_that_is_cut_or_lies_about_its_lengths_is_refused(data: bytes) -> None:
    with pytest.raises(Malformed):
        Bind.read(data)


@given(
    st.one_of(
        st.binary(max_size=200),
        st.builds(lambda at, b: BIND[:at] + b + BIND[at:], st.integers(0, 20), st.binary(max_size=4)),
    )
)
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for read in READERS:
        try:
            read(data)
        except Malformed:
            continue


def test_messages_of_the_server() -> None:
    assert wire.ready("I") == b"Z\0\0\0\x05I"
    assert wire.authentication(3) == b"R\0\0\0\x08\0\0\0\x03"
    assert wire.row([b"a", None]) == b"D" + struct.pack("!ihi", 15, 2, 1) + b"a" + struct.pack("!i", -1)
    assert wire.fields(b"E", [("S", "ERROR"), ("D", "")]) == b"E\0\0\0\x0cSERROR\0\0"
    described = Reader(wire.described([("n", 20, 8)], [1])[5:])
    assert (described.int16(), described.text(), described.int32(), described.int16()) == (1, "n", 0, 0)
    assert (described.int32(), described.int16(), described.int32(), described.int16()) == (20, 8, -1, 1)
    described.end()
    assert wire.text("a\0b") == b"a b\0", "a NUL would end the text, and forge the rest"
