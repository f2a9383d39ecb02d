"""The count of visits is the greatest one over all texts, which a search that tries all ways shows."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable

import pytest
from tests.depth import examples
from tests.sql.functions.regular import samples

from discreet.sql.functions import portable
from discreet.sql.functions.regular.first_place import guarded
from discreet.sql.functions.regular.tree import Edge, Node, Sequence, parse
from discreet.sql.functions.regular.visits import MOST, visits


def exceeded(bound: Callable[[Node], float]) -> int:
    """How many texts visit a character more often than is said."""
    made, found = random.Random(4), 0
    for _ in range(examples(200, 5000)):
        tree = guarded(parse(samples.pattern(made)), all_places=made.random() < 0.5)
        if (most := bound(tree)) < math.inf:
            found += sum(samples.visited(tree, text) > most for text in samples.texts(made, 10))
    return found


def test_no_text_visits_a_character_more_often() -> None:
    assert exceeded(visits) == 0


def test_a_count_that_forgets_later_places_is_found_out() -> None:
    """The planted fault: a pattern is tried at the beginning of a text alone."""
    assert exceeded(lambda tree: visits(Sequence((Edge(end=False), tree))))


@pytest.mark.parametrize(
    "pattern", ["aab", "^a*b", "^a{0,3}ab", "x(a|ab)b?b", "a?a?b", "(?:a|b){2}", "b[ab]{1,3}a"]
)
def test_the_count_is_reached(pattern: str) -> None:
    tree = parse(pattern)
    letters = "abx" if "x" in pattern else "ab"
    texts = (text for long in range(1, 7) for text in itertools.product(letters, repeat=long))
    assert max(samples.visited(tree, "".join(text)) for text in texts) == visits(tree)


@pytest.mark.parametrize(
    "pattern",
    ["^a*a*b", "a*b", "^(a|b)*", "^(a?){9}a{9}$", "a[a-z]*b", "^(?:a|a){9}", "[ab]{1,255}c", "(?:ab){256}"],
)
def test_too_many(pattern: str) -> None:
    assert visits(parse(pattern)) > MOST


def test_the_patterns_of_texts_that_are_numbers_or_dates_are_tried_in_few_ways() -> None:
    for pattern in (portable.INTEGER_TEXT, portable.FLOAT_TEXT, portable.DATE_TEXT, portable.TIMESTAMP_TEXT):
        assert visits(parse(pattern)) < 10
