"""PostgreSQL's SQL, where arithmetic, casts and dates raise errors and each must be kept from it.

Doubles: PostgreSQL raises where a result is too large or too small, as IEEE 754 does not. Whether it would be is
decided on operands that were scaled by 2^512, which is exact; so the result is that of IEEE 754, bit by bit.
Texts compare by code point, because every one is read with COLLATE "C". Needs PostgreSQL 14 or newer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from discreet.sql.dialects.sampled_rows import sampled, signed
from discreet.sql.expressions.dialect import WIDE, Dialect, quoted_text
from discreet.sql.expressions.expression import Call
from discreet.sql.functions import calendar as cal
from discreet.sql.functions.portable import (
    DATE_TEXT,
    FLOAT_TEXT,
    INTEGER_TEXT,
    TIMESTAMP_TEXT,
    case_pairs,
    exact_log2,
    format_template,
    matching,
    remainder,
)
from discreet.sql.functions.shifts import NEAR

_UP, _DOWN = "CAST('1.3407807929942597e+154' AS DOUBLE)", "CAST('7.458340731200207e-155' AS DOUBLE)"  # 2^±512
_INF = "CAST('Infinity' AS DOUBLE)"
_TINY = "CAST('4.440892098500626e-16' AS DOUBLE)"  # 2^-51


def _d(x: float | str) -> str:
    return f"CAST('{x}' AS DOUBLE)"


def add(x: str, y: str, sign: str = "+") -> str:
    """X + y, infinite where it is too large; sums are never too small."""
    small = f"abs({x}) < {_d(1e300)} AND abs({y}) < {_d(1e300)}"
    apart = f"abs({x}) = {_INF} OR abs({y}) = {_INF} OR ({x} > 0) {'<>' if sign == '+' else '='} ({y} > 0)"
    half = (
        f"(CASE WHEN abs({x}) < 1 THEN 0 ELSE {x} * {_d(0.5)} END "
        f"{sign} CASE WHEN abs({y}) < 1 THEN 0 ELSE {y} * {_d(0.5)} END)"
    )
    return (
        f"(CASE WHEN {small} THEN {x} {sign} {y} WHEN {apart} THEN {x} {sign} {y} "
        f"WHEN abs({half}) < {_d(float(2**1023))} THEN {x} {sign} {y} "
        f"WHEN {half} > 0 THEN {_INF} WHEN {half} < 0 THEN - {_INF} END)"
    )


_MIDDLE = f"BETWEEN {_d(1e-150)} AND {_d(1e150)}"


def _signed(value: str, x: str, y: str) -> str:
    return f"CASE WHEN ({x} > 0) = ({y} > 0) THEN {value} ELSE - {value} END"


def multiply(x: str, y: str) -> str:
    """X * y, infinite where it is too large and zero where it is too small."""
    return (
        f"(CASE WHEN abs({x}) {_MIDDLE} AND abs({y}) {_MIDDLE} THEN {x} * {y} "
        f"WHEN {x} = 0 OR {y} = 0 OR abs({x}) = {_INF} OR abs({y}) = {_INF} THEN {x} * {y} "
        f"WHEN abs({x}) >= 1 AND abs({y}) >= 1 THEN CASE WHEN abs(({x} * {_DOWN}) * ({y} * {_DOWN})) >= 1 "
        f"THEN {_signed(_INF, x, y)} ELSE {x} * {y} END "
        f"WHEN abs({x}) < {_d(1e-200)} AND abs({y}) < {_d(1e-200)} THEN {_signed(_d(0.0), x, y)} "
        f"WHEN abs({x}) < 1 AND abs({y}) < 1 THEN CASE WHEN abs(({x} * {_UP}) * ({y} * {_UP})) <= {_TINY} "
        f"THEN {_signed(_d(0.0), x, y)} ELSE {x} * {y} END "
        f"ELSE {x} * {y} END)"
    )


def divide(x: str, y: str) -> str:
    """X / y, NULL where y is 0, infinite where it is too large and zero where it is too small."""
    return (
        f"(CASE WHEN {y} = 0 THEN NULL WHEN abs({x}) {_MIDDLE} AND abs({y}) {_MIDDLE} THEN {x} / {y} "
        f"WHEN {x} = 0 OR abs({x}) = {_INF} OR abs({y}) = {_INF} THEN {x} / {y} "
        f"WHEN abs({x}) >= 1 AND abs({y}) < 1 THEN CASE WHEN abs({x} * {_DOWN}) >= abs({y} * {_UP}) "
        f"THEN {_signed(_INF, x, y)} WHEN abs(({x} * {_DOWN}) / ({y} * {_UP})) >= 1 "
        f"THEN {_signed(_INF, x, y)} ELSE {x} / {y} END "
        f"WHEN abs({x}) BETWEEN {_TINY} AND 1 AND abs({y}) < 1 THEN CASE WHEN abs({x} / ({y} * {_UP})) >= {_UP} "
        f"THEN {_signed(_INF, x, y)} ELSE {x} / {y} END "
        f"WHEN abs({x}) < 1 AND abs({y}) >= 1 THEN CASE WHEN abs(({x} * {_UP}) / ({y} * {_DOWN})) <= {_TINY} "
        f"THEN {_signed(_d(0.0), x, y)} ELSE {x} / {y} END "
        f"ELSE {x} / {y} END)"
    )


def _whole(x: str) -> str:
    """A double without a fraction as an integer, NULL outside 64 bits."""
    low, high = _d("-9223372036854775808"), _d("9223372036854775808")
    return f"(CASE WHEN {x} >= {low} AND {x} < {high} THEN CAST({x} AS BIGINT) END)"


def _round(x: str) -> str:
    """The nearest whole number, half away from zero; x - trunc(x) is exact, and NaN for an infinite x."""
    return (
        f"(CASE WHEN {x} - trunc({x}) >= {_d(0.5)} THEN trunc({x}) + 1 "
        f"WHEN {x} - trunc({x}) <= {_d(-0.5)} THEN trunc({x}) - 1 ELSE trunc({x}) END)"
    )


def _to_places(f: str) -> str:
    scale = f"power({_d(10)}, abs(CAST({{1}} AS INTEGER)))"
    up, down = f"({{0}} * {scale})", f"({{0}} / {scale})"

    def whole(x: str) -> str:
        return _round(x) if f == "round" else f"trunc({x})"

    return (
        f"(CASE WHEN NOT abs({{0}}) < {_d(1e290)} THEN {{0}} WHEN CAST({{1}} AS INTEGER) >= 0 THEN {whole(up)} / {scale} "
        f"WHEN abs({{0}}) < {_d(1e-200)} THEN 0 * {{0}} ELSE {whole(down)} * {scale} END)"
    )


_EXPONENT = f"GREATEST(LEAST({{1}}, {_d(1e300)}), {_d(-1e300)})"
_POWER = (
    f"(CASE WHEN {{1}} IS NULL OR ({{0}} = 0 AND {{1}} < 0) THEN NULL WHEN {{0}} < 0 AND {{1}} <> trunc({{1}}) THEN NULL "
    f"WHEN {{0}} = 0 OR {{1}} = 0 OR abs({{0}}) = 1 OR abs({{0}}) = {_INF} OR abs({{1}}) = {_INF} THEN power({{0}}, {{1}}) "
    f"WHEN abs({{1}}) < {_d(1e-290)} THEN power({{0}}, 0) "
    f"WHEN {_EXPONENT} * ln(abs({{0}})) > {_d(709.782)} "
    f"THEN CASE WHEN {{0}} < 0 AND {{1}} / 2 <> trunc({{1}} / 2) THEN - {_INF} ELSE {_INF} END "
    f"WHEN {_EXPONENT} * ln(abs({{0}})) < {_d(-745.13)} "
    f"THEN CASE WHEN {{0}} < 0 AND {{1}} / 2 <> trunc({{1}} / 2) THEN - {_d(0.0)} ELSE {_d(0.0)} END "
    f"ELSE power({{0}}, {{1}}) END)"
)
_FINITE = f"(CASE WHEN abs({{0}}) < {_INF} THEN {{0}} END)"


def _year(x: str) -> str:
    return f"CAST(extract(year FROM {x}) AS BIGINT)"


def _months(x: str) -> str:
    return f"({_year(x)} * 12 + CAST(extract(month FROM {x}) AS BIGINT) - 1)"


def _micros(x: str) -> str:
    return f"CAST(extract(epoch FROM {x}) * 1000000 AS BIGINT)"


def _start_of_year(x: str, years: int) -> str:
    first = f"{_year(x)} / {years} * {years} - 2000"
    return f"(TIMESTAMP '2000-01-01 00:00:00' + make_interval(years => CAST({first} AS INTEGER)))"


def _floored(number: str, width: str) -> str:
    """The greatest multiple of a width that is not above a number."""
    return f"({number} - mod(mod({number}, {width}) + {width}, {width}))"


_MICRO = "INTERVAL '1 microsecond'"


def _plus(x: str, micros: str) -> str:
    """A moment and a number of microseconds, whose product with an interval is exact below a day."""
    return f"({x} + make_interval(days => CAST({micros} / {cal.DAY} AS INTEGER)) + mod({micros}, {cal.DAY}) * {_MICRO})"


def _complete_months(n: int) -> str:
    def whole(a: str, b: str) -> str:
        between = f"CAST({_months(b)} - {_months(a)} AS INTEGER)"
        return (
            f"({between} - CASE WHEN {a} + make_interval(months => {between}) > {b} THEN 1 ELSE 0 END) / {n}"
        )

    return f"CAST(CASE WHEN {{0}} <= {{1}} THEN {whole('{0}', '{1}')} ELSE - ({whole('{1}', '{0}')}) END AS BIGINT)"


_DAY_IN_MONTH = (
    "CASE WHEN {1} = 2 THEN CASE WHEN {0} % 4 = 0 AND ({0} % 100 <> 0 OR {0} % 400 = 0) THEN 29 ELSE 28 END "
    "WHEN {1} IN (4, 6, 9, 11) THEN 30 ELSE 31 END"
)


def _mapped(function: str, x: str = "{0}") -> str:
    """A text in another case; a list of 1,400 letters is looked through for each letter, so not where all are ASCII.

    In the collation of a Turkish database, the small letter of I is another one.
    """
    before, after = case_pairs(function)
    return (
        f'(CASE WHEN octet_length({x}) = length({x}) THEN {function}({x} COLLATE "C") '
        f"ELSE translate({x}, '{before}', '{after}') END)"
    )


def _ilike(_: Call) -> str:
    return f"({_mapped('lower', '{0}')} LIKE {_mapped('lower', '{1}')} ESCAPE '')"


_FORMATS = {
    "Y": "YYYY", "y": "YY", "m": "MM", "b": "Mon", "B": "FMMonth", "d": "DD", "j": "DDD", "a": "Dy", "A": "FMDay",
    "u": "ID", "G": "IYYY", "V": "IW", "H": "HH24", "I": "HH12", "p": "AM", "M": "MI", "S": "SS",
}  # fmt: skip


_X, _Y = "{0}", "{1}"
_QUOTIENT = divide(_X, _Y)
_RATIO = "({0} - {1}) / ({2} - {1})"
_FUNCTIONS: Mapping[str, Mapping[str, str]] = {
    # To PostgreSQL a record of NULLs IS NULL, though COUNT counts it; num_nonnulls agrees with COUNT.
    "scan": {"o": "CASE WHEN num_nonnulls({0}) = 1 THEN TRUE END"},
    "add": {"ff": add(_X, _Y)}, "subtract": {"ff": add(_X, _Y, "-")}, "multiply": {"ff": multiply(_X, _Y)},
    "divide": {"ff": _QUOTIENT}, "integer_divide": {"ii": "({0} / NULLIF({1}, 0))", "ff": f"trunc({_QUOTIENT})"},
    "remainder": {"ff": remainder(_QUOTIENT, multiply)},
    "round": {"f": _round(_X)}, "round_to": {"": _to_places("round")}, "trunc_to": {"": _to_places("trunc")},
    **{f"{name}_whole": {"f": _whole(f"{name}({_X})")} for name in ("floor", "ceil", "trunc")},
    "round_whole": {"f": _whole(_round(_X))},
    "even": {"f": f"(CASE WHEN abs({_X}) < {_d(1e-200)} THEN CASE WHEN {_X} = 0 THEN {_X} ELSE 2 * sign({_X}) END "
                  f"WHEN {_X} > 0 THEN 2 * ceil({_X} / 2) ELSE 2 * floor({_X} / 2) END)"},
    "width_bucket": {"": f"(CASE WHEN {{1}} >= {{2}} THEN NULL WHEN {{0}} < {{1}} THEN CAST(0 AS BIGINT) "
                         f"WHEN {{0}} >= {{2}} THEN {{3}} + 1 WHEN {{0}} - {{1}} < {_d(1e-200)} THEN CAST(1 AS BIGINT) "
                         f"WHEN {{0}} >= {{1}} THEN LEAST(CAST(floor({_RATIO} * {{3}}) AS BIGINT) + 1, {{3}}) END)"},
    "exp": {"": f"(CASE WHEN {_X} > {_d(709.782712893384)} THEN {_INF} WHEN {_X} < {_d(-745.1332191019411)} THEN {_d(0.0)} "
                f"ELSE exp({_X}) END)"},
    "log2": {"": exact_log2("power", "ln")},
    "power": {"": _POWER},
    **{name: {"": f"{name}({_FINITE})"} for name in ("sin", "cos", "tan")},
    "degrees": {"": multiply(_X, _d(57.29577951308232))}, "radians": {"": multiply(_X, _d(0.017453292519943295))},
    "bit_xor": {"": "({0} # {1})"},
    # Texts
    "like": {"": "({0} LIKE {1} ESCAPE '')"},
    # Without a row PostgreSQL compiles a pattern only in a constant expression, and then planning does: a pattern that
    # is too complex for it is found before the charge. !s, for a long argument written twice is no longer a constant.
    "regexp_matches": {"": "({0} ~ {1} AND ('' COLLATE \"C\" ~ {1!s}) IS NOT NULL)"},
    "ends_with": {"": "(right({0}, length({1})) = {1})"},
    "contains": {"": "(strpos({0}, {1}) > 0)"},
    "trim": {"tt": "btrim({0}, {1})"}, "strlen": {"": "CAST(octet_length({0}) AS BIGINT)"},
    # Dates
    **{name: {"": f"CAST(extract({part} FROM {_X}) AS BIGINT)"} for name, part in
       {**{p: p for p in ("year", "month", "day", "quarter", "week", "isoyear", "isodow", "decade", "century",
                          "hour", "minute")}, "dayofweek": "dow", "dayofyear": "doy"}.items()},
    "second": {"": "CAST(floor(extract(second FROM {0})) AS BIGINT)"},
    "epoch": {"": f"(CAST({_micros(_X)} AS DOUBLE) / 1000000)"},
    "epoch_ms": {"": "CAST(floor(extract(epoch FROM {0}) * 1000) AS BIGINT)"},
    "dayname": {"": "to_char({0}, 'FMDay')"}, "monthname": {"": "to_char({0}, 'FMMonth')"},
    "last_day": {"": "CAST(date_trunc('month', CAST({0} AS TIMESTAMP)) + INTERVAL '1 month' - INTERVAL '1 day' "
                     "AS DATE)"},
    "bucket_of_months": {"": "(TIMESTAMP '2000-01-01 00:00:00' + make_interval(months => CAST("
                         f"{_floored(f'({_months(_Y)} - 24000)', _X)} AS INTEGER)))"},
    "bucket_of_micros": {"": _plus("TIMESTAMP '2000-01-03 00:00:00'",
                                   _floored(f"({_micros(_Y)} - 946857600000000)", _X))},
    "add_months": {"": "({0} + make_interval(months => CAST({1} AS INTEGER)))"},
    "add_micros": {"": _plus(_X, _Y)},
    "add_length": {"": _plus(_X, f"({NEAR.replace('DOUBLE', 'float8')})")},
    "make_date": {"": f"(CASE WHEN {{0}} BETWEEN 1 AND 9999 AND {{1}} BETWEEN 1 AND 12 AND {{2}} BETWEEN 1 AND 31 "
                      f"THEN CASE WHEN {{2}} <= {_DAY_IN_MONTH} THEN make_date(CAST({{0}} AS INTEGER), "
                      f"CAST({{1}} AS INTEGER), CAST({{2}} AS INTEGER)) END END)"},
    # Casts
    "to_integer": {
        "b": "CAST(CAST({0} AS INTEGER) AS BIGINT)", "f": _whole(_X),
        "t": matching("(CASE WHEN {0} ~ PATTERN THEN CASE WHEN round(CAST({0} AS NUMERIC)) BETWEEN "
                      "-9223372036854775808 AND 9223372036854775807 THEN CAST(round(CAST({0} AS NUMERIC)) AS BIGINT) "
                      "END END)", INTEGER_TEXT),
    },
    "to_float": {
        "t": matching("(CASE WHEN {0} ~ PATTERN THEN CASE WHEN abs(CAST({0} AS NUMERIC)) > 1.7976931348623158e308 "
                      "THEN NULL WHEN abs(CAST({0} AS NUMERIC)) < 2.4703282292062328e-324 THEN CAST('0.0' AS DOUBLE) "
                      "ELSE CAST({0} AS DOUBLE) END END)", FLOAT_TEXT),
    },
    "to_timestamp": {"t": matching("(CASE WHEN {0} ~ PATTERN THEN CAST({0} AS TIMESTAMP) END)", TIMESTAMP_TEXT)},
    "to_date": {"t": matching("(CASE WHEN {0} ~ PATTERN THEN CAST({0} AS DATE) END)", DATE_TEXT)},
}  # fmt: skip
"""Name of a function -> letters of its arguments, or nothing for all its lines -> template."""


def _of_units() -> dict[str, dict[str, str]]:
    """The functions of dates that there are for each unit of time."""
    x, y = _X, _Y
    out: dict[str, dict[str, str]] = {}
    for unit in cal.DATE_PARTS:
        truncated = {"millisecond": "milliseconds", "microsecond": "microseconds"}.get(unit, unit)
        if unit in cal.YEARS and unit != "year":
            out[f"date_trunc_{unit}"] = {"": _start_of_year(x, cal.YEARS[unit])}
        else:
            out[f"date_trunc_{unit}"] = {"": f"date_trunc('{truncated}', {x})"}
        if unit in cal.MONTHS:
            n = cal.MONTHS[unit]
            out[f"date_diff_{unit}"] = {"": f"({_months(y)} / {n} - {_months(x)} / {n})"}
            out[f"date_sub_{unit}"] = {"": _complete_months(n)}
            continue
        width = 7 * cal.DAY if unit == "week" else cal.CLOCK[unit]
        first, last = (_micros(f"date_trunc('{truncated}', {moment})") for moment in (x, y))
        out[f"date_diff_{unit}"] = {"": f"(({last} - {first}) / {width})"}
        out[f"date_sub_{unit}"] = {"": f"(({_micros(y)} - {_micros(x)}) / {width})"}
    return out


def _hash(salt: int, columns: Sequence[str]) -> str:
    key = signed(salt)
    return f"hashint8extended(hash_record_extended(ROW({', '.join(columns)}), {key}), {key})"


def _once(source: str, items: Sequence[tuple[str, str]], passed: Sequence[str]) -> str:
    """Columns behind an outer join, where the planner computes each but once, and workers side by side still may.

    The join adds nothing to a row: its other side is always one row. OFFSET 0 would leave all rows to one worker.
    """
    computed = ", ".join(f"{sql} AS {name}" for name, sql in items)
    shown = ", ".join([*(f"l.{name}" for name, _ in items), *(f"r.{name}" for name in passed)])
    return f"SELECT {shown} FROM ({source}) AS r LEFT JOIN LATERAL (SELECT {computed}) AS l ON TRUE"


POSTGRES = Dialect(
    only="(array_agg({0}))[1]",  # it has no MIN of every type
    name="postgres",
    parser="postgres",
    types=MappingProxyType({"DOUBLE": "DOUBLE PRECISION", "VARCHAR": "TEXT", WIDE: "DECIMAL(38, 0)"}),
    typed_constants=True,
    divide="({0} / {1})",
    hash=_hash,
    numbers=(
        "CAST(CAST('x' || substr(md5({0}), 1, 15) AS bit(60)) AS BIGINT)",
        "CAST(CAST('x' || substr(md5({0}), 16, 15) AS bit(60)) AS BIGINT)",
    ),
    least=sampled,
    # Of a range the planner thinks that one row in two hundred is in it, and of a CASE that every other row is.
    between="CASE WHEN {0} BETWEEN {1} AND {2} THEN TRUE END",
    # The planner would write each column out again wherever it is used, were it not for OFFSET.
    fence=" OFFSET 0",
    clamps_groups=True,
    once=_once,
    computed_once="MATERIALIZED ",
    named_arguments=True,
    underflow_raises=True,
    functions=MappingProxyType({**_FUNCTIONS, **_of_units()}),
    writers=MappingProxyType({
        "lower": lambda _: _mapped("lower"), "upper": lambda _: _mapped("upper"), "ilike": _ilike,
        "strftime": format_template({
            **{name: f"to_char({{0}}, '{format_}')" for name, format_ in _FORMATS.items()},
            "w": "CAST(CAST(extract(dow FROM {0}) AS BIGINT) AS TEXT)",
        }, lambda text: f"CAST({quoted_text(text)} AS TEXT)"),
    }),
)  # fmt: skip
"""PostgreSQL 14 and newer."""
