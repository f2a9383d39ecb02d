"""A tree of boxes with facts in them, as text for a terminal and as a picture."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TypeAlias

from discreet.escaping import markup, prose
from discreet.records import dataclass

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"


@dataclass(frozen=True, slots=True)
class DiagramFact:
    """One thing that is known.

    Attributes:
        name: of the thing, for people and as a key of JSON.
        text: for people.
        data: for machines; the text when it is None.
        many: whether there may be several of this name, which are then a list of JSON.
    """

    name: str
    text: str
    data: Json = None
    many: bool = False


@dataclass(frozen=True, slots=True)
class DiagramNode:
    """A box.

    Attributes:
        kind: of the box.
        title: its subject.
        facts: the facts about it.
        children: the boxes that it is made from.
    """

    kind: str
    title: str
    facts: tuple[DiagramFact, ...] = ()
    children: tuple[DiagramNode, ...] = ()

    def to_dict(self) -> dict[str, Json]:
        """The same for machines."""
        out: dict[str, Json] = {"kind": self.kind, "title": self.title}
        for fact in self.facts:
            data = fact.text if fact.data is None else fact.data
            kept = out.setdefault(fact.name, []) if fact.many else None
            if isinstance(kept, list):
                kept.append(data)
            else:
                out[fact.name] = data
        if self.children:
            out["from"] = [child.to_dict() for child in self.children]
        return out

    def walk(self) -> Iterator[DiagramNode]:
        """This box and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()


# Text --------------------------------------------------------------------------------------------------------

WIDTH = 110
"""Columns of a line of text before it is folded."""


def draw(node: DiagramNode) -> str:
    """Draw a tree with box characters.

    Example:
        >>> print(draw(DiagramNode("release", "r", (DiagramFact("groups", "3"),), (DiagramNode("table", "visits"),))))
        release r
        │  groups  3
        └─ table visits
    """
    return "\n".join(_lines(node, "", ""))


def _lines(node: DiagramNode, first: str, rest: str) -> Iterator[str]:
    yield from _folded(
        f"{node.kind} {node.title}".rstrip(), first, rest + ("│    " if node.children else "     ")
    )
    stem = rest + ("│  " if node.children else "   ")
    width = max((len(fact.name) for fact in node.facts), default=0)
    before = ""
    for fact in node.facts:
        label = fact.name if fact.name != before else ""
        before = fact.name
        yield from _folded(fact.text, f"{stem}{label.ljust(width)}  ", f"{stem}{' ' * width}  ")
    for child in node.children:
        last = child is node.children[-1]
        yield from _lines(child, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "))


def _folded(text: str, first: str, rest: str) -> Iterator[str]:
    lines = _wrapped(text, max(30, WIDTH - len(rest)))
    yield (first + lines[0]).rstrip()
    for line in lines[1:]:
        yield rest + line


def _wrapped(text: str, width: int) -> list[str]:
    """The lines of a text, those that are too long folded at spaces and set in."""
    out: list[str] = []
    for line in prose(text).split("\n"):
        inner = " " * (len(line) - len(line.lstrip()) + 2)
        out += textwrap.wrap(
            line, width, subsequent_indent=inner, break_long_words=False, break_on_hyphens=False
        )
    return out or [""]


# Picture -----------------------------------------------------------------------------------------------------

CHAR, LINE, PAD, GAP, RISE = 7.3, 17, 12, 28, 44
"""Pixels: a character of the fixed-width font, a line, inside a box, between boxes, between storeys."""
FOLD = 84
"""Characters of a line inside a box."""
COLOURS = {
    "public": "#e8f3ea",
    "post-processing": "#e8f3ea",
    "public table": "#e8f3ea",
    "release": "#fdf0d9",
    "private table": "#f6dfdf",
}
PLAIN = "#eef1f6"


@dataclass(frozen=True, slots=True)
class _Box:
    node: DiagramNode
    lines: tuple[str, ...]
    children: tuple[_Box, ...]

    @property
    def width(self) -> float:
        return max(len(line) for line in self.lines) * CHAR + 2 * PAD

    @property
    def height(self) -> float:
        return len(self.lines) * LINE + 2 * PAD - 4

    @property
    def spread(self) -> float:
        """The width of the box with everything under it."""
        under = sum(child.spread for child in self.children) + GAP * max(0, len(self.children) - 1)
        return max(self.width, under)

    @property
    def depth(self) -> float:
        """The height of the box with everything under it."""
        return self.height + max((RISE + child.depth for child in self.children), default=0.0)


def svg(node: DiagramNode) -> str:
    """Draw a tree as an SVG picture: data flows upwards, from the tables to the answer.

    Example:
        >>> svg(DiagramNode("table", "visits")).startswith("<svg ")
        True
    """
    box = _box(node)
    width, height = box.spread + 2 * GAP, box.depth + 2 * GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" '
        'font-size="12">',
        '<defs><marker id="up" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#667"/></marker></defs>',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>',
        *_box_with_children(box, float(GAP), float(GAP)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _box(node: DiagramNode) -> _Box:
    width = max((len(fact.name) for fact in node.facts), default=0)
    lines = textwrap.wrap(f"{node.kind} {node.title}".rstrip(), FOLD)
    before = ""
    for fact in node.facts:
        label = fact.name if fact.name != before else ""
        before = fact.name
        folded = _wrapped(fact.text, max(24, FOLD - width - 2))
        lines += [
            f"{(label if index == 0 else '').ljust(width)}  {text}" for index, text in enumerate(folded)
        ]
    return _Box(node, tuple(lines), tuple(_box(child) for child in node.children))


def _box_with_children(box: _Box, left: float, top: float) -> Iterator[str]:
    """A box in the middle above its children, and an arrow from each of them."""
    x, middle = left + (box.spread - box.width) / 2, left + box.spread / 2
    colour = COLOURS.get(box.node.kind, PLAIN)
    yield (
        f'<rect x="{x:.1f}" y="{top:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="6" '
        f'fill="{colour}" stroke="#667"/>'
    )
    for index, line in enumerate(box.lines):
        weight = ' font-weight="bold"' if index == 0 else ""
        y = top + PAD + 9 + index * LINE
        yield f'<text x="{x + PAD:.1f}" y="{y:.1f}" xml:space="preserve"{weight}>{markup(line)}</text>'
    under = sum(child.spread for child in box.children) + GAP * max(0, len(box.children) - 1)
    at_x = left + (box.spread - under) / 2
    for child in box.children:
        foot, head = top + box.height, top + box.height + RISE
        start = at_x + child.spread / 2
        reach = min(max(start, x + PAD), x + box.width - PAD) if len(box.children) > 1 else middle
        yield (
            f'<path d="M{start:.1f} {head:.1f}C{start:.1f} {head - RISE / 2:.1f} {reach:.1f} {foot + RISE / 2:.1f} '
            f'{reach:.1f} {foot + 1:.1f}" fill="none" stroke="#667" marker-end="url(#up)"/>'
        )
        yield from _box_with_children(child, at_x, head)
        at_x += child.spread + GAP
