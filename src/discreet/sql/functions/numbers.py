"""Numbers: arithmetic, rounding, bins, and the functions of a pocket calculator."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from discreet.sql.expressions import span as sp
from discreet.sql.expressions.span import Span
from discreet.sql.functions.portable import exact_log2, remainder
from discreet.sql.functions.table import (
    Bounds,
    F,
    FunctionLines,
    I,
    Rule,
    constant_bounds,
    null,
    unknown,
    whole_between,
)

LINES = FunctionLines()
define = LINES.define

OVERFLOW = frozenset({"add", "subtract", "multiply", "negate", "abs", "integer_divide"})
"""Operators that can lead out of 64 bits; they are then computed in floating point."""
for _t, _g in (("i", I), ("f", F)):
    define("add", "a + b", _t * 2, _g, sp.add, "({0} + {1})")
    define("subtract", "a - b", _t * 2, _g, sp.subtract, "({0} - {1})")
    define("multiply", "a * b", _t * 2, _g, sp.multiply, "({0} * {1})")
    define("negate", "-a", _t, _g, sp.negate, "(- {0})")
    define("abs", "abs(a)", _t, _g, sp.absolute, "abs({0})")
define("divide", "a / b", "ff", F, sp.divide, "({0} / NULLIF({1}, 0))",
       "NULL when b is 0; never an integer division")  # fmt: skip
define(
    "integer_divide",
    "a // b",
    "ii",
    I,
    sp.integer_divide,
    "({0} // NULLIF({1}, 0))",
    "towards zero; NULL when b is 0",
)
define("integer_divide", "a // b", "ff", F, lambda a, b: sp.truncate(sp.divide(a, b)), "trunc({0} / NULLIF({1}, 0))",
       "the integer part of a / b, where DuckDB itself keeps the fraction; NULL when b is 0")  # fmt: skip
# The least integer divided by -1 overflows also where only the remainder is wanted, which is that of 1.
define("remainder", "a % b", "ii", I, sp.remainder, "({0} % NULLIF(CASE WHEN {1} = -1 THEN 1 ELSE {1} END, 0))",
       "sign of a; NULL when b is 0")  # fmt: skip
define("remainder", "a % b", "ff", F, sp.remainder,
       remainder("({0} / NULLIF({1}, 0))", lambda x, y: f"{x} * {y}"),
       "a - b * trunc(a / b); sign of a; NULL when b is 0 or a / b is 2^53 or more")  # fmt: skip

# Rounding --------------------------------------------------------------------------------------------------


def _whole(f: Callable[[Fraction], int]) -> Bounds:
    return lambda a: a.monotone(lambda x: Fraction(f(x)))


def _half_away(x: Fraction) -> int:
    return math.floor(abs(x) + Fraction(1, 2)) * (1 if x >= 0 else -1)


for _name, _f in (("floor", math.floor), ("ceil", math.ceil), ("trunc", math.trunc), ("round", _half_away)):
    _says = "half away from zero" if _name == "round" else ""
    define(_name, f"{_name}(a)", "i", I, lambda a: a.monotone(lambda x: x), "{0}", "an integer is unchanged")
    define(f"{_name}_whole", f"{_name}(a)", "f", I, _whole(_f), f"TRY_CAST({_name}({{0}}) AS BIGINT)",
           "an integer, where a is bounded well inside 64 bits")  # fmt: skip
    define(_name, f"{_name}(a)", "f", F, _whole(_f), f"{_name}({{0}})", _says)


def decimal_place(k: int, digits: int) -> float:
    """The double k / 10^digits as the engine computes it; 10^15 and k up to 2^53 are doubles themselves."""
    return float(k) / 10.0**digits if digits >= 0 else float(k) * 10.0**-digits


def _rounded(a: Span, digits: Span) -> Span:
    """Rounding is increasing, and its results are multiples of 10^-n: the next ones outside are bounds."""
    if a.lo is None or a.hi is None or digits.lo is None or not a.within(-(10**290), 10**290):
        return Span(nullable=True)
    n = int(digits.lo)
    ends = [
        decimal_place(f(end * Fraction(10) ** n), n) for f, end in ((math.floor, a.lo), (math.ceil, a.hi))
    ]
    return Span(Fraction(ends[0]), Fraction(ends[1]), a.nullable)


_DIGITS = whole_between(-15, 15, "Write round(x, 2).")
define("round_to", "round(a, n)", "fi", F, _rounded, "round({0}, CAST({1} AS INTEGER))",
       "half away from zero, to n decimal places; n is a literal from -15 to 15", literals={1: _DIGITS})  # fmt: skip
define("trunc_to", "trunc(a, n)", "fi", F, _rounded, "trunc({0}, CAST({1} AS INTEGER))",
       "towards zero, to n decimal places; n is a literal from -15 to 15", literals={1: _DIGITS})  # fmt: skip
define("even", "even(a)", "f", F, _whole(lambda x: 2 * math.ceil(abs(x) / 2) * (1 if x >= 0 else -1)),
       "even({0})", "the next even integer away from zero")  # fmt: skip


def _sign(a: Span) -> Span:
    return sp.clamp(a.monotone(lambda x: Fraction((x > 0) - (x < 0))), Fraction(-1), Fraction(1))


define("sign", "sign(a)", "f", I, _sign, "CAST(sign({0}) AS BIGINT)")

# Bins ------------------------------------------------------------------------------------------------------
_NUMBER = Rule("a literal number", "Write width_bucket(x, 0, 100, 10).",
               lambda v: isinstance(v, float) and abs(v) <= 1e15, (-1e15, 0.0, 0.1, 7.0, 1e15))  # fmt: skip


def bucket(x: float, lo: float, hi: float, n: int) -> int:
    """The number of the bin of x, computed as in SQL."""
    if x < lo:
        return 0
    return n + 1 if x >= hi else min(math.floor((x - lo) / (hi - lo) * n) + 1, n)


def _bucket(a: Span, lo: Span, hi: Span, n: Span) -> Span:
    assert lo.lo is not None
    assert hi.lo is not None
    assert n.hi is not None
    if lo.lo >= hi.lo:
        return Span(nullable=True, domain=())
    low, high, count = float(lo.lo), float(hi.lo), int(n.hi)
    least = 0 if a.lo is None else bucket(_double(a.lo), low, high, count)
    most = count + 1 if a.hi is None else bucket(_double(a.hi), low, high, count)
    return Span(Fraction(least), Fraction(most), a.nullable)


def _double(x: Fraction) -> float:
    return float(max(min(x, Fraction(10**300)), -Fraction(10**300)))


define(
    "width_bucket", "width_bucket(a, b, c, n)", "fffi", I, _bucket,
    "CASE WHEN {1} >= {2} THEN NULL WHEN {0} < {1} THEN CAST(0 AS BIGINT) WHEN {0} >= {2} THEN {3} + 1 "
    "WHEN {0} >= {1} THEN LEAST(TRY_CAST(floor(({0} - {1}) / ({2} - {1}) * {3}) AS BIGINT) + 1, {3}) END",
    "in which of n bins of equal width from b to c: 1 to n, 0 below b, n + 1 from c on; literals",
    literals={1: _NUMBER, 2: _NUMBER, 3: whole_between(1, 1_000_000, "Write width_bucket(x, 0, 100, 10).")},
)  # fmt: skip

# A pocket calculator ---------------------------------------------------------------------------------------


def _root(a: Span) -> Span:
    return sp.through(math.sqrt, sp.clamp(a, Fraction(0), None)).null()


def _log(f: Callable[[float], float]) -> Bounds:
    return lambda a: sp.through(f, a if a.lo is None or a.lo > 0 else Span(None, a.hi)).null()


def _power(a: Span, b: Span) -> Span:
    if a.lo is not None and a.hi is not None and b.lo is not None and b.lo == b.hi and b.lo.denominator == 1:
        power = int(b.lo)
        if 0 <= power <= 16:
            ends = [a.lo**power, a.hi**power] + ([Fraction(0)] if a.lo < 0 < a.hi else [])
            return sp.widened(Span(min(ends), max(ends), True))
    return Span(nullable=True)


def _log_of_base(b: Span, a: Span) -> Span:
    if b.lo is None or b.lo != b.hi or b.lo <= 1 or a.lo is None or a.lo <= 0:
        return unknown()
    base = math.log(float(b.lo))
    return sp.through(lambda x: math.log(x) / base, a).null()


define("sqrt", "sqrt(a)", "f", F, _root, "sqrt(CASE WHEN {0} >= 0 THEN {0} END)", "NULL when a < 0")
define("cbrt", "cbrt(a)", "f", F, lambda a: sp.through(math.cbrt, a), "cbrt({0})")
define("exp", "exp(a)", "f", F, lambda a: sp.through(math.exp, a), "exp({0})")
define("log2", "log2(a)", "f", F, _log(math.log2), exact_log2(), "NULL when a <= 0")
for _name, _f2 in (("ln", math.log), ("log10", math.log10)):
    define(
        _name,
        f"{_name}(a)",
        "f",
        F,
        _log(_f2),
        f"{_name}(CASE WHEN {{0}} > 0 THEN {{0}} END)",
        "NULL when a <= 0",
    )
define("log", "log(a, b)", "ff", F, _log_of_base,
       "(ln(CASE WHEN {1} > 0 THEN {1} END) / NULLIF(ln(CASE WHEN {0} > 0 THEN {0} END), 0))",
       "of b to the base a; NULL where it is no real number")  # fmt: skip
define("power", "power(a, b)", "ff", F, _power,
       "(CASE WHEN {0} = 0 AND {1} < 0 THEN NULL WHEN {0} < 0 AND {1} <> trunc({1}) THEN NULL "
       "ELSE power({0}, {1}) END)",
       "NULL where it is no real number")  # fmt: skip
_RIGHT = Fraction(math.pi) / 2
for _name in ("sin", "cos"):
    define(_name, f"{_name}(a)", "f", F, constant_bounds(-1, 1), f"{_name}({{0}})", "of an angle in radians")
define("tan", "tan(a)", "f", F, unknown, "tan({0})", "of an angle in radians")
for _name, _f2, _ends in (
    ("asin", math.asin, (-_RIGHT, _RIGHT)),
    ("acos", math.acos, (Fraction(0), 2 * _RIGHT)),
):
    define(_name, f"{_name}(a)", "f", F, lambda a, e=_ends: Span(*e),
           f"{_name}(CASE WHEN {{0}} BETWEEN -1 AND 1 THEN {{0}} END)", "in radians; NULL outside [-1, 1]")  # fmt: skip
define(
    "atan",
    "atan(a)",
    "f",
    F,
    lambda a: sp.clamp(sp.through(math.atan, a), -_RIGHT, _RIGHT),
    "atan({0})",
    "in radians",
)
define("atan2", "atan2(a, b)", "ff", F, lambda a, b: Span(-2 * _RIGHT, 2 * _RIGHT, null(a, b)),
       "atan2({0} + 0, {1} + 0)", "in radians; zero has no sign")  # fmt: skip
define("degrees", "degrees(a)", "f", F, lambda a: sp.through(math.degrees, a),
       "({0} * CAST('57.29577951308232' AS DOUBLE))")  # fmt: skip
define("radians", "radians(a)", "f", F, lambda a: sp.through(math.radians, a),
       "({0} * CAST('0.017453292519943295' AS DOUBLE))")  # fmt: skip

# Bits ------------------------------------------------------------------------------------------------------


def _bits(f: Callable[[int, int], int]) -> Bounds:
    def bounds(a: Span, b: Span) -> Span:
        if a.lo is None or b.lo is None or a.lo < 0 or b.lo < 0 or a.hi is None or b.hi is None:
            return Span(nullable=null(a, b))
        return Span(Fraction(0), Fraction(f(int(a.hi), int(b.hi))), null(a, b))

    return bounds


def _all_ones(a: int, b: int) -> int:
    return (1 << max(a.bit_length(), b.bit_length())) - 1


def _common_bits(a: Span, b: Span) -> Span:
    """Between 0 and the lesser of those that cannot be negative: the sign is a bit, too."""
    tops = [s.hi for s in (a, b) if s.lo is not None and s.lo >= 0 and s.hi is not None]
    return Span(Fraction(0), min(tops), null(a, b)) if tops else Span(nullable=null(a, b))


define("bit_and", "a & b", "ii", I, _common_bits, "({0} & {1})", "bit by bit")
define("bit_or", "a | b", "ii", I, _bits(_all_ones), "({0} | {1})", "bit by bit")
define("bit_xor", "xor(a, b)", "ii", I, _bits(_all_ones), "xor({0}, {1})", "bit by bit")

# Guards that are put in by themselves ----------------------------------------------------------------------
define("no_nan", "", "f", F, lambda a: a.null(), "NULLIF({0}, CAST('NaN' AS DOUBLE))")
define("below", "", "ff", F, lambda a, b: sp.clamp(a, None if b.hi is None else -b.hi, b.hi).null(),
       "CASE WHEN abs({0}) < {1} THEN {0} END", "NULL where the absolute value of a is b or more",
       literals={1: Rule("a positive number", "", lambda v: isinstance(v, float) and v > 0, (1.0, 1e15))})  # fmt: skip
