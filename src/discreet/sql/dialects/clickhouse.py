"""ClickHouse's SQL, with the settings of its engine (`engines/clickhouse/settings.py`).

Dates are days and time stamps microseconds since 1970, as integers: ClickHouse's own types wrap or are cut at their
ends, and its calendar is asked only for the parts of a date that it surely holds. NaN equals nothing, so that `x = x`
tells it. Sums of 64 bits wrap without a word, so that integers are summed in 128 bits.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from discreet.quoting import quote_for_clickhouse
from discreet.sql.dialects import clickhouse_moments as moments
from discreet.sql.expressions.dialect import WIDE, Dialect, RowSelection
from discreet.sql.expressions.expression import Call, Literal
from discreet.sql.functions import calendar as cal
from discreet.sql.functions.portable import (
    DATE_TEXT,
    FLOAT_TEXT,
    INFINITY,
    INTEGER_TEXT,
    TIMESTAMP_TEXT,
    case_pairs,
    format_template,
)
from discreet.sql.functions.shifts import NEAR


def _text(value: str) -> str:
    plain = "".join(c if c.isprintable() and c not in "'\\" else _escaped(c) for c in value)
    return f"'{plain}'"


def _escaped(c: str) -> str:
    return "".join(f"\\x{byte:02X}" for byte in c.encode())


def _date(day: dt.date) -> str:
    return f"CAST({cal.day_number(day.year, day.month, day.day)} AS Int32)"


def _moment(moment: dt.datetime) -> str:
    day = cal.day_number(moment.year, moment.month, moment.day)
    time = ((moment.hour * 60 + moment.minute) * 60 + moment.second) * 1_000_000 + moment.microsecond
    return f"CAST({day * cal.DAY + time} AS Int64)"


def _hash(salt: int, columns: Sequence[str]) -> str:
    """In an array NULL is a value like others; beside one, the whole hash would be NULL."""
    listed = ", ".join(f"[{column}]" for column in columns)
    return f"cityHash64(toUInt64({salt}), cityHash64(toUInt64({salt}), {listed}))"


def _least(kept: RowSelection) -> str | None:
    """The rows that are kept, from an array of those of each unit: less than half as long as ranking them all."""
    if not kept.names:
        return None
    parts = [f"tupleElement(__x, {index})" for index in range(1, len(kept.names) + 1)]
    # How often a row stood in the array before: which of several that are alike has which number does not matter.
    given, also = ("(__x, __n)", ", arrayEnumerateUniq(__rows)") if kept.numbered else ("__x", "")
    key = _hash(kept.salt, [kept.unit, *parts, *(["__n"] if kept.numbered else [])])
    keyed = f"arrayMap({given} -> tuple({key}, {', '.join(parts)}), __rows{also})"
    rows = f"SELECT {kept.unit}, groupArray(tuple({', '.join(kept.names)})) AS __rows FROM {kept.source} GROUP BY {kept.unit}"
    least = (
        f"SELECT arrayJoin(arraySlice(arraySort({keyed}), 1, {kept.max_rows})) AS __row FROM ({rows}) AS l"
    )
    items = ", ".join(f"tupleElement(__row, {index}) AS {name}" for index, name in enumerate(kept.names, 2))
    return f"SELECT {items} FROM ({least}) AS k"


def _aggregate(template: str) -> str:
    """The template of an aggregate or a window function.

    lag and lead give 0 or '' where there is no row and their argument has no NULL in its type, and first_value passes
    over NULL.
    """
    name, _, rest = template.partition("(")
    if name in ("lag", "lead"):
        return f"{name}({rest.replace('{0}', 'toNullable({0})', 1)}"
    if name.endswith("_value"):
        return template.replace(") {over}", ") RESPECT NULLS {over}")
    template = template.replace("BOOL_AND(", "MIN(").replace("BOOL_OR(", "MAX(")
    # Else unsigned, which has no common type with signed integers.
    return f"CAST({template} AS Int64)" if name == "COUNT" else template


# Numbers -----------------------------------------------------------------------------------------------------


def _d(x: float | str) -> str:
    return f"CAST('{x}' AS DOUBLE)"


def _whole(x: str) -> str:
    """A double without a fraction as an integer, NULL outside 64 bits."""
    return f"accurateCastOrNull({x}, 'Int64')"


def _round(x: str) -> str:
    """The nearest whole number, half away from zero; x - trunc(x) is exact, and NaN for an infinite x."""
    return (
        f"(CASE WHEN {x} - trunc({x}) >= {_d(0.5)} THEN trunc({x}) + 1 "
        f"WHEN {x} - trunc({x}) <= {_d(-0.5)} THEN trunc({x}) - 1 ELSE trunc({x}) END)"
    )


def _places(call: Call) -> str:
    """Rounding to decimal places, a literal: powers of ten up to 10^15 are doubles."""
    places = call.args[1]
    assert isinstance(places, Literal)
    assert isinstance(places.value, int)
    scale = _d(float(10 ** abs(places.value)))
    up, down = ("*", "/") if places.value >= 0 else ("/", "*")
    moved = f"({{0}} {up} {scale})"
    whole = _round(moved) if call.name == "round_to" else f"trunc({moved})"
    return f"(CASE WHEN NOT abs({{0}}) < {_d(1e290)} THEN {{0}} ELSE {whole} {down} {scale} END)"


# ClickHouse's own pow is wrong where a result is too large or too small, and for a base that is too small to be normal.
_SIZE = "{1} * ln(abs({0}))"


def _odd(value: str) -> str:
    """A value, with the sign that it has for a negative base and an odd exponent."""
    return f"CASE WHEN {{0}} < 0 AND {{1}} / 2 <> trunc({{1}} / 2) THEN - {value} ELSE {value} END"


_POWER = (
    "(CASE WHEN {0} IS NULL OR {0} = 0 AND {1} < 0 THEN NULL WHEN {0} < 0 AND {1} <> trunc({1}) THEN NULL "
    f"WHEN abs({{0}}) = 1 THEN {_odd(_d(1.0))} "
    f"WHEN {{0}} <> 0 AND {_SIZE} > {_d(709.79)} THEN {_odd(INFINITY)} "
    f"WHEN {{0}} <> 0 AND {_SIZE} < {_d(-745.2)} THEN {_odd(_d(0.0))} "
    f"WHEN abs({{0}}) < {_d(2.3e-308)} AND {{0}} <> 0 AND {{1}} <> 0 "
    f"THEN pow({{0}} * {_d(2.0**60)}, {{1}}) * pow({_d(2.0**-60)}, {{1}}) "
    "ELSE pow({0}, {1}) END)"
)


# Texts -------------------------------------------------------------------------------------------------------


def _braced(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _pattern(text: str) -> str:
    """A regular expression as a constant: a dot is any character but a line feed."""
    return _braced(_text("(?-s)" + text))


def _known(call: Call, index: int) -> str:
    arg = call.args[index]
    assert isinstance(arg, Literal)
    return str(arg.value)


def _regexp(call: Call) -> str:
    # A plan without a row compiles constants only; so a pattern that is too complex is found before the charge.
    pattern = _pattern(_known(call, 1))
    return f"(match({{0}}, {pattern}) AND match('', {pattern}) IN (0, 1))"


def _placed(call: Call) -> str:
    pattern = _pattern(_known(call, 1))
    if call.name == "regexp_extract":
        return f"regexpExtract({{0}}, {pattern}, 1)"
    function = "replaceRegexpAll" if call.name == "regexp_replace_all" else "replaceRegexpOne"
    return f"{function}({{0}}, {pattern}, {_braced(_text(_known(call, 2)))})"


def _like(call: Call) -> str:
    return f"({{0}} LIKE {_braced(_text(_known(call, 1).replace(chr(92), chr(92) * 2)))})"


def _translated(x: str, function: str) -> str:
    before, after = case_pairs(function)
    return f"translateUTF8({x}, {_text(before)}, {_text(after)})"


def _mapped(function: str) -> str:
    return (
        f"(CASE WHEN length({{0}}) = lengthUTF8({{0}}) THEN {function}({{0}}) "
        f"ELSE {_translated('{0}', function)} END)"
    )


def _ilike(call: Call) -> str:
    before, after = case_pairs("lower")
    pattern = _known(call, 1).translate(str.maketrans(before, after)).replace(chr(92), chr(92) * 2)
    return f"({_translated('{0}', 'lower')} LIKE {_braced(_text(pattern))})"


def _trim(call: Call) -> str:
    if len(call.args) < 2:
        which = {"trim": "trimBoth", "ltrim": "trimLeft", "rtrim": "trimRight"}[call.name]
        return f"{which}({{0}})"
    letters = _known(call, 1)
    if not letters:
        return "{0}"
    some = "[" + "".join(f"\\x{{{ord(c):x}}}" for c in letters) + "]+"
    ends = {"trim": f"^{some}|{some}$", "ltrim": f"^{some}", "rtrim": f"{some}$"}[call.name]
    return f"replaceRegexpAll({{0}}, {_braced(_text(ends))}, '')"


def _among(call: Call) -> str:
    """`a IN (b, c)`: beside NULL, which is not found, the answer is unknown."""
    given = [
        index
        for index, arg in enumerate(call.args)
        if index and isinstance(arg, Literal) and arg.value is not None
    ]
    listed = ", ".join(f"{{{index}}}" for index in given)
    found = f"{{0}} IN ({listed})" if given else "FALSE"
    if len(given) < len(call.args) - 1:
        return f"(CASE WHEN {found} THEN TRUE END)"
    return f"({found})"


def _byte(index: int) -> str:
    return f"CAST(reinterpretAsUInt8(substring({{0}}, {index}, 1)) AS Int64)"


_CODE_POINT = (
    f"(CASE WHEN length({{0}}) = 0 THEN 0 WHEN {_byte(1)} < 128 THEN {_byte(1)} "
    f"WHEN {_byte(1)} < 224 THEN ({_byte(1)} - 192) * 64 + {_byte(2)} - 128 "
    f"WHEN {_byte(1)} < 240 THEN (({_byte(1)} - 224) * 64 + {_byte(2)} - 128) * 64 + {_byte(3)} - 128 "
    f"ELSE ((({_byte(1)} - 240) * 64 + {_byte(2)} - 128) * 64 + {_byte(3)} - 128) * 64 + {_byte(4)} - 128 END)"
)
_ROUNDED = (
    f"(toInt128OrNull(extract({moments.TRIMMED}, {_braced(_text('^[+-]?([0-9]+)'))})) "
    f"+ CASE WHEN match({moments.TRIMMED}, {_text('[.][5-9]')}) THEN 1 ELSE 0 END)"
)
_SIGNED = f"(CASE WHEN startsWith({moments.TRIMMED}, '-') THEN - {_ROUNDED} ELSE {_ROUNDED} END)"


_MONTH, _OTHER = moments.month_of(moments.day("{0}")), moments.month_of(moments.day("{1}"))
_NEXT_MONTH = f"({moments.month_of('{0}')} + 1)"
_BUCKET = f"({_OTHER} - {moments.positive(f'({_OTHER} - 24000)', '{0}')})"
_FUNCTIONS: Mapping[str, Mapping[str, str]] = {
    "scan": {"f": "(CASE WHEN {0} = {0} THEN CAST({0} AS DOUBLE) END)"},
    "one_zero": {"": "(CASE WHEN {0} = {0} THEN {0} + CAST(0 AS DOUBLE) END)"},
    "no_nan": {"": "(CASE WHEN {0} = {0} THEN {0} END)"},
    "concat_all": {"": "arrayStringConcat([{*}])"},
    "abs": {"i": "(CASE WHEN {0} < 0 THEN - {0} ELSE {0} END)"},
    "integer_divide": {"ii": "intDivOrNull({0}, {1})", "ff": "trunc({0} / NULLIF({1}, 0))"},
    "remainder": {"ii": "moduloOrNull({0}, CASE WHEN {1} = -1 THEN 1 ELSE {1} END)"},
    "round": {"f": _round("{0}")}, "round_whole": {"": _whole(_round("{0}"))},
    **{f"{name}_whole": {"": _whole(f"{name}({{0}})")} for name in ("floor", "ceil", "trunc")},
    "even": {"": "(CASE WHEN abs({0}) < 1 THEN 2 * sign({0}) WHEN {0} > 0 THEN 2 * ceil({0} / 2) ELSE 2 * floor({0} / 2) END)"},
    "power": {"": _POWER},
    "width_bucket": {"": "(CASE WHEN {1} >= {2} THEN NULL WHEN {0} < {1} THEN CAST(0 AS Int64) WHEN {0} >= {2} THEN {3} + 1 "
                         "WHEN {0} >= {1} THEN LEAST(accurateCastOrNull(floor(({0} - {1}) / ({2} - {1}) * {3}), 'Int64') "
                         "+ 1, {3}) END)"},
    "bit_and": {"": "bitAnd({0}, {1})"}, "bit_or": {"": "bitOr({0}, {1})"}, "bit_xor": {"": "bitXor({0}, {1})"},
    # Texts
    "starts_with": {"": "startsWith({0}, {1})"}, "ends_with": {"": "endsWith({0}, {1})"},
    "contains": {"": "(position({0}, {1}) > 0)"},
    "left": {"": "leftUTF8({0}, {1})"}, "right": {"": "rightUTF8({0}, {1})"},
    "substring": {"tii": "substringUTF8({0}, {1}, {2})", "ti": "substringUTF8({0}, {1})"},
    "split_part": {"": "(CASE WHEN {0} IS NOT NULL THEN arrayElement(splitByString({1}, ifNull({0}, '')), {2}) END)"},
    "concat": {"": "concat({0}, {1})"}, "replace": {"": "replaceAll({0}, {1}, {2})"},
    "lpad": {"": "leftPadUTF8({0}, {1}, {2})"}, "reverse": {"": "reverseUTF8({0})"},
    "length": {"": "CAST(lengthUTF8({0}) AS Int64)"}, "strlen": {"": "CAST(length({0}) AS Int64)"},
    "position": {"": "CAST(positionUTF8({0}, {1}) AS Int64)"}, "ascii": {"": _CODE_POINT},
    "cut": {"": "leftUTF8({0}, 4096)"},
    # Dates
    "in_years": {k: f"(CASE WHEN {{0}} BETWEEN {lo} AND {hi} THEN {{0}} END)" for k, (lo, hi) in moments.YEARS.items()},
    **{name: {"": moments.part(function, "{0}")} for name, function in {
        "year": "toYear", "month": "toMonth", "day": "toDayOfMonth", "quarter": "toQuarter", "week": "toISOWeek",
        "isoyear": "toISOYear", "isodow": "toDayOfWeek", "dayofyear": "toDayOfYear"}.items()},
    "dayofweek": {"": f"modulo({moments.part('toDayOfWeek', '{0}')}, 7)"},
    "decade": {"": f"intDiv({moments.part('toYear', '{0}')}, 10)"}, "century": {"": f"intDiv({moments.part('toYear', '{0}')} + 99, 100)"},
    "hour": {"": moments.HOUR}, "minute": {"": moments.MINUTE}, "second": {"": moments.SECOND},
    "epoch": {"": "(CAST({0} AS DOUBLE) / 1000000)"},
    "epoch_ms": {"": f"(intDiv({{0}} + {moments.BEFORE}, 1000) - {moments.BEFORE // 1000})"},
    "dayname": {"": moments.name("toDayOfWeek", "{0}")}, "monthname": {"": moments.name("toMonth", "{0}")},
    "days_between": {"": "CAST({0} - {1} AS Int64)"},
    "last_day": {"": f"CAST({moments.first_of(_NEXT_MONTH)} - 1 AS Int32)"},
    "add_days": {"": "CAST({0} + CASE WHEN {1} BETWEEN -1460970 AND 1460970 THEN {1} END AS Int32)"},
    "sub_days": {"": "CAST({0} - CASE WHEN {1} BETWEEN -1460970 AND 1460970 THEN {1} END AS Int32)"},
    "add_months": {"": moments.months_later("{0}", f"({_MONTH} + {{1}})")}, "add_micros": {"": "({0} + {1})"},
    "add_length": {"": f"({{0}} + {NEAR.replace('DOUBLE', 'Float64')})"},
    "bucket_of_months": {"": f"({moments.first_of(_BUCKET)} * {cal.DAY})"},
    "bucket_of_micros": {"": f"({{1}} - {moments.positive('({1} - 946857600000000)', '{0}')})"},
    "make_date": {"": "(CASE WHEN {0} BETWEEN 1 AND 9999 AND {1} BETWEEN 1 AND 12 AND {2} >= 1 AND "
                      f"{{2}} <= {moments.first_of('({0} * 12 + {1})')} - {moments.first_of('({0} * 12 + {1} - 1)')} "
                      f"THEN CAST({moments.first_of('({0} * 12 + {1} - 1)')} + {{2}} - 1 AS Int32) END)"},
    # Casts
    "to_integer": {
        "f": _whole("roundBankers({0})"),
        "t": f"(CASE WHEN match({{0}}, {_pattern(INTEGER_TEXT)}) THEN accurateCastOrNull({_SIGNED}, 'Int64') END)",
    },
    "to_float": {"t": f"(CASE WHEN match({{0}}, {_pattern(FLOAT_TEXT)}) AND abs(toFloat64OrNull({moments.TRIMMED})) < {INFINITY} "
                      f"THEN toFloat64OrNull({moments.TRIMMED}) + 0 END)"},
    "to_text": {"d": f"toString({moments.native('{0}')})"},
    "to_timestamp": {"d": f"(CAST({{0}} AS Int64) * {cal.DAY})",
                     "t": f"(CASE WHEN match({{0}}, {_pattern(TIMESTAMP_TEXT)}) THEN {moments.TEXT_MOMENT} END)"},
    "to_date": {"s": moments.day("{0}"), "t": f"(CASE WHEN match({{0}}, {_pattern(DATE_TEXT)}) THEN {moments.TEXT_DAY} END)"},
}  # fmt: skip
"""Name of a function -> letters of its arguments, or nothing for all its lines -> template."""


def _of_units() -> dict[str, dict[str, str]]:
    """The functions of dates that there are for each unit of time."""
    month = _MONTH
    out: dict[str, dict[str, str]] = {}
    for unit in cal.DATE_PARTS:
        if unit in cal.MONTHS:
            n = cal.MONTHS[unit]
            months = [moments.month_of(moments.day(f"{{{index}}}")) for index in (0, 1)]
            out[f"date_trunc_{unit}"] = {
                "": f"({moments.first_of(f'({month} - modulo({month}, {n}))')} * {cal.DAY})"
            }
            out[f"date_diff_{unit}"] = {"": f"(intDiv({months[1]}, {n}) - intDiv({months[0]}, {n}))"}
            out[f"date_sub_{unit}"] = {"": moments.complete_months(n)}
            continue
        width = 7 * cal.DAY if unit == "week" else cal.CLOCK[unit]
        # Weeks begin on Monday, and 1970-01-05 was one.
        moved = moments.BEFORE - (4 * cal.DAY if unit == "week" else 0)
        out[f"date_trunc_{unit}"] = {"": f"({{0}} - modulo({{0}} + {moved}, {width}))"}
        out[f"date_diff_{unit}"] = {
            "": f"(intDiv({{1}} + {moved}, {width}) - intDiv({{0}} + {moved}, {width}))"
        }
        out[f"date_sub_{unit}"] = {"": f"intDiv({{1}} - {{0}}, {width})"}
    return out


CLICKHOUSE = Dialect(
    name="clickhouse",
    most_parts=250_000,
    parser="clickhouse",
    quote=quote_for_clickhouse,
    text=_text,
    date=_date,
    moment=_moment,
    types=MappingProxyType({
        "DOUBLE": "Float64", "VARCHAR": "String", "BIGINT": "Int64", "DATE": "Int32", "TIMESTAMP": "Int64", "BOOLEAN": "Bool",
        WIDE: "Int128",
    }),
    semi_joins=True,
    divide="intDiv({0}, {1})",
    total="SUM(toInt128({}))".format,
    summed="toInt128({0})",
    whole="accurateCastOrNull({0}, 'Int64')",
    saturate="CAST(GREATEST(LEAST(toInt128({0}), {1}), -{1}) AS Int64)",
    hash=_hash,
    least=_least,
    same_hash="MD5({0})",
    numbers=(
        "CAST(intDiv(reinterpretAsUInt64(reverse(substring(MD5({0}), 1, 8))), 16) AS Int64)",
        "CAST(bitAnd(reinterpretAsUInt64(reverse(substring(MD5({0}), 8, 8))), 1152921504606846975) AS Int64)",
    ),
    functions=MappingProxyType({**_FUNCTIONS, **_of_units()}),
    writers=MappingProxyType({
        "lower": lambda _: _mapped("lower"), "upper": lambda _: _mapped("upper"), "like": _like, "ilike": _ilike,
        **dict.fromkeys(("regexp_extract", "regexp_replace", "regexp_replace_all"), _placed),
        "regexp_matches": _regexp, "trim": _trim, "ltrim": _trim, "rtrim": _trim, "in": _among,
        "round_to": _places, "trunc_to": _places,
        "concat_ws": lambda call: f"arrayStringConcat([{', '.join(f'{{{index}}}' for index in range(1, len(call.args)))}], {{0}})",
        "strftime": format_template(moments.FORMATS, _text),
    }),
    furthest=2_000_000_000,
    aggregate=_aggregate,
)  # fmt: skip
"""ClickHouse 26, which holds the dates of the years 1 to 9999."""
