"""Random patterns and texts, and all ways of a pattern, counted one by one."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

from discreet.sql.functions.regular.tree import (
    CaptureGroup,
    Chars,
    Choice,
    Edge,
    Node,
    NotBehind,
    Once,
    Sequence,
)

ATOMS = ["a", "b", "c", "[ab]", "[^a]", "[^\n]", "\U0001f600", "\n", "[\u00e9-\U0001f5ff]", "[b-d]"]
QUANTIFIERS = ["*", "+", "?", "{2}", "{1,3}", "{2,}", "*?", "+?", "??", "{0,2}?"]
LETTERS = ["a", "a", "a", "b", "b", "c", "\n", "\U0001f600", "d", "\u00e9"]


def pattern(made: random.Random, depth: int = 3) -> str:
    """A portable pattern."""
    kind = made.random()
    if depth == 0 or kind < 0.3:
        return made.choice(ATOMS[:6] if made.random() < 0.8 else ATOMS)
    inner = pattern(made, depth - 1)
    if kind < 0.65:
        return inner + "".join(pattern(made, depth - 1) for _ in range(made.randint(1, 3)))
    if kind < 0.75:
        return f"({inner}|{pattern(made, depth - 1)})"
    if kind < 0.9:
        return made.choice([*ATOMS[:6], f"({inner})", f"(?:{inner})"]) + made.choice(QUANTIFIERS)
    return made.choice([f"^{inner}", f"{inner}$", f"(^|{inner})", f"(?:|{inner})"])


def texts(made: random.Random, many: int) -> list[str]:
    """Short texts, the empty one among them."""
    return ["", *("".join(made.choices(LETTERS, k=made.randint(1, 8))) for _ in range(many))]


def visited(tree: Node, text: str) -> int:
    """How many ways stand before the character where most stand, all tried from every place of a text."""
    stands: Counter[int] = Counter()

    def follow(node: Node, at: int, then: Callable[[int], None]) -> None:
        if isinstance(node, Chars):
            stands[at] += at < len(text)
            if at < len(text) and any(low <= ord(text[at]) <= high for low, high in node.points):
                then(at + 1)
        elif isinstance(node, Edge):
            if at == (len(text) if node.end else 0):
                then(at)
        elif isinstance(node, NotBehind):
            if at == 0 or not any(low <= ord(text[at - 1]) <= high for low, high in node.chars.points):
                then(at)
        elif isinstance(node, Choice):
            for part in node.parts:
                follow(part, at, then)
        elif isinstance(node, Sequence):
            rest = Sequence(node.parts[1:])
            follow(node.parts[0], at, lambda on: follow(rest, on, then)) if node.parts else then(at)
        elif isinstance(node, CaptureGroup | Once):
            follow(node.of, at, then)
        else:
            repeat(node.of, 0, node.least, node.most, at, then)

    def repeat(
        of: Node, times: int, least: int, most: int | None, at: int, then: Callable[[int], None]
    ) -> None:
        if times >= least:
            then(at)
        if most is None or times < most:
            follow(of, at, lambda on: repeat(of, times + 1, least, most, on, then))

    for start in range(len(text) + 1):
        follow(tree, start, lambda _: None)
    return max(stands.values(), default=0)
