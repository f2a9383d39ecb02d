"""Whether a pattern fits somewhere in a text: simpler patterns that fit in the same texts.

Where it fits does not matter here. So groups are groups no more; a part that may be left out at either end is left out;
and a repetition takes no more than it must beside another one that takes all of its characters.
"""

from __future__ import annotations

from discreet.sql.functions.regular.tree import (
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
    nullable,
    union,
    within,
)
from discreet.sql.functions.regular.visits import MOST


def simpler(tree: Node) -> Node:
    """A pattern that fits in the same texts.

    Example:
        >>> from discreet.sql.functions.regular.tree import parse
        >>> simpler(parse("(a*)a+b*")) == parse("a")
        True
    """
    whole = _merged(tree)
    branches = whole.parts if isinstance(whole, Choice) else (whole,)
    cut = tuple(_cut(branch) for branch in branches)
    return cut[0] if len(cut) == 1 else Choice(cut)


def _merged(node: Node) -> Node:
    if isinstance(node, CaptureGroup):
        return _merged(node.of)
    if isinstance(node, Choice):
        found = tuple(
            inner for part in map(_merged, node.parts)
            for inner in (part.parts if isinstance(part, Choice) else (part,))
        )  # fmt: skip
        sets = [part for part in found if isinstance(part, Chars)]
        return _one_of(sets) if len(sets) == len(found) else Choice(found)
    if isinstance(node, Repeat):
        of = _merged(node.of)
        if (node.least, node.most) == (1, 1):
            return of
        if isinstance(of, Repeat) and (of.least, of.most, node.most) == (0, None, None):
            return of
        return Repeat(of, node.least, node.most)
    return _sequence(list(map(_merged, node.parts))) if isinstance(node, Sequence) else node


def _one_of(sets: list[Chars]) -> Chars:
    points = union(*(chars.points for chars in sets))
    return sets[0] if points == sets[0].points else Chars(points, _text(points))


def _text(points: Ranges) -> str:
    return "[" + "".join(f"\\x{{{low:x}}}-\\x{{{high:x}}}" for low, high in points) + "]"


def _sequence(parts: list[Node]) -> Node:
    flat: list[Node] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Sequence) else (part,))
    for index in range(len(flat)):
        part = flat[index]
        if _endless(part):
            for step, begin in ((-1, index - 1), (1, index + 1)):
                _absorb(flat, part, range(begin, -1 if step < 0 else len(flat), step))
    flat = [part for part in flat if not (isinstance(part, Repeat) and part.most == 0)]
    return flat[0] if len(flat) == 1 else Sequence(tuple(flat))


def _endless(part: Node) -> bool:
    return isinstance(part, Repeat) and part.most is None and isinstance(part.of, Chars)


def _absorb(parts: list[Node], by: Node, places: range) -> None:
    """Of T{m,n}S* only T{m}S* is left where S holds T."""
    assert isinstance(by, Repeat)
    assert isinstance(by.of, Chars)
    for index in places:
        part = parts[index]
        of = part.of if isinstance(part, Repeat) else part
        if not isinstance(of, Chars) or not within(of.points, by.of.points):
            return
        least = part.least if isinstance(part, Repeat) else 1
        parts[index] = _times(of, least)
        if least and of.points != by.of.points:
            return


def _times(of: Node, times: int) -> Node:
    return of if times == 1 else Repeat(of, times, times)


def _cut(branch: Node) -> Node:
    """A branch without the parts at either end that can be left out."""
    parts: list[Node] = list(branch.parts) if isinstance(branch, Sequence) else [branch]
    for end in (0, -1):
        while parts and nullable(parts[end], edges=False):
            parts.pop(end)
        if parts and isinstance(last := parts[end], Repeat):
            parts[end] = _times(last.of, last.least)
    return parts[0] if len(parts) == 1 else Sequence(tuple(parts))


def by_pieces(tree: Node) -> Node | None:
    """Of A S* B S* C, of which S holds all, a pattern that takes the first A in a run of S, then the first B behind it.

    Where it goes on from there, a later A or B would do so, too, but not the other way round: so none is tried, as
    pieces of one length each begin and end in the same order. None for patterns of another form. The first piece may
    stand at the beginning of the text, and the last one at its end; these may be outside S.

    Example:
        >>> from discreet.sql.functions.regular.tree import parse
        >>> by_pieces(parse("a.b")) is by_pieces(parse("(a|bc)[a-c]*b")) is None
        True
    """
    found = _pieces(tree)
    if found is None:
        return None
    between, (first, *rest), begins, ends = found
    run = Repeat(between, 0, None, lazy=True)
    last: list[Node] = [Repeat(between, 0, None), *rest.pop(), Edge(end=True)] if ends else []
    head: list[Node] = (
        [Edge(end=False), *first] if begins else [NotBehind(between), Once(Sequence((run, *first)))]
    )
    return Sequence((*head, *(Once(Sequence((run, *piece))) for piece in rest), *last))


def _pieces(tree: Node) -> tuple[Chars, list[list[Chars]], bool, bool] | None:
    """The set between the pieces, the pieces, and whether the first one begins the text and the last one ends it."""
    parts = list(tree.parts) if isinstance(tree, Sequence) else [tree]
    begins, ends = parts[:1] == [Edge(end=False)], parts[-1:] == [Edge(end=True)]
    found: list[list[Chars]] = [[]]
    between: Chars | None = None
    for part in parts[begins : len(parts) - ends]:
        of, least, most = (part.of, part.least, part.most) if isinstance(part, Repeat) else (part, 1, 1)
        if not isinstance(of, Chars) or most not in (None, least):
            return None
        found[-1].extend([of] * least)
        if most is None:
            if between is not None and between.points != of.points:
                return None
            between = of
            found.append([])
    if between is None or max(map(len, found)) > MOST:
        return None
    inner = found[begins : len(found) - ends]
    if not all(within(chars.points, between.points) for piece in inner for chars in piece):
        return None
    return between, found, begins, ends
