"""Patterns for an engine that tries all ways of a pattern, one after the other, as Java does.

Such an engine takes a time, and a stack, that grow with a power of the length of a text, or faster: one text would
decide how long a question takes. So it gets a pattern that comes to each character of any text a bounded
number of times. Whether another one fits may be told by an automaton. The place of another one is not found at all.
"""

from __future__ import annotations

from functools import lru_cache

from discreet.sql.functions.regular.anywhere import by_pieces, simpler
from discreet.sql.functions.regular.automaton import Automaton, automaton
from discreet.sql.functions.regular.first_place import guarded
from discreet.sql.functions.regular.tree import (
    CaptureGroup,
    Chars,
    Choice,
    Node,
    Repeat,
    Sequence,
    nullable,
    parse,
)
from discreet.sql.functions.regular.visits import MOST, visits


@lru_cache(maxsize=256)
def fits(pattern: str) -> Node | Automaton | None:
    """A pattern to search or an automaton to run, which tell whether a portable pattern fits.

    None where both are too large.

    Example:
        >>> fits("x*y") == parse("y"), fits("^(ab|c)*$").many, fits("^(a|bb)*a(a|b){20}$")
        (True, 4, None)
    """
    tree = simpler(parse(pattern))
    return by_pieces(tree) or (tree if visits(tree) <= MOST else automaton(tree))


@lru_cache(maxsize=256)
def place(pattern: str, all_places: bool) -> Node | None:
    """A pattern to search that finds the same place, or all the same places, as a portable one.

    None where there is none.

    Example:
        >>> place("a*b", False) is not None, place("^a*a*b", False)
        (True, None)
    """
    tree = parse(pattern)
    found = guarded(tree, all_places)
    return found if _plain(tree) and visits(found) <= MOST else None


def _plain(node: Node) -> bool:
    """Whether no group that can be referred to, and no part that can be empty, is repeated several times.

    Engines differ in the text that such a group keeps.
    """
    if isinstance(node, Repeat) and node.most != 1 and not isinstance(node.of, Chars):
        return not nullable(node.of) and not _refers(node.of)
    if isinstance(node, Sequence | Choice):
        return all(map(_plain, node.parts))
    return _plain(node.of) if isinstance(node, Repeat | CaptureGroup) else True


def _refers(node: Node) -> bool:
    if isinstance(node, Sequence | Choice):
        return any(map(_refers, node.parts))
    return isinstance(node, CaptureGroup) or (isinstance(node, Repeat) and _refers(node.of))


def possible(name: str, pattern: str) -> bool:
    """Whether there is a pattern or an automaton for a function: its time is bounded by the length of a text.

    Example:
        >>> possible("regexp_matches", "(a|b)*c"), possible("regexp_extract", "((a|b)*c)")
        (True, False)
    """
    if name == "regexp_matches":
        return fits(pattern) is not None
    return place(pattern, name == "regexp_replace_all") is not None
