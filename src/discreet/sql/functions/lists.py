"""Lists, and the fields of JSON texts. A function reads a list as a value of its row; its items become rows in FROM."""

from __future__ import annotations

import re
from fractions import Fraction

from discreet.sql.expressions.span import Span, Value
from discreet.sql.functions.table import (
    LETTERS,
    LISTS,
    B,
    FunctionLines,
    I,
    Rule,
    T,
    text_up_to,
    truth,
    unknown,
    whole_between,
)

LINES = FunctionLines()
define = LINES.define

_FAR = 1_000_000
_FROM = whole_between(1, _FAR, "Write tags[1:5].")
_TO = whole_between(1, _FAR, "Write tags[1:5].")
_NTH = whole_between(1, _FAR, "Write tags[1].")


def _length(a: Span) -> Span:
    return Span(Fraction(0), a.hi, a.nullable)


def _item(a: Span, *_: Span) -> Span:
    """The bounds of an item that was not clamped: those of its type, which is all that is known of it."""
    return Span(nullable=True)


def _sliced(a: Span, lo: Span, hi: Span) -> Span:
    assert lo.lo is not None
    assert hi.lo is not None
    most = max(Fraction(0), hi.lo - lo.lo + 1)
    return Span(Fraction(0), most if a.hi is None else min(a.hi, most), a.nullable, items=a.items)


def _pieces(a: Span, b: Span) -> Span:
    return Span(Fraction(0), None, a.nullable, items=Span(nullable=False))


for _l, _kind in LISTS.items():
    _t = _l.lower()
    define("len", "len(a)", _l, I, _length, "CAST(len({0}) AS BIGINT)", "how many items, NULLs among them")
    define("list_contains", "list_contains(a, b)", _l + _t, B, truth, "list_contains({0}, {1})",
           "false where no item is b, even beside NULLs")  # fmt: skip
    define("equals_any", "b = ANY(a)", _l + _t, B, lambda a, b: Span(nullable=True, domain=(False, True)),
           "(CASE WHEN {0} IS NULL OR len({0}) = 0 THEN FALSE WHEN list_contains({0}, {1}) THEN TRUE "
           "WHEN list_count({0}) < len({0}) THEN NULL ELSE list_contains({0}, {1}) END)",
           "as in DuckDB: false where a is NULL, and NULL where no item is b and one is NULL")  # fmt: skip
    define("list_extract", "a[n]", _l + "i", LETTERS[_t], _item, "list_extract({0}, {1})",
           "the n-th item, counting from 1; NULL where there are fewer; a literal",
           literals={1: _NTH})  # fmt: skip
    define(
        "nth_item",
        "",
        _l + "i",
        LETTERS[_t],
        _item,
        "list_extract({0}, {1})",
        "the same for each row of UNNEST",
    )
    define("list_slice", "a[m:n]", _l + "ii", _kind, _sliced, "list_slice({0}, {1}, {2})",
           "the items from the m-th to the n-th; literals", literals={1: _FROM, 2: _TO})  # fmt: skip
    define("list_distinct", "list_distinct(a)", _l, _kind, lambda a: a, "list_sort(list_distinct({0}))",
           "each value once, in order and without NULL")  # fmt: skip
define("string_split", "string_split(a, b)", "tt", LISTS["T"], _pieces, "string_split({0}, {1})",
       "the pieces between the separators b; a literal",
       literals={1: text_up_to(16, "Write string_split(x, ',').", 1)})  # fmt: skip

# JSON ------------------------------------------------------------------------------------------------------
STEP = re.compile(r'\."([^"\\\x00]{1,200})"|\[(\d{1,6})\]')
"""One step of a path: the name of a field, or the place of an item."""


def _path(value: Value) -> bool:
    return isinstance(value, str) and re.fullmatch(rf"\$(?:{STEP.pattern}){{1,16}}", value) is not None


PATH = Rule(
    "a literal path of up to 16 fields", "Write x ->> 'a', or x ->> '$.a.b[0]'.", _path, ('$."a"', '$[0]."b"')
)
define("json_text", "a ->> b", "tt", T, unknown, "CASE WHEN json_valid({0}) THEN json_extract_string({0}, {1}) END",
       "the field or item at the path b of a JSON text: a text without its quotes, anything else as JSON; NULL "
       "where there is none, where it is null, and where a is no JSON",
       literals={1: PATH})  # fmt: skip
