"""Comparisons, conditions, and choices among values."""

from __future__ import annotations

from discreet.sql.expressions import span as sp
from discreet.sql.expressions.span import BOOLEANS, Span
from discreet.sql.functions.table import LETTERS, B, FunctionLines, Variadic, truth

LINES = FunctionLines()
define = LINES.define

for _t, _type in LETTERS.items():
    for _name, _op in (("eq", "="), ("ne", "<>"), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">=")):
        define(_name, f"a {_op} b", _t * 2, B, truth, f"({{0}} {_op} {{1}})", "texts compare by code point")
    define("is_null", "a IS NULL", _t, B, lambda a: BOOLEANS.null(False), "({0} IS NULL)", "never NULL")
    define("distinct", "a IS DISTINCT FROM b", _t * 2, B, lambda a, b: BOOLEANS.null(False),
           "({0} IS DISTINCT FROM {1})", "never NULL: NULL is a value like any other")  # fmt: skip
    define("nullif", "nullif(a, b)", _t * 2, _type, lambda a, b: Span(a.lo, a.hi, True, a.domain), "NULLIF({0}, {1})",
           "NULL where a equals b")  # fmt: skip
define("and", "a AND b", "bb", B, truth, "({0} AND {1})", "false when either is false, even beside NULL")
define("or", "a OR b", "bb", B, truth, "({0} OR {1})", "true when either is true, even beside NULL")
define("not", "NOT a", "b", B, truth, "(NOT {0})")


def _coalesce(spans: list[Span]) -> Span:
    reached: list[Span] = []
    for span in spans:
        reached.append(span)
        if not span.nullable:
            break
    return sp.hull(reached).null(all(s.nullable for s in reached))


for _line in (
    Variadic("coalesce", "coalesce(a, b, …)", _coalesce, "COALESCE({*})", "the first that is not NULL"),
    Variadic(
        "least",
        "least(a, b, …)",
        sp.least,
        "LEAST({*})",
        "NULLs are passed over",
    ),
    Variadic(
        "greatest",
        "greatest(a, b, …)",
        sp.greatest,
        "GREATEST({*})",
        "NULLs are passed over",
    ),
):
    LINES.variadic.append(_line)
