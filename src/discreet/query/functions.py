"""The function table: everything that may be computed on a private row, one line each.

Each function is total: for every combination of inputs, NULL included, it has one defined value and never
fails. `meaning` says that value where SQL leaves room, `bounds` derives the span of the result from the spans
of the arguments, and `spelling` holds the SQL, by dialect, the empty name being standard SQL that every engine
reads. To support another engine is to add its spelling where the standard one does not do.

Conventions that hold for all of them unless their meaning says otherwise: NULL in, NULL out; a floating-point
result that is NaN is NULL; an integer result that cannot be shown to fit 64 bits is computed in floating point.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from discreet.engines.schema import Type
from discreet.query import span as sp
from discreet.query.expression import Call, Expression, Literal
from discreet.query.span import BOOLEANS, Span

Bounds = Callable[..., Span]

B, I, F, T, D, S = Type.BOOLEAN, Type.INTEGER, Type.FLOAT, Type.TEXT, Type.DATE, Type.TIMESTAMP
INT64 = 2**63 - 1
CALM = 10**300
"""Beyond this a product of two doubles may be infinite, and their difference NaN."""


@dataclass(frozen=True, slots=True)
class Function:
    """One line of the table.

    Attributes:
        name: how the plan names it.
        usage: how an analyst writes it.
        takes: the types of the arguments.
        gives: the type of the result.
        bounds: the span of the result, from the spans of the arguments.
        spelling: SQL by dialect, with {0}, {1}, … for the arguments, or {*} for all of them.
        meaning: what it does where that is not plain from its name.
    """

    name: str
    usage: str
    takes: tuple[Type, ...]
    gives: Type
    bounds: Bounds
    spelling: Mapping[str, str]
    meaning: str = ""


TABLE: dict[str, list[Function]] = {}


def _def(
    name: str,
    usage: str,
    takes: str,
    gives: Type,
    bounds: Bounds,
    sql: str,
    meaning: str = "",
    **dialects: str,
) -> None:
    types = {"b": B, "i": I, "f": F, "t": T, "d": D, "s": S}
    line = Function(
        name, usage, tuple(types[c] for c in takes), gives, bounds, {"": sql, **dialects}, meaning
    )
    TABLE.setdefault(name, []).append(line)


def _null(*spans: Span) -> bool:
    return any(s.nullable for s in spans)


def _fixed(lo: int, hi: int) -> Bounds:
    return lambda *a: Span(Fraction(lo), Fraction(hi), _null(*a))


def _truth(*spans: Span) -> Span:
    return BOOLEANS.null(_null(*spans))


def _any(*spans: Span) -> Span:
    return Span(nullable=True)


def _first(a: Span, *rest: Span) -> Span:
    return Span(a.lo, a.hi, True)


# Arithmetic -----------------------------------------------------------------------------------------------
for _t, _g in (("i", I), ("f", F)):
    _def("add", "a + b", _t * 2, _g, sp.add, "({0} + {1})")
    _def("subtract", "a - b", _t * 2, _g, sp.subtract, "({0} - {1})")
    _def("multiply", "a * b", _t * 2, _g, sp.multiply, "({0} * {1})")
    _def("negate", "-a", _t, _g, sp.negate, "(- {0})")
    _def("abs", "abs(a)", _t, _g, sp.absolute, "abs({0})")
_def(
    "divide",
    "a / b",
    "ff",
    F,
    sp.divide,
    "({0} / NULLIF({1}, 0))",
    "NULL when b is 0; never an integer division",
)
_def("integer_divide", "a // b", "ii", I, sp.integer_divide, "({0} // NULLIF({1}, 0))",
     "towards zero; NULL when b is 0", postgres="({0} / NULLIF({1}, 0))", spark="({0} DIV NULLIF({1}, 0))")  # fmt: skip
_def("integer_divide", "a // b", "ff", F, sp.integer_divide, "trunc({0} / NULLIF({1}, 0))",
     "the integer part of a / b; NULL when b is 0")  # fmt: skip
_def("remainder", "a % b", "ii", I, sp.remainder, "({0} % NULLIF({1}, 0))", "sign of a; NULL when b is 0")
_def("remainder", "a % b", "ff", F, sp.remainder, "({0} % NULLIF({1}, 0))", "sign of a; NULL when b is 0")


def _whole(f: Callable[[Fraction], int]) -> Bounds:
    return lambda a: a.monotone(lambda x: Fraction(f(x)))


def _half_away(x: Fraction) -> int:
    return math.floor(abs(x) + Fraction(1, 2)) * (1 if x >= 0 else -1)


for _name, _f in (("floor", math.floor), ("ceil", math.ceil), ("trunc", math.trunc), ("round", _half_away)):
    _def(_name, f"{_name}(a)", "i", I, lambda a: a.monotone(lambda x: x), "{0}", "an integer as it is")
    _def(f"{_name}_whole", f"{_name}(a)", "f", I, _whole(_f), f"TRY_CAST({_name}({{0}}) AS BIGINT)",
         "an integer, where a is bounded well inside 64 bits")  # fmt: skip
    _def(
        _name,
        f"{_name}(a)",
        "f",
        F,
        _whole(_f),
        f"{_name}({{0}})",
        "half away from zero" if _name == "round" else "",
    )


def _round_to(a: Span, digits: Span) -> Span:
    slack = Fraction(1, 2) if digits.lo is None else Fraction(1, 2) * Fraction(10) ** -int(digits.lo)
    return sp.add(a, Span(-slack, slack, False))


_def("round_to", "round(a, n)", "fi", F, _round_to, "round({0}, CAST({1} AS INTEGER))",
     "n is a literal from -15 to 15")  # fmt: skip


def _sign(a: Span) -> Span:
    return a.monotone(lambda x: Fraction((x > 0) - (x < 0)))


_def("sign", "sign(a)", "f", I, lambda a: sp.clamp(_sign(a), Fraction(-1), Fraction(1)),
     "CAST(sign({0}) AS BIGINT)")  # fmt: skip


def _sqrt(a: Span) -> Span:
    return sp.through(math.sqrt, sp.clamp(a, Fraction(0), None)).null()


def _ln(f: Callable[[float], float]) -> Bounds:
    return lambda a: sp.through(f, a if a.lo is None or a.lo > 0 else Span(None, a.hi)).null()


def _power(a: Span, b: Span) -> Span:
    if a.lo is not None and a.hi is not None and b.lo is not None and b.lo == b.hi and b.lo.denominator == 1:
        power = int(b.lo)
        if 0 <= power <= 16:
            ends = [a.lo**power, a.hi**power] + ([Fraction(0)] if a.lo < 0 < a.hi else [])
            return Span(min(ends), max(ends), True)
    return Span(nullable=True)


_def("sqrt", "sqrt(a)", "f", F, _sqrt, "sqrt(CASE WHEN {0} >= 0 THEN {0} END)", "NULL when a < 0")
_def("exp", "exp(a)", "f", F, lambda a: sp.through(math.exp, a), "exp({0})")
for _name, _f2 in (("ln", math.log), ("log10", math.log10), ("log2", math.log2)):
    _def(
        _name,
        f"{_name}(a)",
        "f",
        F,
        _ln(_f2),
        f"{_name}(CASE WHEN {{0}} > 0 THEN {{0}} END)",
        "NULL when a <= 0",
    )
_def("power", "power(a, b)", "ff", F, _power, "power({0}, {1})", "NULL where it is no real number")

# Comparisons and logic -------------------------------------------------------------------------------------
for _t in "biftds":
    for _name, _op in (("eq", "="), ("ne", "<>"), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">=")):
        _def(_name, f"a {_op} b", _t * 2, B, _truth, f"({{0}} {_op} {{1}})", "texts compare by code point")
    _def("is_null", "a IS NULL", _t, B, lambda a: BOOLEANS.null(False), "({0} IS NULL)", "never NULL")
    _def("nullif", "nullif(a, b)", _t * 2, {"b": B, "i": I, "f": F, "t": T, "d": D, "s": S}[_t],
         lambda a, b: Span(a.lo, a.hi, True, a.domain), "NULLIF({0}, {1})")  # fmt: skip
_def("and", "a AND b", "bb", B, _truth, "({0} AND {1})", "false when either is false, even beside NULL")
_def("or", "a OR b", "bb", B, _truth, "({0} OR {1})", "true when either is true, even beside NULL")
_def("not", "NOT a", "b", B, _truth, "(NOT {0})")

# Texts -----------------------------------------------------------------------------------------------------
_def("like", "a LIKE b", "tt", B, _truth, "({0} LIKE {1})", "b is a literal; no escape character")
_def("ilike", "a ILIKE b", "tt", B, _truth, "({0} ILIKE {1})", "b is a literal; no escape character")
_def("lower", "lower(a)", "t", T, _any, "lower({0})")
_def("upper", "upper(a)", "t", T, _any, "upper({0})")
_def("trim", "trim(a)", "t", T, _any, "trim({0})", "spaces at both ends")
_def(
    "length",
    "length(a)",
    "t",
    I,
    lambda a: Span(Fraction(0), None, a.nullable),
    "CAST(length({0}) AS BIGINT)",
)
_def("concat", "a || b", "tt", T, _any, "({0} || {1})")

# Dates -----------------------------------------------------------------------------------------------------
_YEARS = _fixed(-5_877_641, 5_881_580)
_YEARS_OF_STAMPS = _fixed(-290_309, 294_247)


def _year(a: Span) -> Span:
    if a.lo is None or a.hi is None or not a.within(-719_162, 2_932_896):
        return _YEARS(a)
    year = [(sp.EPOCH + sp.MICROSECOND * 86_400_000_000 * int(end)).year for end in (a.lo, a.hi)]
    return Span(Fraction(year[0]), Fraction(year[1]), a.nullable)


def _year_of_stamp(a: Span) -> Span:
    days = a.monotone(lambda x: Fraction(math.floor(x / 86_400_000_000)))
    return _year(days) if days.bounded else _YEARS_OF_STAMPS(a)


_PARTS = {
    "month": (1, 12), "day": (1, 31), "quarter": (1, 4), "week": (1, 53), "dayofweek": (0, 6), "isodow": (1, 7),
    "dayofyear": (1, 366),
}  # fmt: skip
_CLOCK = {"hour": (0, 23), "minute": (0, 59), "second": (0, 59)}
_SAYS = {
    "dayofweek": "Sunday is 0",
    "isodow": "Monday is 1",
    "week": "ISO 8601 week",
    "second": "whole seconds",
}
for _t in "ds":
    # An infinite date has no parts in any engine; DuckDB gives NULL, which the span says by being nullable.
    _def(
        "year",
        "extract(year FROM a)",
        _t,
        I,
        _year if _t == "d" else _year_of_stamp,
        "extract(year FROM {0})",
    )
    for _name, (_lo, _hi) in _PARTS.items():
        _def(_name, f"extract({_name} FROM a)", _t, I, _fixed(_lo, _hi), f"extract({_name} FROM {{0}})",
             _SAYS.get(_name, ""))  # fmt: skip
for _name, (_lo, _hi) in _CLOCK.items():
    _def(_name, f"extract({_name} FROM a)", "s", I, _fixed(_lo, _hi), f"extract({_name} FROM {{0}})",
         _SAYS.get(_name, ""))  # fmt: skip
_def("days_between", "a - b", "dd", I, sp.subtract, "CAST({0} - {1} AS BIGINT)", "days from b to a")

# Casts -----------------------------------------------------------------------------------------------------
_INT32 = (Fraction(-(2**31)), Fraction(2**31 - 1))


def _cast_integer(a: Span) -> Span:
    rounded = Span(
        None if a.lo is None else Fraction(math.floor(a.lo)),
        None if a.hi is None else Fraction(math.ceil(a.hi)),
    )
    return sp.clamp(rounded, Fraction(-INT64 - 1), Fraction(INT64)).null()


_FLAG = {"": "CAST({0} AS BIGINT)", "postgres": "CAST(CAST({0} AS INTEGER) AS BIGINT)"}
_def(
    "to_integer",
    "CAST(a AS BIGINT)",
    "b",
    I,
    _fixed(0, 1),
    _FLAG[""],
    "true is 1",
    postgres=_FLAG["postgres"],
)
_def("to_integer", "CAST(a AS BIGINT)", "i", I, sp.truncate, "{0}")
_def("to_integer", "CAST(a AS BIGINT)", "f", I, _cast_integer, "TRY_CAST({0} AS BIGINT)",
     "nearest integer, ties to even; NULL outside 64 bits")  # fmt: skip
_def("to_integer", "CAST(a AS BIGINT)", "t", I, _any, "TRY_CAST({0} AS BIGINT)", "NULL when it is no number")
_def("to_int32", "CAST(a AS INTEGER)", "i", I, lambda a: sp.clamp(a, *_INT32).null(),
     "CASE WHEN {0} BETWEEN -2147483648 AND 2147483647 THEN {0} END", "NULL outside 32 bits")  # fmt: skip
_def("to_float", "CAST(a AS DOUBLE)", "i", F, lambda a: Span(a.lo, a.hi, a.nullable), "CAST({0} AS DOUBLE)")
_def("to_float", "CAST(a AS DOUBLE)", "f", F, lambda a: Span(a.lo, a.hi, a.nullable), "{0}")
_def("to_float", "CAST(a AS DOUBLE)", "t", F, _any, "TRY_CAST({0} AS DOUBLE)", "NULL when it is no number")
_def(
    "to_float", "CAST(a AS DOUBLE)", "b", F, _fixed(0, 1), "CAST(CAST({0} AS INTEGER) AS DOUBLE)", "true is 1"
)
_def("to_timestamp", "CAST(a AS TIMESTAMP)", "d", S,
     lambda a: a.monotone(lambda x: x * 86_400_000_000).null(), "TRY_CAST({0} AS TIMESTAMP)",
     "midnight; NULL beyond the year 294247")  # fmt: skip
_def("to_date", "CAST(a AS DATE)", "s", D, lambda a: a.monotone(lambda x: Fraction(math.floor(x / 86_400_000_000))),
     "CAST({0} AS DATE)")  # fmt: skip
_def("to_date", "CAST(a AS DATE)", "d", D, _first, "{0}")
_def("to_date", "CAST(a AS DATE)", "t", D, _any, "TRY_CAST({0} AS DATE)", "NULL when it is no date")

# Guards that the planner puts in by itself -----------------------------------------------------------------
_def("no_nan", "", "f", F, lambda a: a.null(), "NULLIF({0}, CAST('NaN' AS DOUBLE))")


@dataclass(frozen=True, slots=True)
class Variadic:
    """A function of any number of arguments that all have the type of the result."""

    name: str
    usage: str
    bounds: Callable[[list[Span]], Span]
    sql: str
    meaning: str = ""
    spelling: Mapping[str, str] = field(default_factory=dict)


def _coalesce(spans: list[Span]) -> Span:
    reached: list[Span] = []
    for one in spans:
        reached.append(one)
        if not one.nullable:
            break
    return sp.hull(reached).null(all(s.nullable for s in reached))


VARIADIC: dict[str, Variadic] = {
    v.name: v
    for v in (
        Variadic("coalesce", "coalesce(a, b, …)", _coalesce, "COALESCE({*})", "the first that is not NULL"),
        Variadic("least", "least(a, b, …)", sp.least, "LEAST({*})", "NULLs are passed over"),
        Variadic("greatest", "greatest(a, b, …)", sp.greatest, "GREATEST({*})", "NULLs are passed over"),
    )
}


def call(name: str, *args: Expression) -> Call | None:
    """Apply a function of the table; None when it has no line for these types.

    Integers are widened to floats, and dates to time stamps, where no line takes them as they are or where the
    result could leave 64 bits.
    """
    for line in TABLE[name]:
        if len(line.takes) != len(args):
            continue
        widened = [widen(arg, wanted) for arg, wanted in zip(args, line.takes, strict=True)]
        if any(arg is None for arg in widened):
            continue
        ready = tuple(arg for arg in widened if arg is not None)
        span = line.bounds(*(arg.span for arg in ready))
        if line.gives is I and line.takes[0] is I and not span.within(-INT64, INT64) and len(TABLE[name]) > 1:
            continue  # the line for floats comes next
        result = Call(name, line.spelling, ready, line.gives, span)
        if line.gives is F and name != "no_nan" and not _calm(span):
            return Call("no_nan", TABLE["no_nan"][0].spelling, (result,), F, span.null())
        return result
    return None


def variadic(name: str, args: list[Expression]) -> Call:
    """Apply a variadic function to arguments of one type."""
    line = VARIADIC[name]
    spelling = {"": line.sql, **line.spelling}
    return Call(name, spelling, tuple(args), args[0].type, line.bounds([arg.span for arg in args]))


def case(branches: list[tuple[Expression, Expression]], otherwise: Expression) -> Call:
    """CASE WHEN … THEN … ELSE … END; results of one type."""
    parts: list[Expression] = []
    text = "CASE"
    for at, (condition, result) in enumerate(branches):
        parts += [condition, result]
        text += f" WHEN {{{2 * at}}} THEN {{{2 * at + 1}}}"
    text += f" ELSE {{{2 * len(branches)}}} END"
    results = [result for _, result in branches] + [otherwise]
    kind = next((r.type for r in results if not _is_null(r)), results[0].type)
    span = sp.hull(r.span for r in results)
    return Call("case", {"": f"({text})"}, (*parts, otherwise), kind, span)


def clamp(what: Expression, lo: Fraction, hi: Fraction) -> Call:
    """clamp(a, lo, hi) of a number, with literal bounds: the nearest value in [lo, hi]; NaN is NULL."""
    if what.type is I:
        ends = [f"CAST({math.ceil(lo)} AS BIGINT)", f"CAST({math.floor(hi)} AS BIGINT)"]
        span = sp.clamp(what.span, Fraction(math.ceil(lo)), Fraction(math.floor(hi)))
        above = f"{{0}} > {ends[1]}"
    else:
        ends = [f"CAST('{float(end)!r}' AS DOUBLE)" for end in (lo, hi)]
        span = sp.clamp(what.span, Fraction(float(lo)), Fraction(float(hi))).null()
        above = "{0} <= CAST('Infinity' AS DOUBLE)"  # not ELSE: NULL stays NULL, and NaN, greatest of all, is NULL
    text = (
        f"(CASE WHEN {{0}} >= {ends[0]} AND {{0}} <= {ends[1]} THEN {{0}} WHEN {{0}} < {ends[0]} THEN {ends[0]} "
        f"WHEN {above} THEN {ends[1]} END)"
    )
    return Call("clamp", {"": text}, (what,), what.type, span)


def among(what: Expression, values: list[Expression]) -> Call:
    """`a IN (b, c, …)` with literals."""
    text = "({0} IN (" + ", ".join(f"{{{at + 1}}}" for at in range(len(values))) + "))"
    return Call("in", {"": text}, (what, *values), B, _truth(what.span, *(v.span for v in values)))


def widen(arg: Expression, wanted: Type) -> Expression | None:
    """The argument as the wanted type where that loses nothing; None otherwise."""
    if arg.type is wanted:
        return arg
    if _is_null(arg):
        return Literal(None, wanted)
    if (arg.type, wanted) == (I, F):
        if isinstance(arg, Literal):
            return Literal(float(arg.value), F)  # type: ignore[arg-type]
        return Call("to_float", {"": "CAST({0} AS DOUBLE)"}, (arg,), F, arg.span)
    if (arg.type, wanted) == (D, S):
        return call("to_timestamp", arg)
    return None


def common_type(kinds: list[Type]) -> Type | None:
    """The least type that all of these widen to; None when there is none."""
    if len(set(kinds)) == 1:
        return kinds[0]
    if set(kinds) == {I, F}:
        return F
    if set(kinds) == {D, S}:
        return S
    return None


def _is_null(arg: Expression) -> bool:
    return isinstance(arg, Literal) and arg.value is None


def _calm(span: Span) -> bool:
    return span.within(-CALM, CALM)
