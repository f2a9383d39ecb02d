"""Keys in one line: quotes, empty parts, blanks and ranges."""

from __future__ import annotations

import pytest

from discreet.errors import InvalidParameter
from discreet.policy.listed import read_keys


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("A,B", ["A", "B"]),
        (" A , B ", ["A", "B"]),
        ('" A ",B', [" A ", "B"]),
        ('"Tyne, Wear",Kent', ["Tyne, Wear", "Kent"]),
        ('"say ""no""", B', ['say "no"', "B"]),
        ('it"s, B', ['it"s', "B"]),
        ('"open, B', ['"open', "B"]),
        ('""', [""]),
        ('"",north', ["", "north"]),
        (",north", ["", "north"]),
        ("north,", ["north", ""]),
        ("", []),
        ("0, -1, 22", [0, -1, 22]),
        ("0, x", ["0", "x"]),
        ("01, 2", ["01", "2"]),
        ("\u00b2, \u0661", ["\u00b2", "\u0661"]),
        ("-2 .. 1", [-2, -1, 0, 1]),
        ("a..b", ["a..b"]),
    ],
)
def test_keys_are_read_as_they_are_written(text: str, keys: list[object]) -> None:
    assert read_keys(text) == keys


@pytest.mark.parametrize("text", ["3..1", "0..10000000"])
def test_a_range_without_keys_or_with_too_many_is_refused(text: str) -> None:
    with pytest.raises(InvalidParameter, match="empty or too long"):
        read_keys(text)
