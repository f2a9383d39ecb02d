"""A portable pattern (`functions/patterns.py`) as a tree."""

from __future__ import annotations

import re
from functools import lru_cache

from discreet.records import dataclass

Ranges = tuple[tuple[int, int], ...]
"""Code points, as ranges that are sorted and apart."""
LAST = 0x10FFFF


@dataclass(frozen=True)
class Chars:
    """One character of a set; `text` is how a pattern writes it."""

    points: Ranges
    text: str


@dataclass(frozen=True)
class Edge:
    """The beginning or the end of the whole text."""

    end: bool


@dataclass(frozen=True)
class NotBehind:
    """A place that is not directly behind a character of a set."""

    chars: Chars


@dataclass(frozen=True)
class Sequence:
    """One part behind the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Choice:
    """One of several parts, the first that fits."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Repeat:
    """A part several times, as often as possible unless it is lazy; `most` None is without end."""

    of: Node
    least: int
    most: int | None
    lazy: bool = False


@dataclass(frozen=True)
class CaptureGroup:
    """A part that can be referred to."""

    of: Node


@dataclass(frozen=True)
class Once:
    """A part in the first way in which it fits, and in no other one."""

    of: Node


Node = Chars | Edge | NotBehind | Sequence | Choice | Repeat | CaptureGroup | Once

_PIECE = re.compile(
    r"\\.|(?P<set>\[\^?(?:\\.|[^\]\\])*\])|(?P<quantifier>(?:[*+?]|\{\d+(?:,\d*)?\})\??)|(?P<open>\((?:\?:)?)|.",
    re.DOTALL,
)


@lru_cache(maxsize=256)
def parse(pattern: str) -> Node:
    r"""The tree of a portable pattern.

    Example:
        >>> parse("[a-c]+")
        Repeat(of=Chars(points=((97, 99),), text='[a-c]'), least=1, most=None, lazy=False)
    """
    stack: list[tuple[bool, list[list[Node]]]] = [(False, [[]])]
    place = 0
    while place < len(pattern):
        found = _PIECE.match(pattern, place)
        assert found is not None
        piece, place, kind = found[0], found.end(), found.lastgroup
        if kind == "open":
            stack.append((piece == "(", [[]]))
        elif kind == "quantifier":
            stack[-1][1][-1].append(_repeat(stack[-1][1][-1].pop(), piece))
        elif piece == "|":
            stack[-1][1].append([])
        elif piece == ")":
            captures, branches = stack.pop()
            whole = _choice(branches)
            stack[-1][1][-1].append(CaptureGroup(whole) if captures else whole)
        elif piece in "^$":
            stack[-1][1][-1].append(Edge(piece == "$"))
        else:
            stack[-1][1][-1].append(Chars(_points(piece), piece))
    return _choice(stack[0][1])


def _choice(branches: list[list[Node]]) -> Node:
    made = tuple(parts[0] if len(parts) == 1 else Sequence(tuple(parts)) for parts in branches)
    return made[0] if len(made) == 1 else Choice(made)


def _repeat(of: Node, piece: str) -> Repeat:
    lazy = len(piece) > 1 and piece.endswith("?")
    said = piece.removesuffix("?") if lazy else piece
    plain = {"*": (0, None), "+": (1, None), "?": (0, 1)}
    if said in plain:
        least, most = plain[said]
        return Repeat(of, least, most, lazy)
    low, comma, high = said[1:-1].partition(",")
    return Repeat(of, int(low), (int(high) if high else None) if comma else int(low), lazy)


def _points(piece: str) -> Ranges:
    if not piece.startswith("["):
        return ((ord(piece[-1]), ord(piece[-1])),)
    negated = piece[1] == "^"
    items = re.findall(r"\\.|[^\\]", piece[1 + negated : -1], re.DOTALL)
    found, index = [], 0
    while index < len(items):
        low = high = ord(items[index][-1])
        if items[index + 1 : index + 2] == ["-"] and index + 2 < len(items):
            high = ord(items[index + 2][-1])
            index += 2
        found.append((low, high))
        index += 1
    joined = union(*((span,) for span in found))
    return _others(joined) if negated else joined


def union(*sets: Ranges) -> Ranges:
    """All points of some sets.

    Example:
        >>> union(((5, 7),), ((1, 2), (3, 4)))
        ((1, 7),)
    """
    out: list[tuple[int, int]] = []
    for low, high in sorted(span for points in sets for span in points):
        if out and low <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(high, out[-1][1]))
        else:
            out.append((low, high))
    return tuple(out)


def _others(points: Ranges) -> Ranges:
    edges = [-1, *(edge for low, high in points for edge in (low, high)), LAST + 1]
    return tuple(
        (low + 1, high - 1) for low, high in zip(edges[::2], edges[1::2], strict=True) if low + 1 < high
    )


def meet(a: Ranges, b: Ranges) -> bool:
    """Whether two sets have a point in common."""
    return any(low <= top and bottom <= high for low, high in a for bottom, top in b)


def within(a: Ranges, b: Ranges) -> bool:
    """Whether all points of the first set are in the second."""
    return all(any(bottom <= low and high <= top for bottom, top in b) for low, high in a)


def nullable(node: Node, edges: bool = True) -> bool:
    """Whether a part can fit an empty text: at some place, or, without edges, at every place."""
    if isinstance(node, Sequence):
        return all(nullable(part, edges) for part in node.parts)
    if isinstance(node, Choice):
        return any(nullable(part, edges) for part in node.parts)
    if isinstance(node, Repeat):
        return node.least == 0 or nullable(node.of, edges)
    return (
        nullable(node.of, edges)
        if isinstance(node, CaptureGroup | Once)
        else edges and not isinstance(node, Chars)
    )
