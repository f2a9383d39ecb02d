"""Spark's SQL, for a session without ANSI mode, in UTC, with TIMESTAMP as an instant.

Spark's doubles are IEEE 754 and never raise; guards stand where it rounds, reads or formats otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from discreet.quoting import quote_for_spark
from discreet.sql.dialects.spark_patterns import java, matches, placed
from discreet.sql.dialects.spark_patterns import text as _text
from discreet.sql.expressions.dialect import WIDE, Dialect
from discreet.sql.expressions.expression import Call, Literal
from discreet.sql.functions import calendar as cal
from discreet.sql.functions.portable import (
    DATE_TEXT,
    FLOAT_TEXT,
    INFINITY,
    INTEGER_TEXT,
    TIMESTAMP_TEXT,
    case_pairs,
    exact_log2,
    format_template,
    remainder,
)
from discreet.sql.functions.regular.tree import parse
from discreet.sql.functions.shifts import NEAR

_EXACT = "CAST('4503599627370496.0' AS DOUBLE)"  # 2^52: from here on every double is whole
_HIGH, _LOW = "CAST('9223372036854775808.0' AS DOUBLE)", "CAST('-9223372036854775808.0' AS DOUBLE)"


def _floating(function: str) -> str:
    """Floor and ceil give an integer of 64 bits, which does not hold every double."""
    return f"(CASE WHEN abs({{0}}) < {_EXACT} THEN CAST({function}({{0}}) AS DOUBLE) ELSE {{0}} END)"


def _trunc(x: str) -> str:
    return f"(CASE WHEN abs({x}) < {_EXACT} THEN CAST(CAST({x} AS BIGINT) AS DOUBLE) ELSE {x} END)"


def _whole(rounded: str) -> str:
    """An integer, NULL outside 64 bits."""
    return f"(CASE WHEN {{0}} >= {_LOW} AND {{0}} < {_HIGH} THEN CAST({rounded} AS BIGINT) END)"


def _to_places(rounded: str) -> str:
    scale = "power(CAST('10.0' AS DOUBLE), CAST(abs({1}) AS DOUBLE))"
    up, down = (rounded.replace("X", f"({{0}} {operator} {scale})") for operator in "*/")
    return (
        f"(CASE WHEN NOT abs({{0}}) < CAST('1e290' AS DOUBLE) THEN {{0}} WHEN {{1}} >= 0 THEN {up} / {scale} "
        f"ELSE {down} * {scale} END)"
    )


def _reads(pattern: str, then: str) -> str:
    return f"(CASE WHEN {{0}} RLIKE {_text(java(parse(pattern)))} THEN {then} END)"


def _year(x: str) -> str:
    return f"CAST(year({x}) AS BIGINT)"


def _months(x: str) -> str:
    return f"({_year(x)} * 12 + month({x}) - 1)"


def _floored(number: str, width: str) -> str:
    return f"({number} - pmod({number}, {width}))"


def _complete_months(n: int) -> str:
    def whole(a: str, b: str) -> str:
        between = f"CAST({_months(b)} - {_months(a)} AS INT)"
        return (
            f"(({between} - CASE WHEN timestampadd(MONTH, {between}, {a}) > {b} THEN 1 ELSE 0 END) DIV {n})"
        )

    return f"CAST(CASE WHEN {{0}} <= {{1}} THEN {whole('{0}', '{1}')} ELSE - {whole('{1}', '{0}')} END AS BIGINT)"


_DAYS_OF_MONTH = (
    "CASE WHEN {1} = 2 THEN CASE WHEN {0} % 4 = 0 AND ({0} % 100 <> 0 OR {0} % 400 = 0) THEN 29 ELSE 28 END "
    "WHEN {1} IN (4, 6, 9, 11) THEN 30 ELSE 31 END"
)
_MONTHS_SINCE_2000 = _floored(f"({_months('{1}')} - 24000)", "{0}")
_QUOTIENT = "({0} / NULLIF({1}, CAST('0.0' AS DOUBLE)))"


_FUNCTIONS: Mapping[str, Mapping[str, str]] = {
    "concat_all": {"": "concat_ws('', {*})"}, "least": {"": "LEAST({*}, NULL)"}, "greatest": {"": "GREATEST({*}, NULL)"},
    "divide": {"ff": _QUOTIENT}, "integer_divide": {"ii": "({0} DIV NULLIF({1}, 0))", "ff": _trunc(_QUOTIENT)},
    "remainder": {"ff": remainder(_QUOTIENT, lambda x, y: f"{x} * {y}", _trunc)},
    "floor": {"f": _floating("floor")}, "ceil": {"f": _floating("ceil")}, "trunc": {"f": _trunc("{0}")},
    "round": {"f": "round({0})"}, "round_to": {"": _to_places("round(X)")}, "trunc_to": {"": _to_places(_trunc("X"))},
    "floor_whole": {"": _whole("floor({0})")}, "ceil_whole": {"": _whole("ceil({0})")},
    "trunc_whole": {"": _whole("{0}")}, "round_whole": {"": _whole("round({0})")},
    "even": {"": f"(CASE WHEN NOT abs({{0}}) < {_EXACT} * 2 OR {{0}} = 0 THEN {{0}} WHEN abs({{0}}) < 1 THEN 2 * sign({{0}}) WHEN {{0}} > 0 "
                 "THEN CAST(2 * ceil({0} / 2) AS DOUBLE) ELSE CAST(2 * floor({0} / 2) AS DOUBLE) END)"},
    "log2": {"": exact_log2()},
    "power": {"": "(CASE WHEN {0} = 0 AND {1} < 0 THEN NULL WHEN {0} < 0 AND {1} <> rint({1}) THEN NULL "
                  f"WHEN abs({{0}}) = 1 AND abs({{1}}) = {INFINITY} THEN CAST('1.0' AS DOUBLE) "
                  "ELSE power({0}, {1}) END)"},
    "bit_xor": {"": "({0} ^ {1})"},
    # Texts
    "starts_with": {"": "startswith({0}, {1})"}, "ends_with": {"": "endswith({0}, {1})"},
    "trim": {"tt": "trim(BOTH {1} FROM {0})"}, "ltrim": {"tt": "trim(LEADING {1} FROM {0})"},
    "rtrim": {"tt": "trim(TRAILING {1} FROM {0})"}, "strlen": {"": "CAST(octet_length({0}) AS BIGINT)"},
    "position": {"": "CAST(locate({1}, {0}) AS BIGINT)"}, "reverse": {"": "reverse({0})"},
    # Dates
    **{name: {"": f"CAST({function}({{0}}) AS BIGINT)"} for name, function in
       {**{p: p for p in ("year", "month", "day", "quarter", "hour", "minute", "second", "dayofyear")},
        "week": "weekofyear"}.items()},
    "isoyear": {"": "CAST(extract(YEAROFWEEK FROM {0}) AS BIGINT)"},
    "dayofweek": {"": "CAST(dayofweek({0}) - 1 AS BIGINT)"}, "isodow": {"": "CAST(weekday({0}) + 1 AS BIGINT)"},
    "decade": {"": f"({_year('{0}')} DIV 10)"}, "century": {"": f"(({_year('{0}')} + 99) DIV 100)"},
    "epoch": {"": "(CAST(unix_micros({0}) AS DOUBLE) / 1000000)"}, "epoch_ms": {"": "unix_millis({0})"},
    "dayname": {"": "date_format({0}, 'EEEE')"}, "monthname": {"": "date_format({0}, 'MMMM')"},
    "days_between": {"": "CAST(datediff({0}, {1}) AS BIGINT)"},
    "add_days": {"": "date_add({0}, CAST(CASE WHEN {1} BETWEEN -1460970 AND 1460970 THEN {1} END AS INT))"},
    "sub_days": {"": "date_sub({0}, CAST(CASE WHEN {1} BETWEEN -1460970 AND 1460970 THEN {1} END AS INT))"},
    "bucket_of_months": {"": f"timestampadd(MONTH, CAST({_MONTHS_SINCE_2000} AS INT), "
                             "TIMESTAMP '2000-01-01 00:00:00')"},
    "bucket_of_micros": {"": "timestamp_micros(946857600000000 + "
                             f"{_floored('(unix_micros({1}) - 946857600000000)', '{0}')})"},
    "add_months": {"": "timestampadd(MONTH, CAST({1} AS INT), {0})"},
    "add_micros": {"": "timestamp_micros(unix_micros({0}) + {1})"},
    "add_length": {"": f"timestamp_micros(unix_micros({{0}}) + {NEAR})"},
    "make_date": {"": f"(CASE WHEN {{0}} BETWEEN 1 AND 9999 AND {{1}} BETWEEN 1 AND 12 AND {{2}} BETWEEN 1 AND "
                      f"{_DAYS_OF_MONTH} THEN make_date(CAST({{0}} AS INT), CAST({{1}} AS INT), CAST({{2}} AS INT)) "
                      "END)"},
    # Casts
    "to_integer": {
        "f": _whole("rint({0})"),
        "t": _reads(INTEGER_TEXT, "CASE WHEN round(CAST({0} AS DECIMAL(38, 15))) BETWEEN -9223372036854775808 AND "
                                  "9223372036854775807 THEN CAST(round(CAST({0} AS DECIMAL(38, 15))) AS BIGINT) END"),
    },
    "to_float": {"t": _reads(FLOAT_TEXT, f"NULLIF(NULLIF(CAST({{0}} AS DOUBLE), {INFINITY}), - {INFINITY}) + 0")},
    "to_timestamp": {"t": _reads(TIMESTAMP_TEXT, "CAST({0} AS TIMESTAMP)")},
    "to_date": {"t": _reads(DATE_TEXT, "CAST({0} AS DATE)")},
}  # fmt: skip
"""Name of a function -> letters of its arguments, or nothing for all its lines -> template."""


def _of_units() -> dict[str, dict[str, str]]:
    """The functions of dates that there are for each unit of time."""
    out: dict[str, dict[str, str]] = {}
    for unit in cal.DATE_PARTS:
        if unit in cal.YEARS and unit != "year":
            first = f"CAST(year({{0}}) DIV {cal.YEARS[unit]} * {cal.YEARS[unit]} - 2000 AS INT)"
            out[f"date_trunc_{unit}"] = {"": f"timestampadd(YEAR, {first}, TIMESTAMP '2000-01-01 00:00:00')"}
        if unit in cal.MONTHS:
            n = cal.MONTHS[unit]
            out[f"date_diff_{unit}"] = {"": f"({_months('{1}')} DIV {n} - {_months('{0}')} DIV {n})"}
            out[f"date_sub_{unit}"] = {"": _complete_months(n)}
            continue
        width = 7 * cal.DAY if unit == "week" else cal.CLOCK[unit]
        # Weeks begin on Monday, and 1970-01-05 was one.
        begins = [f"(unix_micros({{{index}}}) - {4 * cal.DAY if unit == 'week' else 0})" for index in (0, 1)]
        a, b = (_floored(begin, str(width)) for begin in begins)
        out[f"date_diff_{unit}"] = {"": f"(({b} - {a}) DIV {width})"}
        out[f"date_sub_{unit}"] = {"": f"((unix_micros({{1}}) - unix_micros({{0}})) DIV {width})"}
    return out


def _mapped(function: str) -> str:
    return (
        f"(CASE WHEN octet_length({{0}}) = length({{0}}) THEN {function}({{0}}) "
        f"ELSE {_translated('{0}', function)} END)"
    )


def _translated(x: str, function: str) -> str:
    before, after = case_pairs(function)
    return f"translate({x}, '{before}', '{after}')"


def _like(call: Call) -> str:
    return _fits("{0}", _literal(call, 1))


def _ilike(call: Call) -> str:
    pairs = dict(zip(*case_pairs("lower"), strict=True))
    return _fits(_translated("{0}", "lower"), "".join(pairs.get(c, c) for c in _literal(call, 1)))


def _fits(text: str, pattern: str) -> str:
    """Spark tries every place of every % in turn, in a time that grows with the power of their number.

    The first place of each is enough, so nothing goes back behind a piece that was found.
    """
    if pattern.count("%") - pattern.endswith("%") <= 1:
        return f"({text} LIKE {_text(pattern.replace(chr(92), chr(92) * 2))})"
    first, *pieces, last = map(_piece, pattern.split("%"))
    found = "".join(f"(?>.*?{piece})" for piece in pieces if piece)
    return f"({text} RLIKE {_text(f'(?s)^{first}{found}.*{last}' + chr(92) + 'z')})"


def _piece(of: str) -> str:
    """A part of a LIKE without %, as Java reads it."""
    return "".join("." if c == "_" else f"\\x{{{ord(c):x}}}" for c in of)


def _literal(call: Call, index: int) -> str:
    found = call.args[index]
    assert isinstance(found, Literal)
    return str(found.value)


_REPEATED = (86_400, 10_800, 7200, 3600, 1800)
"""By how many seconds clocks have been put back since 1970."""


def _in_zone(call: Call) -> str:
    """Java takes the earlier of two moments that a clock shows; here it is the later one."""
    utc = "to_utc_timestamp({0}, {1})"
    source = call.args[1]
    if not isinstance(source, Literal) or source.value != "UTC":
        later = [f"timestamp_micros(unix_micros({utc}) + {seconds}000000)" for seconds in _REPEATED]
        cases = " ".join(
            f"WHEN from_utc_timestamp({moment}, {{1}}) = {{0}} THEN {moment}" for moment in later
        )
        utc = f"CASE {cases} ELSE {utc} END"
    return f"(CASE WHEN {{0}} >= TIMESTAMP '1970-01-02 00:00:00' THEN from_utc_timestamp({utc}, {{2}}) END)"


_FORMATS = {
    "Y": "yyyy", "y": "yy", "m": "MM", "b": "MMM", "B": "MMMM", "d": "dd", "j": "DDD", "a": "EEE", "A": "EEEE",
    "H": "HH", "I": "hh", "p": "a", "M": "mm", "S": "ss",
}  # fmt: skip


LOW_BITS = 15
"""How many bits of an integer are summed apart from the others."""


def _total(integer: str) -> str:
    """Spark sums in 64 bits, which 2^33 rows would overflow, or in decimals, at several times the price.

    So it sums the upper and the lower bits apart, with t = 2^15 (t >> 15) + (t & 32767) for negative t, too: both sums
    stay within 64 bits up to 2^46 rows of a group.
    """
    upper = f"CAST(SUM(shiftright({integer}, {LOW_BITS})) AS DECIMAL(38, 0))"
    return f"{upper} * {2**LOW_BITS} + SUM({integer} & {2**LOW_BITS - 1})"


def _hash(salt: int, columns: Sequence[str]) -> str:
    # It passes over NULL, so that (1, NULL) and (NULL, 1) would be hashed alike.
    missing = ", ".join(f"{column} IS NULL" for column in columns)
    signed = f"CAST({salt - 2**64 if salt >= 2**63 else salt} AS BIGINT)"
    return f"xxhash64(xxhash64({signed}, {', '.join(columns)}, {missing}))"


SPARK = Dialect(
    only="first({0})",
    name="spark",
    parser="spark",
    most_parts=4_000,
    quote=quote_for_spark,
    text=_text,
    types=MappingProxyType({"VARCHAR": "STRING", WIDE: "DECIMAL(38, 0)"}),
    divide="({0} DIV {1})",
    total=_total,
    summed="CAST({0} AS DECIMAL(38, 0))",
    hash=_hash,
    numbers=(
        "CAST(conv(substr(md5({0}), 1, 15), 16, 10) AS BIGINT)",
        "CAST(conv(substr(md5({0}), 16, 15), 16, 10) AS BIGINT)",
    ),
    windows_need_order=True,
    functions=MappingProxyType({**_FUNCTIONS, **_of_units()}),
    writers=MappingProxyType({
        "lower": lambda _: _mapped("lower"), "upper": lambda _: _mapped("upper"), "like": _like, "ilike": _ilike,
        "regexp_matches": matches, "regexp_extract": placed, "regexp_replace_all": placed, "in_zone": _in_zone,
        "strftime": format_template({
            **{name: f"date_format({{0}}, '{format_}')" for name, format_ in _FORMATS.items()},
            "u": "CAST(weekday({0}) + 1 AS STRING)", "w": "CAST(dayofweek({0}) - 1 AS STRING)",
            "G": "lpad(CAST(extract(YEAROFWEEK FROM {0}) AS STRING), 4, '0')",
            "V": "lpad(CAST(weekofyear({0}) AS STRING), 2, '0')",
        }, _text),
    }),
)  # fmt: skip
"""Spark 4, without ANSI mode, in UTC."""
