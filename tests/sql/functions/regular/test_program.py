"""A program goes on where its tree does."""

from __future__ import annotations

import pytest

from discreet.sql.functions.regular.program import FIT, TooLarge, holds, program
from discreet.sql.functions.regular.tree import Chars, NotBehind, Sequence, parse


def test_it_reaches_what_can_be_read_next() -> None:
    steps = program(parse("^a?b*$"))
    assert {steps.reads[one] for one in steps.reach([steps.start], None)} == {((97, 97),), ((98, 98),)}
    assert FIT in steps.reach([steps.start], None, end=True)
    assert not steps.reach([steps.start], ord("a"))


def test_a_guard_is_not_passed_behind_its_set() -> None:
    letter = Chars(((97, 97),), "a")
    steps = program(Sequence((NotBehind(letter), letter)))
    assert [bool(steps.reach([steps.start], before)) for before in (None, 96, 97, 98)] == [
        True,
        True,
        False,
        True,
    ]


def test_kinds_are_alike_to_all_steps() -> None:
    found = program(parse("[a-c]|b|[x-z]")).kinds()
    assert sorted(map(sorted, found)) == [
        [0, ord("d"), ord("z") + 1],
        [ord("a"), ord("c")],
        [ord("b")],
        [ord("x")],
    ]
    assert [holds(((1, 2), (5, 6)), point) for point in (0, 1, 2, 3, 5, 7)] == [
        False,
        True,
        True,
        False,
        True,
        False,
    ]


def test_a_program_that_is_too_large_is_none() -> None:
    with pytest.raises(TooLarge):
        program(parse("(?:(?:[ab]{1,99}c){9}d){9}"))
