"""Regular expressions: the core that means the same on every engine, rewritten where engines differ."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from discreet.sql.expressions.span import Value
from discreet.sql.functions.table import Rule

_SETS = {"d": "0-9", "w": "0-9A-Za-z_", "s": " \t\n\f\r"}
_PUNCTUATION = frozenset("\\.[]{}()*+?^$|/-_'\"#&%@!:;,<>=~` ")
MOST = 200
"""The longest pattern."""
MOST_TIMES = 255
"""How often {n} may repeat."""
_REPEAT = re.compile(r"(?:[*+?]|\{\d+(?:,\d*)?\})\??")


def portable(pattern: str) -> str:
    r"""Rewrite a pattern so that every engine reads the same.

    A dot is any character but a line feed, \d \w \s are ASCII, ^ and $ are the ends of the whole text.

    Raises:
        ValueError: it has something that engines read differently, which the message names.

    Example:
        >>> portable(r"^\d+\.[a-z\d]?$")
        '^[0-9]+\\.[a-z0-9]?$'
    """
    if len(pattern) > MOST:
        raise ValueError(f"it is longer than {MOST} characters")
    out, place = [], 0
    repeatable = False  # whether the part read last may have * + ? or {} behind it
    while place < len(pattern):
        c = pattern[place]
        if c in "*+?{":
            said = _REPEAT.match(pattern, place)
            if (
                said is None
                or not repeatable
                or any(int(n) > MOST_TIMES for n in re.findall(r"\d+", said[0]))
            ):
                raise ValueError(
                    f"{c} must stand behind the part that it repeats, up to {MOST_TIMES} times, or be written \\{c}"
                )
            out.append(said[0])
            place, repeatable = said.end(), False
            continue
        repeatable = c not in "^$(|"
        if c == "\\":
            out.append(_escape(pattern[place + 1 : place + 2], inside=False))
            place += 2
        elif c == "[":
            text, place = _bracket(pattern, place + 1)
            out.append(text)
        elif c == "(" and pattern[place + 1 : place + 2] == "?" and pattern[place + 2 : place + 3] != ":":
            raise ValueError(f"(?{pattern[place + 2 : place + 3]} is not supported")
        elif pattern.startswith("(?:", place):
            out.append("(?:")
            place += 3
        else:
            out.append("[^\n]" if c == "." else c)
            place += 1
    return "".join(out)


def _escape(c: str, inside: bool) -> str:
    if c in _SETS:
        return _SETS[c] if inside else f"[{_SETS[c]}]"
    if c.lower() in _SETS and not inside:
        return f"[^{_SETS[c.lower()]}]"
    if c in _PUNCTUATION:
        return f"\\{c}"
    raise ValueError(f"\\{c} is not supported" if c else "it ends with a backslash")


def _bracket(pattern: str, index: int) -> tuple[str, int]:
    """A set of characters, from behind its opening bracket."""
    out = ["["]
    if pattern[index : index + 1] == "^":
        out.append("^")
        index += 1
    first = True
    while index < len(pattern):
        c = pattern[index]
        if c == "]" and not first:
            return "".join(out) + "]", index + 1
        if c in "[&" and (c == "[" or pattern[index + 1 : index + 2] == "&"):
            raise ValueError(f"{c} inside [ ] must be written \\{c}")
        if c == "\\":
            out.append(_escape(pattern[index + 1 : index + 2], inside=True))
            index += 1
        else:
            out.append("\\]" if c == "]" else c)
        index += 1
        first = False
    raise ValueError("a [ is not closed")


@lru_cache(maxsize=256)
def problem(pattern: str) -> str:
    """The fault of a pattern, or None: the pattern is tried on an empty text in a database without data."""
    from discreet.engines.duckdb.connection import literal
    from discreet.engines.sandbox import Sandbox
    from discreet.errors import PostProcessingError

    try:
        with Sandbox({}) as sandbox:
            sandbox.run(f"SELECT regexp_matches('', {literal(portable(pattern))})")
    except ValueError as error:
        return str(error)
    except PostProcessingError:
        return "it is no regular expression"
    return ""


def matching(pattern: str, names: Sequence[str]) -> list[str]:
    """Those of some names in which a pattern is found, as DuckDB finds it."""
    from discreet.engines.duckdb.connection import literal
    from discreet.engines.sandbox import Sandbox

    tests = ", ".join(f"regexp_matches({literal(name)}, {literal(pattern)})" for name in names)
    with Sandbox({}) as sandbox:
        (found,) = sandbox.run(f"SELECT [{tests}] AS v").column("v").to_pylist()
    return [name for name, fits in zip(names, found, strict=True) if fits]


def _allows(value: Value) -> bool:
    return isinstance(value, str) and "\0" not in value and not problem(value)


def groups(pattern: str) -> int:
    r"""How many groups of a pattern can be referred to.

    Example:
        >>> groups(r"(a|(?:b))[(]\((c)")
        2
    """
    plain = re.sub(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", "", pattern)
    return len(re.findall(r"\((?!\?)", plain))


def one_group(pattern: str, group: int) -> str:
    r"""The pattern with one group alone that can be referred to: the one of that number, or all of it for 0.

    Example:
        >>> one_group("(a)-(b)", 2), one_group("(a)-b", 0)
        ('(?:a)-(b)', '((?:a)-b)')
    """
    out, number = [], 0
    for piece in re.findall(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?|\((?!\?)|.", pattern, re.DOTALL):
        number += piece == "("
        out.append("(?:" if piece == "(" and number != group else piece)
    return "".join(out) if group else f"({''.join(out)})"


@lru_cache(maxsize=256)
def finds_nothing(pattern: str) -> bool:
    """Whether a pattern fits the empty text, so that engines would differ in where it fits."""
    from discreet.engines.duckdb.connection import literal
    from discreet.engines.sandbox import Sandbox

    with Sandbox({}) as sandbox:
        (found,) = (
            sandbox.run(f"SELECT regexp_matches('', {literal(portable(pattern))}) AS v")
            .column("v")
            .to_pylist()
        )
    return bool(found)


def _places(value: Value) -> bool:
    return _allows(value) and isinstance(value, str) and groups(value) == 1 and not finds_nothing(value)


PLACE = Rule(
    "a literal regular expression that fits no empty text", r"Write regexp_extract(x, '^([a-z]+)@', 1).", _places,
    ("(a)", "^([^-]+)-", "([0-9]{1,3})$", "(?:x|k)(.?)"),
)  # fmt: skip
"""A pattern whose place matters; with one group, which `one_group` makes."""
SUBSTITUTE = Rule(
    "a literal of at most 16 characters, in which \\1 is the first group",
    r"Write regexp_replace(x, '[0-9]+', '#', 'g').",
    lambda v: isinstance(v, str) and len(v) <= 16 and re.fullmatch(r"(?:[^\\\0]|\\1)*", v) is not None,
    ("", "-", "<\\1$1>"),
)  # fmt: skip
PATTERN = Rule(
    "a literal regular expression of the core that all engines share",
    r"Write regexp_matches(x, '^[A-Z]\d+').",
    _allows,
    ("", "a", "^[A-Za-z]*$", "(a|b)+c?", "[^\n]{1,3}$"),
)
