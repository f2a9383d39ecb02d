"""A tree as a program of single steps (Thompson 1968): who reads a character, and where each goes on."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from discreet.records import dataclass, field
from discreet.sql.functions.regular.tree import (
    LAST,
    CaptureGroup,
    Chars,
    Choice,
    Edge,
    Node,
    NotBehind,
    Once,
    Ranges,
    Repeat,
    Sequence,
)

FIT = 0
"""The step at which the whole pattern fits."""
MOST_STEPS = 3000


class TooLarge(Exception):
    """A program or an automaton is larger than it may be."""


@dataclass
class Program:
    """Steps by number: a step reads a character, or goes on at once to all of some steps."""

    reads: dict[int, Ranges] = field(default_factory=dict)
    edges: dict[int, Edge | NotBehind] = field(default_factory=dict)
    after: list[tuple[int, ...]] = field(default_factory=lambda: [()])
    start: int = 0

    def add(self, *after: int) -> int:
        """A new step, which goes on at these.

        Raises:
            TooLarge: there are too many.
        """
        if len(self.after) >= MOST_STEPS:
            raise TooLarge
        self.after.append(after)
        return len(self.after) - 1

    def build(self, node: Node, then: int) -> int:
        """The first step of a part behind which stands the step `then`."""
        if isinstance(node, Sequence):
            for part in reversed(node.parts):
                then = self.build(part, then)
            return then
        if isinstance(node, Choice):
            return self.add(*[self.build(part, then) for part in node.parts])
        if isinstance(node, CaptureGroup | Once):
            return self.build(node.of, then)
        if isinstance(node, Repeat):
            return self._repeat(node, then)
        step = self.add(then)
        if isinstance(node, Chars):
            self.reads[step] = node.points
        else:
            self.edges[step] = node
        return step

    def _repeat(self, node: Repeat, then: int) -> int:
        behind = then
        if node.most is None:
            then = self.add()
            self.after[then] = (self.build(node.of, then), behind)
        for _ in range((node.most or node.least) - node.least):
            then = self.add(self.build(node.of, then), behind)
        for _ in range(node.least):
            then = self.build(node.of, then)
        return then

    def reach(self, steps: Iterable[int], before: int | None, end: bool = False) -> frozenset[int]:
        """The steps that read, and FIT, to which some steps lead without a character.

        Args:
            steps: where it begins.
            before: the character behind which it stands; None is the beginning of the text.
            end: whether it is the end of the text.
        """
        left, seen = list(steps), set(steps)
        while left:
            fresh = [step for step in self.onward(left.pop(), before, end) if step not in seen]
            seen.update(fresh)
            left.extend(fresh)
        return frozenset(step for step in seen if step == FIT or step in self.reads)

    def onward(self, step: int, before: int | None, end: bool = False) -> tuple[int, ...]:
        """The steps at which one goes on without a character."""
        if step in self.reads or not self._passes(self.edges.get(step), before, end):
            return ()
        return self.after[step]

    def takes(self, step: int, point: int) -> bool:
        """Whether a step reads a character."""
        return step in self.reads and holds(self.reads[step], point)

    def guards(self) -> list[Ranges]:
        """The sets of characters behind which some steps do not go on."""
        return [edge.chars.points for edge in self.edges.values() if isinstance(edge, NotBehind)]

    @staticmethod
    def _passes(edge: Edge | NotBehind | None, before: int | None, end: bool) -> bool:
        if isinstance(edge, NotBehind):
            return before is None or not holds(edge.chars.points, before)
        return edge is None or (end if edge.end else before is None)

    def kinds(self) -> list[tuple[int, ...]]:
        """The first points of ranges of characters, those together that all steps treat alike."""
        sets = {*self.reads.values(), *self.guards()}
        firsts = {0, *(edge for points in sets for low, high in points for edge in (low, high + 1))}
        found: dict[tuple[bool, ...], list[int]] = {}
        for first in sorted(firsts - {LAST + 1}):
            found.setdefault(tuple(holds(points, first) for points in sets), []).append(first)
        return [tuple(same) for same in found.values()]


def holds(points: Ranges, point: int) -> bool:
    """Whether a point is in a set."""
    index = bisect_right(points, (point, LAST + 1)) - 1
    return index >= 0 and point <= points[index][1]


def program(node: Node) -> Program:
    """The program of a whole pattern.

    Raises:
        TooLarge: it has too many steps.
    """
    made = Program()
    made.start = made.build(node, FIT)
    return made
