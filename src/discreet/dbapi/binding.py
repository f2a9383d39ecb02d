"""Parameters of a question, as literals of SQL.

A text is no place for a value by itself. The tokens of the parser say where a placeholder stands, so never in a string,
a name or a comment; the parser's own writer quotes the literal; and the result is read again: each literal must come
back as one token that says the value. Blanks around a literal keep it apart from its neighbours, as `e'…'` is another
kind of text than `'…'`.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any, Literal

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from discreet.errors import InvalidParameter

Style = Literal["qmark", "numeric_dollar"]
_WORDS: tuple[tuple[type, str, Callable[[Any], str]], ...] = (
    (dt.datetime, "TIMESTAMP", lambda value: value.isoformat(" ")),
    (dt.date, "DATE", lambda value: value.isoformat()),
)
"""By type, first match: the word before the literal, and its text."""


def tokens(text: str) -> list[Token]:
    """The tokens of a text; none where it has none that can be told, which the parser names later."""
    try:
        return list(DuckDB().tokenize(text))
    except TokenError:
        return []


def bind(text: str, values: Sequence[object], style: Style = "qmark") -> str:
    """Put values in the place of the placeholders of a question.

    Args:
        text: the question.
        values: one for each `?`, or, with numeric_dollar, the one of `$1` first.
        style: of the placeholders.

    Raises:
        InvalidParameter: there are more or fewer values than placeholders, or a value is none that SQL can write.

    Example:
        >>> bind("SELECT COUNT(*) FROM t WHERE town = ? AND age > ? -- why?", ["d'Or", 3])
        "SELECT COUNT(*) FROM t WHERE town =  'd''Or'  AND age >  3  -- why?"
        >>> bind("SELECT COUNT(*) FROM t WHERE age > $1 OR age < $1", [-3], "numeric_dollar")
        'SELECT COUNT(*) FROM t WHERE age >  (-3)  OR age <  (-3) '
    """
    places = list(_places(tokens(text), style))
    wanted = len(places) if style == "qmark" else max((number for number, _, _ in places), default=0)
    if wanted != len(values):
        raise InvalidParameter(
            f"The question has {wanted} placeholders, and {len(values)} values were given.",
            "Give one value for each.",
        )
    pieces, last = [], 0
    for number, start, end in places:
        pieces += [text[last:start], f" {literal(values[number - 1])} "]
        last = end
    return "".join([*pieces, text[last:]])


def count(text: str, style: Style) -> int:
    """How many values a question needs."""
    places = list(_places(tokens(text), style))
    return len(places) if style == "qmark" else max((number for number, _, _ in places), default=0)


def literal(value: object) -> str:
    """A value as a literal of SQL.

    Raises:
        InvalidParameter: there is no literal of its type.

    Example:
        >>> literal(None), literal(True), literal(-1.5), literal("it's"), literal(dt.date(2024, 2, 1))
        ('NULL', 'TRUE', '(-1.5)', "'it''s'", "DATE '2024-02-01'")
    """
    if value is None or _is_missing(value):
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        return literal(_of_numpy(value))
    if isinstance(value, int | float | Decimal) and _is_finite(value):
        number = _digits(value)
        size = _seen(number.removeprefix("-"), TokenType.NUMBER)
        return size if size == number else f"({number})"
    if isinstance(value, str):
        plain = str.__str__(value)  # a member of an enumeration shows its name, or has methods of its own
        return _seen(exp.Literal.string(plain).sql("duckdb"), TokenType.STRING, plain)
    for kind, word, write in _WORDS:
        if isinstance(value, kind) and getattr(value, "tzinfo", None) is None:
            return f"{word} {_seen(exp.Literal.string(write(value)).sql('duckdb'), TokenType.STRING)}"
    raise InvalidParameter(
        f"A value of type {type(value).__name__} cannot be a parameter.",
        "Give None, a bool, a finite number, a text, a date, or a datetime without a zone.",
    )


def _is_missing(value: object) -> bool:
    """Whether a value is the missing moment or the missing value of pandas, which need not be installed."""
    kind = type(value)
    return kind.__module__.partition(".")[0] == "pandas" and kind.__name__ in ("NaTType", "NAType")


def _of_numpy(value: Any) -> object:
    """A value of NumPy as Python's own.

    Raises:
        InvalidParameter: it has more digits than a double, or is a moment or a span of time in a unit for which Python
            has a bare number.
    """
    found: object = value.item()
    kind = str(getattr(getattr(value, "dtype", None), "kind", ""))
    if hasattr(found, "item"):
        raise InvalidParameter(
            f"A value of type {type(found).__name__} cannot be a parameter.",
            "Give float(value) in its place.",
        )
    if kind in ("m", "M") and isinstance(found, int):
        raise InvalidParameter(
            f"A {type(value).__name__} of this unit cannot be a parameter.",
            "Give value.astype('datetime64[us]'), or the number of days or seconds.",
        )
    return found


def _digits(value: float | Decimal) -> str:
    """A number as SQL writes it; that of a subclass, too, which may show itself in another way."""
    if isinstance(value, Decimal):
        return f"{Decimal(value):f}"
    return int.__repr__(value) if isinstance(value, int) else float.__repr__(value)


def _is_finite(value: float | Decimal) -> bool:
    """Whether a number is one of up to some thousand digits."""
    if isinstance(value, int):
        return value.bit_length() < LARGEST
    if not isinstance(value, Decimal):
        return math.isfinite(value)
    # A few letters, such as 1E999999999, would be written as a thousand million digits.
    last = value.as_tuple().exponent if value.is_finite() else None
    return isinstance(last, int) and last >= -MOST_DIGITS and value.adjusted() <= MOST_DIGITS


def _places(found: Sequence[Token], style: Style) -> Iterator[tuple[int, int, int]]:
    """The placeholders: the number of the value, from 1 on, and the range of the text."""
    if style == "qmark":
        # The ? of a cast such as ?::DATE is one token with its colons.
        marks = (token for token in found if token.token_type in (TokenType.PLACEHOLDER, TokenType.QDCOLON))
        yield from ((number, token.start, token.start + 1) for number, token in enumerate(marks, 1))
        return
    for sign, digits in pairwise(found):
        if sign.token_type is TokenType.PARAMETER and sign.end + 1 == digits.start and digits.text.isdigit():
            if not 1 <= int(digits.text) <= MOST:
                raise InvalidParameter(f"A placeholder is not $1 to ${MOST}.", "Number them from $1 on.")
            yield int(digits.text), sign.start, digits.end + 1


MOST = 1000
"""Placeholders of a question."""
LARGEST = 1 << 12
"""Bits of a whole number; doubles have 1,024."""
MOST_DIGITS = 1250
"""Digits of a decimal before its point, and behind it."""


def _seen(written: str, kind: TokenType, value: str | None = None) -> str:
    """See that a literal is read as one token, and as the value that it was written from."""
    found = tokens(written)
    if len(found) != 1 or found[0].token_type is not kind or value not in (None, found[0].text):
        raise InvalidParameter("A parameter cannot be written as a literal of SQL.", "Give a plain one.")
    return written
