"""How often an engine that tries all ways, one after the other, may come to one character of a text.

Such an engine begins at each place of a text and follows each way of the pattern until none is left. The ways that
stand before a character are counted by the step of the pattern at which each stands. The greatest of these counts over
all texts is found by following all kinds of characters; a count below another one at every step adds nothing to it.
So a time that grows with the power of the length of a text shows itself as counts that grow without end
(Weber and Seidl 1991 call the automaton infinitely ambiguous).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.sql.functions.regular.program import Program, TooLarge, program
from discreet.sql.functions.regular.tree import CaptureGroup, Chars, Choice, Node, Once, Repeat, Sequence

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST = 300
"""How often a character may be visited."""
_COUNTS = 1000
"""How many counts are followed before a pattern is given up."""
_STEPS = 700
_TIMES = 255
"""How many times of groups one way may hold, for each of which Java goes deeper into its stack."""


class _TooOften(Exception):
    """A character is visited more than MOST times."""


@lru_cache(maxsize=256)
def visits(tree: Node) -> float:
    """The greatest number of ways that stand before one character; infinite above MOST, or where a way is too deep.

    Example:
        >>> from discreet.sql.functions.regular.tree import parse
        >>> [visits(parse(pattern)) for pattern in ("^[a-z]*@", "aab", "^a*a*@", "a*@", "^(a|b)*@")]
        [2.0, 3.0, inf, inf, inf]
    """
    if _times(tree) > _TIMES:
        return math.inf
    try:
        steps = program(tree)
        return _greatest(steps) if len(steps.reads) <= _STEPS else math.inf
    except (TooLarge, _TooOften):
        return math.inf


def _times(node: Node) -> float:
    """How many times of groups one way through a part can hold."""
    if isinstance(node, Repeat):
        if isinstance(node.of, Chars):
            return 0
        return (math.inf if node.most is None else node.most) * (1 + _times(node.of))
    if isinstance(node, Choice):
        return max(map(_times, node.parts))
    if isinstance(node, Sequence):
        return sum(map(_times, node.parts))
    return _times(node.of) if isinstance(node, CaptureGroup | Once) else 0


def _greatest(steps: Program) -> float:
    import numpy as np

    rows = {step: row for row, step in enumerate(steps.reads)}
    firsts = _hardest(steps)
    begin = _row(rows, _ways(steps, steps.start, None))
    again = {first: _row(rows, _ways(steps, steps.start, first)) for first in firsts}
    moves = {first: np.zeros((len(rows), len(rows))) for first in firsts}
    for first, move in moves.items():
        ways = {
            step: _ways(steps, steps.after[step][0], first)
            for step in steps.reads
            if steps.takes(step, first)
        }
        for step, onward in ways.items():
            move[rows[step]] = _row(rows, onward)
    left = [begin]
    seen = np.zeros((_COUNTS, len(rows)))
    seen[0] = begin
    for count in left:
        for first in firsts:
            new = count @ moves[first] + again[first]
            if new.sum() > MOST:
                return math.inf
            if not (seen[: len(left)] >= new).all(axis=1).any():
                if len(left) == _COUNTS:
                    return math.inf
                seen[len(left)] = new
                left.append(new)
    return float(max(count.sum() for count in left))


def _hardest(steps: Program) -> list[int]:
    """A character of each kind, without those that are read only where another one is read, too."""
    firsts = [kind[0] for kind in steps.kinds()]
    if steps.guards():
        return firsts
    read = {first: frozenset(step for step in steps.reads if steps.takes(step, first)) for first in firsts}
    return [first for first in firsts if not any(read[first] < read[other] for other in firsts)]


def _row(rows: Mapping[int, int], ways: Mapping[int, int]) -> NDArray[np.float64]:
    import numpy as np

    row = np.zeros(len(rows))
    for step, times in ways.items():
        row[rows[step]] = times
    return row


def _ways(steps: Program, step: int, before: int | None) -> Counter[int]:
    """In how many ways a step leads to each that reads, without a character; there is no way from a step to itself."""
    known: dict[int, Counter[int]] = {}
    left = [step]
    while left:
        current = left[-1]
        onward = steps.onward(current, before)
        missing = [target for target in onward if target not in known]
        if missing:
            left.extend(missing)
            continue
        left.pop()
        known[current] = (
            Counter((current,))
            if current in steps.reads
            else sum((known[target] for target in onward), Counter())
        )
        if known[current].total() > MOST:
            raise _TooOften
    return known[step]
