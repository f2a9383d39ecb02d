from __future__ import annotations

import pytest

from discreet.errors import Busy
from discreet.pgwire import prepared, types
from discreet.pgwire.answers import ResultColumn
from discreet.pgwire.prepared import described, see_room, unsigned, value_at


def test_one_format_may_stand_for_all() -> None:
    assert [value_at([1], place, 0, spread=True) for place in (0, 5)] == [1, 1]
    assert [value_at([1], place, 0) for place in (0, 5)] == [1, 0]
    assert value_at([], 0, 7) == 7


def test_columns_or_the_word_that_there_are_none() -> None:
    assert described((), ()) == b"n\0\0\0\x04"
    assert described([ResultColumn("n", types.INT8)], [1]).startswith(b"T")
    assert unsigned(2**32 - 1) == b"\xff" * 4


def test_there_is_room_for_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared, "MOST_KEPT", 1)
    see_room({"a": 1}, "a")
    with pytest.raises(Busy):
        see_room({"a": 1}, "b")
