"""The first place where a pattern fits, without those places at which it need not be tried.

A pattern that begins with a repetition of a set S without end fits from the beginning of a run of S, if it fits from a
place within that run: the repetition takes the characters before, too. So it is tried at the beginnings of runs
alone, by a look at the character before. The first place stays the same, and so does the way in which the pattern
fits there.

Where all places are asked for, the next search begins behind the place found last, perhaps directly behind a character
of S. The pattern must not fit there. So it must end outside S. Or it must end with a greedy repetition that holds all
of S, behind which no character of S stands, and must not fit without one.
"""

from __future__ import annotations

from discreet.sql.functions.regular.tree import (
    CaptureGroup,
    Chars,
    Choice,
    Edge,
    Node,
    NotBehind,
    Ranges,
    Repeat,
    Sequence,
    meet,
    nullable,
    union,
    within,
)


def guarded(tree: Node, all_places: bool) -> Node:
    """A pattern that finds the same places, and is not tried within runs of its first repetition.

    Example:
        >>> from discreet.sql.functions.regular.tree import parse
        >>> found = guarded(parse("[0-9]+x"), all_places=False)
        >>> found.parts[0].parts[0].chars.text
        '[0-9]'
    """
    return _guarded(tree, (), _last(tree) if all_places else [])


def _guarded(node: Node, before: Ranges, last: list[tuple[Ranges, bool]]) -> Node:
    """The part with its guards.

    Args:
        node: a part with which the pattern can begin.
        before: the characters that can stand directly before it within the pattern.
        last: the value of `_last` for the whole pattern.
    """
    if isinstance(node, CaptureGroup):
        return CaptureGroup(_guarded(node.of, before, last))
    if isinstance(node, Choice):
        return Choice(tuple(_guarded(part, before, last) for part in node.parts))
    if isinstance(node, Sequence):
        parts = list(node.parts)
        for index, part in enumerate(parts):
            parts[index] = _guarded(part, before, last)
            if part == Edge(end=False) or not nullable(part):
                break
            before = union(before, _points(part))
        return Sequence(tuple(parts))
    if not isinstance(node, Repeat):
        return node
    if node.most == 1:
        return Repeat(_guarded(node.of, before, last), node.least, 1, node.lazy)
    if node.most is not None or not isinstance(node.of, Chars):
        return node
    run = node.of.points
    ends_well = all(
        not meet(points, run) or (endless and node.least > 0 and within(run, points))
        for points, endless in last
    )
    return Sequence((NotBehind(node.of), node)) if ends_well and not meet(before, run) else node


def _points(node: Node) -> Ranges:
    """All characters of a part."""
    if isinstance(node, Chars):
        return node.points
    if isinstance(node, Sequence | Choice):
        return union(*map(_points, node.parts))
    return _points(node.of) if isinstance(node, Repeat | CaptureGroup) else ()


def _last(node: Node) -> list[tuple[Ranges, bool]]:
    """The sets of characters with which a part can end before the end of the text.

    Beside each stands whether it belongs to a greedy repetition without end.
    """
    if isinstance(node, Chars):
        return [(node.points, False)]
    if isinstance(node, CaptureGroup):
        return _last(node.of)
    if isinstance(node, Choice):
        return [last for part in node.parts for last in _last(part)]
    if isinstance(node, Repeat):
        endless = node.most is None and not node.lazy and isinstance(node.of, Chars)
        return [(_points(node), endless)] if node.most != 1 else _last(node.of)
    found: list[tuple[Ranges, bool]] = []
    for part in reversed(node.parts if isinstance(node, Sequence) else ()):
        if part == Edge(end=True):
            break
        found.extend(_last(part))
        if not nullable(part):
            break
    return found
