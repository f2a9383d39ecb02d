"""Where it does not matter where a pattern fits, a simpler one fits in the same texts."""

from __future__ import annotations

import random
import re

import pytest
from tests.depth import examples

from discreet.sql.dialects.spark_patterns import java
from discreet.sql.functions.regular.anywhere import by_pieces, simpler
from discreet.sql.functions.regular.tree import Edge, Sequence, parse


@pytest.mark.parametrize(
    ("pattern", "simple"),
    [
        ("a*a*a*b", "b"), ("^a*a*a*b$", "^a*b$"), ("^(?:a|b)*c", "^[ab]*c"), ("ab*", "a"), ("a+b", "ab"),
        ("^a+[ab]*c", "^a[ab]*c"),
        ("^[ab]*a{2,}c", "^[ab]*a{2}c"), ("^a*b[ab]*c", "^a*b[ab]*c"), ("(a|^)b", "(?:a|^)b"), ("^(a*)*$", "^a*$"),
        ("a*", ""),
    ],
)  # fmt: skip
def test_it_is_simpler(pattern: str, simple: str) -> None:
    found = java(simpler(parse(pattern))).replace(r"[\x{61}-\x{62}]", "[ab]")
    assert found == java(parse(simple)).replace("{2,2}", "{2}").replace("{2}", "{2,2}")


def test_pieces_are_found_where_the_pattern_fits() -> None:
    """Judged by Python's own expressions, on texts that almost fit, too."""
    made = random.Random(3)
    for _ in range(examples(300, 20_000)):
        parts = [
            "".join(made.choices(["a", "b", "[ab]"], k=made.randint(0, 2))) for _ in range(made.randint(2, 4))
        ]
        pattern = (
            made.choice(["", "^", "^c"])
            + made.choice(["[abc]*", "[ab]*", "[ab]+"]).join(parts)
            + made.choice(["", "$", "c$"])
        )
        tree = by_pieces(simpler(parse(pattern)))
        if tree is None:
            continue
        found = re.compile(java(tree).replace(r"\z", r"\Z"))
        for _ in range(20):
            text = "".join(made.choices("aabbcd", k=made.randint(0, 9)))
            assert (found.search(text) is None) == (re.search(pattern, text) is None), (pattern, text)


@pytest.mark.parametrize(
    "pattern", ["a(?:bc|d)[a-d]*b", "a[ab]*b[bc]*c", "a[bc]*c", "^a", "a{2}", "", "^$", "^"]
)
def test_others_are_none(pattern: str) -> None:
    assert by_pieces(parse(pattern)) is None


def test_edges_stay() -> None:
    found = by_pieces(parse("^[ab]*a$"))
    assert isinstance(found, Sequence)
    assert (found.parts[0], found.parts[-1]) == (Edge(end=False), Edge(end=True))
