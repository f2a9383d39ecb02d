"""Patterns of few ways are searched; whether others fit is told by an automaton, and their places are refused."""

from __future__ import annotations

import pytest

from discreet.sql.functions.regular.automaton import Automaton
from discreet.sql.functions.regular.backtracking import fits, place, possible


@pytest.mark.parametrize(
    "pattern", ["a*a*a*b", "^[0-9]*[0-9]*x$", ".*x.*y.*z", "[a-z]+@", "^(?:a|b)*c$", "foo[^\n]*bar$"]
)
def test_these_are_searched(pattern: str) -> None:
    assert not isinstance(fits(pattern), Automaton | None)


@pytest.mark.parametrize("pattern", ["^(ab|c)*d", "(x+x+)+y", "foo|a[a-z]*b", "^a*[ab]*c*[bc]*d"])
def test_these_are_read_by_an_automaton(pattern: str) -> None:
    assert isinstance(fits(pattern), Automaton)


@pytest.mark.parametrize(
    "pattern", ["[0-9]+", "^([^-]*)-", "([a-z]+)@([a-z]+)", "-?[0-9]+", "(?:[0-9]{2}:){2}", "<[^<>]*>"]
)
def test_these_places_are_found(pattern: str) -> None:
    assert place(pattern, all_places=False)
    assert place(pattern, all_places=True)


@pytest.mark.parametrize(
    "pattern",
    [
        "^a*a*b",
        "^([^\n]*)-([^\n]*)$",
        "<[^>]*>",
        "(a|b)*c",
        "(ab){2}",
        "(?:a?b?){2}c",
        "[a-z]{1,255}x",
        "a(?:[^\n]*b)?",
    ],
)
def test_these_places_are_not(pattern: str) -> None:
    assert not possible("regexp_extract", pattern)
    assert not possible("regexp_replace_all", pattern)


def test_a_place_may_be_found_where_all_are_not() -> None:
    assert possible("regexp_extract", "[a-z]+?b")
    assert not possible("regexp_replace_all", "[a-z]+?b")
    assert not possible("regexp_matches", "^(a|bb)*a(a|b){20}c$")
