"""Patterns are read as engines read them."""

from __future__ import annotations

import pytest

from discreet.sql.functions.regular.tree import Chars, Node, Repeat, meet, nullable, parse, union, within


@pytest.mark.parametrize(
    ("pattern", "points"),
    [
        ("a", ((97, 97),)), (r"\$", ((36, 36),)), ("[a-cx]", ((97, 99), (120, 120))),
        ("[^\n]", ((0, 9), (11, 0x10FFFF))),
        (r"[\]a]", ((93, 93), (97, 97))), ("[a-]", ((45, 45), (97, 97))), (r"[a\-z]", ((45, 45), (97, 97), (122, 122))),
        ("[^^]", ((0, 93), (95, 0x10FFFF))), ("[a-bc]", ((97, 99),)), ("]", ((93, 93),)), ("}", ((125, 125),)),
    ],
)  # fmt: skip
def test_sets_of_characters(pattern: str, points: object) -> None:
    assert parse(pattern) == Chars(points, pattern)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pattern", "read"),
    [("a*", (0, None, False)), ("a+?", (1, None, True)), ("a??", (0, 1, True)), ("a{2}", (2, 2, False)),
     ("a{2,}?", (2, None, True)), ("a{0,3}", (0, 3, False))],
)  # fmt: skip
def test_repetitions(pattern: str, read: tuple[int, int | None, bool]) -> None:
    found = parse(pattern)
    assert isinstance(found, Repeat)
    assert (found.least, found.most, found.lazy) == read


@pytest.mark.parametrize(
    ("pattern", "edges", "fits"),
    [("", False, True), ("a", True, False), ("^", False, False), ("^", True, True), ("(a|b*)c?", False, True),
     ("(a|$)", False, False), ("(a|$)", True, True), ("(?:a|)b", True, False)],
)  # fmt: skip
def test_parts_that_can_be_empty(pattern: str, edges: bool, fits: bool) -> None:
    found: Node = parse(pattern)
    assert nullable(found, edges) == fits


def test_sets_meet_and_hold_each_other() -> None:
    letters, digits = ((97, 122),), ((48, 57),)
    assert meet(letters, ((122, 200),))
    assert not meet(letters, digits)
    assert within(digits, union(letters, digits))
    assert not within(union(letters, digits), digits)
