"""A place tells an input apart, and no read waits for more than it needs."""

from __future__ import annotations

import os

import pytest

from discreet.errors import StreamError
from discreet.streams.feeds.place import FeedPosition, more


def test_a_place_is_how_much_and_what() -> None:
    one, other = FeedPosition(), FeedPosition()
    one.took(b"ab")
    other.took(b"a")
    other.took(memoryview(b"b"))
    one.see(other.read, other.digest)
    other.took(b"c")
    with pytest.raises(StreamError):
        one.see(other.read, other.digest)


def test_bytes_that_are_there() -> None:
    read, write = os.pipe()
    with os.fdopen(read, "rb") as file, os.fdopen(write, "wb", 0) as end:
        end.write(b"a")
        assert more(file) == (b"a", False)
        end.write(b"b\nc")
        assert more(file, b"\n") == (b"b\nc", False)
        end.close()
        assert more(file) == (b"", True)
