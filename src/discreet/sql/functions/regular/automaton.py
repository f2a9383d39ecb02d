"""A pattern as a finite automaton (Rabin and Scott 1959), which reads each character of a text once."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache

from discreet.records import dataclass
from discreet.sql.functions.regular.program import FIT, Program, TooLarge, program
from discreet.sql.functions.regular.tree import Node

MOST_ENTRIES = 6000
"""The greatest size of a table: states times kinds of characters."""


@dataclass(frozen=True)
class Automaton:
    """State 0 is the first one; whether a pattern fits somewhere in a text is told by the last one.

    Attributes:
        firsts: the first code points of ranges of characters, ascending, from 0.
        kinds: the kind of the characters of each range.
        many: how many kinds there are.
        table: the next state, by `state * many + kind`.
        fits: of each state, whether the pattern fits.
    """

    firsts: tuple[int, ...]
    kinds: tuple[int, ...]
    many: int
    table: tuple[int, ...]
    fits: tuple[bool, ...]

    def reads(self, text: str) -> bool:
        """Whether the pattern fits somewhere in a text."""
        state = 0
        for c in text:
            state = self.table[state * self.many + self.kinds[bisect_right(self.firsts, ord(c)) - 1]]
        return self.fits[state]


@lru_cache(maxsize=256)
def automaton(tree: Node) -> Automaton | None:
    """The automaton of a pattern, or None where it would be too large.

    Example:
        >>> from discreet.sql.functions.regular.tree import parse
        >>> found = automaton(parse("^(a|b)*c$"))
        >>> [found.reads(text) for text in ("abbac", "abcc")]
        [True, False]
    """
    try:
        return _made(program(tree))
    except TooLarge:
        return None


def _made(steps: Program) -> Automaton:
    kinds = steps.kinds()
    spans = sorted((first, kind) for kind, firsts in enumerate(kinds) for first in firsts)
    begin = (steps.reach([steps.start], None), steps.reach([steps.start], None, end=True))
    states: dict[tuple[frozenset[int], bool], int] = {}
    left: list[frozenset[int]] = []
    table: list[int] = []
    fits: list[bool] = []

    def number(reached: frozenset[int], at_end: frozenset[int]) -> int:
        # Once it fits, the rest of the text does not matter.
        key = (frozenset((FIT,)), True) if FIT in reached else (reached, FIT in at_end)
        if key not in states:
            if len(states) * len(kinds) > MOST_ENTRIES:
                raise TooLarge
            states[key] = len(states)
            left.append(key[0])
            fits.append(key[1])
        return states[key]

    number(*begin)
    for reached in left:
        for firsts in kinds:
            if FIT in reached:
                table.append(number(reached, reached))
                continue
            first = firsts[0]
            on = [steps.after[step][0] for step in reached if steps.takes(step, first)]
            on.append(steps.start)
            table.append(number(steps.reach(on, first), steps.reach(on, first, end=True)))
    return Automaton(
        tuple(first for first, _ in spans),
        tuple(kind for _, kind in spans),
        len(kinds),
        tuple(table),
        tuple(fits),
    )
