"""A guarded pattern finds the same places; Python's expressions, which find the first way, too, are the judge."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import pytest
from tests.depth import examples
from tests.sql.functions.regular import samples

from discreet.sql.dialects.spark_patterns import java
from discreet.sql.functions.regular import first_place
from discreet.sql.functions.regular.first_place import guarded
from discreet.sql.functions.regular.tree import Node, NotBehind, Sequence, nullable, parse

BEGINS = ["a+", "[ab]*", "b?a+", "(?:a+|b*)", "(a*)", "[ab]+?", "c?[ab]{2,}", "(?:c[ab]*)?a+", "(?:^|c)a*"]


def faults() -> int:
    """How many texts have other places."""
    made, found = random.Random(8), 0
    for _ in range(examples(250, 20_000)):
        pattern = made.choice(BEGINS) + samples.pattern(made, 2)
        tree = parse(pattern)
        if nullable(tree) or "é" in pattern:
            continue
        plain = re.compile(pattern.replace("$", r"\Z"))
        ones, all_ = (re.compile(java(guarded(tree, every)).replace(r"\z", r"\Z")) for every in (False, True))
        for text in samples.texts(made, 25):
            first = [one and one.span() for one in (plain.search(text), ones.search(text))]
            places = [[one.span() for one in of.finditer(text)] for of in (plain, all_)]
            found += first[0] != first[1] or places[0] != places[1]
    return found


def test_the_places_are_the_same() -> None:
    assert faults() == 0


@pytest.mark.parametrize(("name", "value"), [("_last", lambda _: []), ("meet", lambda *_: False)])
def test_the_conditions_are_needed(
    name: str, value: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted faults: a guard without a look at the last part, and one without a look at the parts before it."""
    monkeypatch.setattr(first_place, name, value)
    assert faults()


@pytest.mark.parametrize(
    ("pattern", "all_places", "guards"),
    [("a+", True, True), ("a+b", True, True), ("[ab]+b", True, False), ("[ab]+b", False, True), ("a+?", True, False),
     ("^a+", False, False), ("ab+", False, False), ("a?[ab]+", False, False),
     ("a+$", True, True), ("a{2,5}", False, False)],
)  # fmt: skip
def test_a_repetition_at_the_beginning_is_guarded(pattern: str, all_places: bool, guards: bool) -> None:
    def has(node: Node) -> bool:
        return isinstance(node, NotBehind) or (isinstance(node, Sequence) and any(map(has, node.parts)))

    assert has(guarded(parse(pattern), all_places)) == guards
