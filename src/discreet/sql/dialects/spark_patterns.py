"""Regular expressions on Spark, whose Java tries all ways of a pattern, one after the other.

A pattern is given to Java where no character of any text is tried too often (`functions/regular/backtracking.py`).
Whether another one fits is told by its automaton, which Spark's own functions run over the characters.
"""

from __future__ import annotations

from discreet.sql.expressions.expression import Call, Literal
from discreet.sql.functions.regular.automaton import Automaton
from discreet.sql.functions.regular.backtracking import fits, place
from discreet.sql.functions.regular.tree import (
    CaptureGroup,
    Chars,
    Choice,
    Edge,
    Node,
    NotBehind,
    Once,
    Repeat,
    Sequence,
)

CHUNK = 4096
"""How many characters stand in memory one by one."""


def text(value: str) -> str:
    """Spark reads escapes, and ${…} as a variable, inside a text; plain letters and digits need neither."""
    plain = "".join(c if (c.isalnum() and c.isascii()) or c in " .,-_:" else _escaped(c) for c in value)
    return f"'{plain}'"


def _escaped(c: str) -> str:
    return f"\\u{ord(c):04x}" if ord(c) < 0x10000 else f"\\U{ord(c):08x}"


def java(tree: Node) -> str:
    r"""A pattern as Java reads it, to which $ is also the place before a last line feed.

    Example:
        >>> from discreet.sql.functions.regular.tree import parse
        >>> print(java(parse(r"^[$]\$$")))
        ^[$]\$\z
    """
    if isinstance(tree, Chars):
        return tree.text
    if isinstance(tree, Edge):
        return r"\z" if tree.end else "^"
    if isinstance(tree, NotBehind):
        return f"(?<!{tree.chars.text})"
    if isinstance(tree, CaptureGroup):
        return f"({java(tree.of)})"
    if isinstance(tree, Once):
        return f"(?>{java(tree.of)})"
    if isinstance(tree, Sequence):
        return "".join(f"(?:{java(part)})" if isinstance(part, Choice) else java(part) for part in tree.parts)
    if isinstance(tree, Choice):
        return "|".join(map(java, tree.parts))
    of = java(tree.of) if isinstance(tree.of, Chars | CaptureGroup) else f"(?:{java(tree.of)})"
    return of + _times(tree, of) + "?" * tree.lazy


def _times(tree: Repeat, of: str) -> str:
    """A greedy {2,} goes deeper into Java's stack with each character beyond the first 65,536 among others; * does not."""
    if tree.most is not None:
        return "?" if (tree.least, tree.most) == (0, 1) else f"{{{tree.least},{tree.most}}}"
    if tree.least < 2:
        return "*+"[tree.least]
    return f"{{{tree.least},}}" if tree.lazy else f"{{{tree.least}}}{of}*"


def matches(call: Call) -> str:
    """Whether a pattern fits somewhere."""
    found = fits(_pattern(call))
    assert found is not None
    return _run(found) if isinstance(found, Automaton) else f"({{0}} RLIKE {text(java(found))})"


def placed(call: Call) -> str:
    """The place where a pattern fits, or all such places by another text, in which Java calls the group $1."""
    found = place(_pattern(call), call.name == "regexp_replace_all")
    assert found is not None
    pattern = text(java(found))
    if call.name == "regexp_extract":
        return f"regexp_extract({{0}}, {pattern}, 1)"
    new = call.args[2]
    assert isinstance(new, Literal)
    return f"regexp_replace({{0}}, {pattern}, {text(str(new.value).replace('$', chr(92) + '$').replace(chr(92) + '1', '$1'))})"


def _pattern(call: Call) -> str:
    pattern = call.args[1]
    assert isinstance(pattern, Literal)
    return str(pattern.value)


def _run(read: Automaton) -> str:
    """The SQL that runs an automaton over a text, one chunk after the other so that it needs little memory."""
    step = f"element_at({_numbers(read.table)}, __q * {read.many} + {_kind(read)} + 1)"
    chunk = f"aggregate(split(__t, ''), __s, (__q, __c) -> {step})"
    chunks = f"regexp_extract_all({{0}}, {text(f'(?s).{{1,{CHUNK}}}+')}, 0)"
    return f"aggregate({chunks}, 0, (__s, __t) -> {chunk}, __s -> element_at({_numbers(read.fits)}, __s + 1) = 1)"


def _numbers(values: tuple[int, ...]) -> str:
    return f"CAST(split('{','.join(str(int(value)) for value in values)}', ',') AS ARRAY<INT>)"


def _kind(read: Automaton) -> str:
    """The kind of a character, by halves of the ranges."""

    def among(low: int, high: int) -> str:
        if len(set(read.kinds[low:high])) == 1:
            return str(read.kinds[low])
        half = (low + high) // 2
        return (
            f"CASE WHEN ascii(__c) < {read.firsts[half]} THEN {among(low, half)} ELSE {among(half, high)} END"
        )

    return among(0, len(read.firsts))
