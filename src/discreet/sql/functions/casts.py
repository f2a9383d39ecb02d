"""Casts. None of them fails: a value that cannot be converted is NULL, as with TRY_CAST."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.sql.expressions import span as sp
from discreet.sql.expressions.expression import Call, Expression
from discreet.sql.expressions.span import Span
from discreet.sql.functions.calendar import DAY
from discreet.sql.functions.portable import DATE_TEXT, FLOAT_TEXT, INTEGER_TEXT, TIMESTAMP_TEXT, matching
from discreet.sql.functions.table import (
    INT64,
    B,
    D,
    F,
    FunctionLines,
    I,
    S,
    T,
    constant_bounds,
    same,
    truth,
    unknown,
)

LINES = FunctionLines()
define = LINES.define


def _to_integer(a: Span) -> Span:
    rounded = Span(
        None if a.lo is None else Fraction(math.floor(a.lo)),
        None if a.hi is None else Fraction(math.ceil(a.hi)),
    )
    return sp.clamp(rounded, Fraction(-INT64 - 1), Fraction(INT64)).null()


define("to_integer", "CAST(a AS BIGINT)", "b", I, constant_bounds(0, 1), "CAST({0} AS BIGINT)", "true is 1")
define("to_integer", "CAST(a AS BIGINT)", "i", I, sp.truncate, "{0}")
define("to_integer", "CAST(a AS BIGINT)", "f", I, _to_integer, "TRY_CAST({0} AS BIGINT)",
       "nearest integer, ties to even; NULL outside 64 bits")  # fmt: skip
define("to_integer", "CAST(a AS BIGINT)", "t", I, unknown,
       matching("CASE WHEN regexp_matches({0}, PATTERN) THEN TRY_CAST({0} AS BIGINT) END", INTEGER_TEXT),
       "NULL unless it is a decimal number such as -12 or 12.50, rounded half away from zero; "
       "up to 22 digits, and 15 after the point")  # fmt: skip
NARROW = {
    "int8": (-(2**7), 2**7 - 1, "TINYINT"), "int16": (-(2**15), 2**15 - 1, "SMALLINT"),
    "int32": (-(2**31), 2**31 - 1, "INTEGER"), "uint8": (0, 2**8 - 1, "UTINYINT"),
    "uint16": (0, 2**16 - 1, "USMALLINT"), "uint32": (0, 2**32 - 1, "UINTEGER"), "uint64": (0, INT64, "UBIGINT"),
}  # fmt: skip
"""Least and greatest value of the narrower integers."""
WIDE = {f"to_{name}": (Fraction(lo), Fraction(hi)) for name, (lo, hi, _) in NARROW.items() if hi >= 2**31 - 1}
WIDE["to_integer"] = (Fraction(-INT64 - 1), Fraction(INT64))
"""Casts whose type is no bound of a sum: the noise for it would drown the numbers that it was meant for."""


def bounded_by_type(expression: Expression) -> bool:
    """Whether nothing bounds an expression but the wide type that a part of it is cast to."""
    if not isinstance(expression, Call):
        return False
    whole = WIDE.get(expression.name) == (expression.span.lo, expression.span.hi)
    return whole or any(map(bounded_by_type, expression.args))


for _name, (_lo, _hi, _sql) in NARROW.items():
    define(f"to_{_name}", f"CAST(a AS {_sql})", "i", I,
           lambda a, lo=_lo, hi=_hi: sp.clamp(a, Fraction(lo), Fraction(hi)).null(),
           f"CASE WHEN {{0}} BETWEEN {_lo} AND {_hi} THEN {{0}} END", f"NULL outside {_lo} to {_hi}")  # fmt: skip

for _t, _sql, _bounds, _says in (
    ("i", "CAST({0} AS DOUBLE)", lambda a: Span(a.lo, a.hi, a.nullable), ""),
    ("f", "{0}", lambda a: Span(a.lo, a.hi, a.nullable), ""),
    (
        "t",
        matching(
            "CASE WHEN regexp_matches({0}, PATTERN) THEN NULLIF(NULLIF(TRY_CAST({0} AS DOUBLE), "
            "CAST('Infinity' AS DOUBLE)), CAST('-Infinity' AS DOUBLE)) + 0 END",
            FLOAT_TEXT,
        ),
        unknown,
        "NULL unless it is a decimal number such as -1.5 or 2e10, not above 1.79e308",
    ),
    ("b", "CAST(CAST({0} AS INTEGER) AS DOUBLE)", constant_bounds(0, 1), "true is 1"),
):
    define("to_float", "CAST(a AS DOUBLE)", _t, F, _bounds, _sql, _says)

define("to_boolean", "CAST(a AS BOOLEAN)", "b", B, truth, "{0}")
for _t in "if":
    define("to_boolean", "CAST(a AS BOOLEAN)", _t, B, truth, "({0} <> 0)", "false when it is 0")
define("to_boolean", "CAST(a AS BOOLEAN)", "t", B, unknown,
       "CASE lower({0}) WHEN 'true' THEN TRUE WHEN 't' THEN TRUE WHEN 'yes' THEN TRUE WHEN 'y' THEN TRUE WHEN '1' "
       "THEN TRUE WHEN 'false' THEN FALSE WHEN 'f' THEN FALSE WHEN 'no' THEN FALSE WHEN 'n' THEN FALSE WHEN '0' "
       "THEN FALSE END",
       "true, t, yes, y, 1 and their opposites in any case; NULL for all else")  # fmt: skip

define("to_text", "CAST(a AS VARCHAR)", "t", T, lambda a: a, "{0}")
define("to_text", "CAST(a AS VARCHAR)", "i", T, unknown, "CAST({0} AS VARCHAR)")
define("to_text", "CAST(a AS VARCHAR)", "b", T, lambda a: Span(nullable=a.nullable, domain=("false", "true")),
       "CASE WHEN {0} THEN 'true' WHEN NOT {0} THEN 'false' END", "true or false")  # fmt: skip
define("to_text", "CAST(a AS VARCHAR)", "d", T, unknown, "CAST({0} AS VARCHAR)", "as in 2024-01-31")

define("to_timestamp", "CAST(a AS TIMESTAMP)", "d", S, lambda a: a.monotone(lambda x: x * DAY),
       "CAST({0} AS TIMESTAMP)", "midnight")  # fmt: skip
define("to_timestamp", "CAST(a AS TIMESTAMP)", "s", S, same, "{0}")
define("to_timestamp", "CAST(a AS TIMESTAMP)", "t", S, unknown,
       matching("CASE WHEN regexp_matches({0}, PATTERN) THEN TRY_CAST({0} AS TIMESTAMP) END", TIMESTAMP_TEXT),
       "NULL unless it is like 2024-01-31 or 2024-01-31 23:59:59.999999, without an offset from UTC")  # fmt: skip
define("to_date", "CAST(a AS DATE)", "d", D, same, "{0}")
define("to_date", "CAST(a AS DATE)", "s", D, lambda a: a.monotone(lambda x: Fraction(math.floor(x / DAY))),
       "CAST({0} AS DATE)")  # fmt: skip
define("to_date", "CAST(a AS DATE)", "t", D, unknown,
       matching("CASE WHEN regexp_matches({0}, PATTERN) THEN TRY_CAST({0} AS DATE) END", DATE_TEXT),
       "NULL unless it is like 2024-01-31")  # fmt: skip
