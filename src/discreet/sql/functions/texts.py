"""Texts. A character is a code point everywhere: an accent written as a combining mark counts by itself."""

from __future__ import annotations

from fractions import Fraction

from discreet.sql.expressions.span import Span
from discreet.sql.functions.patterns import PATTERN, PLACE, SUBSTITUTE
from discreet.sql.functions.table import (
    B,
    FunctionLines,
    I,
    T,
    constant_bounds,
    text_up_to,
    truth,
    unknown,
    whole_between,
)

LINES = FunctionLines()
define = LINES.define

LONGEST_ARGUMENT = 4096
"""A function that makes longer texts of its arguments reads so many characters of each."""
_CUT = f"of the first {LONGEST_ARGUMENT} characters"
_FAR = 1_000_000


def _count(a: Span, *rest: Span) -> Span:
    return Span(Fraction(0), None, a.nullable or any(r.nullable for r in rest))


for _name, _operator in (("like", "LIKE"), ("ilike", "ILIKE")):
    define(_name, f"a {_operator} b", "tt", B, truth, f"({{0}} {_operator} {{1}})",
           "b is a literal; no escape character",
           literals={1: text_up_to(1000, "Write c LIKE '%word%'.")})  # fmt: skip
define("regexp_matches", "regexp_matches(a, b)", "tt", B, truth, "regexp_matches({0}, {1})",
       "whether the pattern fits somewhere; a literal of the common core of all engines",
       literals={1: PATTERN})  # fmt: skip
define("regexp_extract", "regexp_extract(a, b, n)", "tt", T, unknown, "regexp_extract({0}, {1}, 1)",
       "the first place where the pattern b fits, or its n-th group; empty where there is none; literals",
       literals={1: PLACE})  # fmt: skip
for _name, _all, _where in (
    ("regexp_replace", "", "the first place"),
    ("regexp_replace_all", ", 'g'", "every place"),
):
    define(_name, f"regexp_replace(a, b, c{_all})", "ttt", T, unknown,
           f"regexp_replace({{0}}, {{1}}, {{2}}{_all})",
           f"{_where} where the pattern b fits by c, in which \\1 is the first group, {_CUT}; literals", shortens=True,
           literals={1: PLACE, 2: SUBSTITUTE})  # fmt: skip
for _name in ("starts_with", "ends_with", "contains"):
    define(_name, f"{_name}(a, b)", "tt", B, truth, f"{_name}({{0}}, {{1}})", "true for an empty b")

define("lower", "lower(a)", "t", T, unknown, "lower({0})", "code point by code point")
define("upper", "upper(a)", "t", T, unknown, "upper({0})", "code point by code point")
for _name, _where in (("trim", "at both ends"), ("ltrim", "at the beginning"), ("rtrim", "at the end")):
    define(_name, f"{_name}(a)", "t", T, unknown, f"{_name}({{0}})", f"without the spaces {_where}")
    define(_name, f"{_name}(a, b)", "tt", T, unknown, f"{_name}({{0}}, {{1}})",
           f"without the characters of b {_where}; b is a literal",
           literals={1: text_up_to(100, "Write trim(x, '.').", 1)})  # fmt: skip
for _name in ("left", "right"):
    define(_name, f"{_name}(a, n)", "ti", T, unknown, f"{_name}({{0}}, CAST({{1}} AS INTEGER))",
           f"the {'first' if _name == 'left' else 'last'} n characters; n is a literal from 0",
           literals={1: whole_between(0, _FAR, f"Write {_name}(x, 2).")})  # fmt: skip
_PLACE = whole_between(1, _FAR, "Write substring(x, 1, 2).")
_LENGTH = whole_between(0, _FAR, "Write substring(x, 1, 2).")
define("substring", "substring(a, b, n)", "tii", T, unknown,
       "substring({0}, CAST({1} AS INTEGER), CAST({2} AS INTEGER))",
       "n characters from the b-th on, counting from 1; literals", literals={1: _PLACE, 2: _LENGTH})  # fmt: skip
define("substring", "substring(a, b)", "ti", T, unknown, "substring({0}, CAST({1} AS INTEGER))",
       "all from the b-th character on, counting from 1; a literal", literals={1: _PLACE})  # fmt: skip
define("split_part", "split_part(a, b, n)", "tti", T, unknown, "split_part({0}, {1}, CAST({2} AS INTEGER))",
       "the n-th piece between the separators b, counting from 1; empty when there are fewer; literals",
       literals={1: text_up_to(16, "Write split_part(x, ',', 1).", 1),
                 2: whole_between(1, 1000, "Write split_part(x, ',', 1).")})  # fmt: skip
define("concat", "a || b", "tt", T, unknown, "({0} || {1})", _CUT, shortens=True)
define("replace", "replace(a, b, c)", "ttt", T, unknown, "replace({0}, {1}, {2})",
       f"every b by c, {_CUT}; b and c are literals", shortens=True,
       literals={1: text_up_to(100, "Write replace(x, '-', '').", 1),
                 2: text_up_to(16, "Write replace(x, '-', '').")})  # fmt: skip
define("lpad", "lpad(a, n, b)", "tit", T, unknown, "lpad({0}, CAST({1} AS INTEGER), {2})",
       "n characters, filled with b at the left or cut at the right; literals",
       literals={1: whole_between(0, 100, "Write lpad(x, 3, '0')."),
                 2: text_up_to(1, "Write lpad(x, 3, '0').", 1)})  # fmt: skip
define("reverse", "reverse(a)", "t", T, unknown, "reverse({0})", f"{_CUT}, character by character", shortens=True,
       duckdb="array_to_string(list_reverse(string_split({0}, '')), '')")  # fmt: skip

define("length", "length(a)", "t", I, _count, "CAST(length({0}) AS BIGINT)", "in characters")
define("strlen", "strlen(a)", "t", I, _count, "CAST(strlen({0}) AS BIGINT)", "in bytes of UTF-8")
define(
    "position",
    "position(b IN a)",
    "tt",
    I,
    _count,
    "CAST(strpos({0}, {1}) AS BIGINT)",
    "where b begins in a, counting from 1; 0 when it is not there",
)
define("ascii", "ascii(a)", "t", I, constant_bounds(0, 0x10FFFF), "CAST(ascii({0}) AS BIGINT)",
       "the number of the first character; 0 for an empty text")  # fmt: skip

# Put in by itself ------------------------------------------------------------------------------------------
define(
    "cut",
    "",
    "t",
    T,
    lambda a: a,
    f"left({{0}}, {LONGEST_ARGUMENT})",
    f"the first {LONGEST_ARGUMENT} characters",
)
