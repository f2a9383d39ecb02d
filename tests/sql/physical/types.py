"""The physical types of each engine and the worst values of each: both ends, what is just inside, and what is odd.

A type is written as the engine writes it, a value as a literal of that type or as an expression that makes it. Types
that queries cannot read are here as well: no question may fail over them.
"""

from __future__ import annotations

NUMBERS = ["0", "1", "-1", "27", "28"]


def _integer(bits: int, unsigned: bool = False) -> list[str]:
    """Both ends, and the places where a difference from -100 or a product of two begins to overflow."""
    lo, hi = (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    near = [lo, lo + 1, hi, hi - 1, hi - 99, hi - 100, hi - 101, 2 ** ((bits - 1) // 2), 27, 28, 0, 1]
    return list(dict.fromkeys(str(value) for value in near if lo <= value <= hi))


def _decimal(width: int, scale: int) -> list[str]:
    whole, part = "9" * (width - scale) or "0", "9" * scale
    most = f"{whole}.{part}" if scale else whole
    return [f"'{most}'", f"'-{most}'", "0", f"'0.{'0' * (scale - 1)}1'" if scale else "1"]


TEXTS = [
    "''",
    "'x'",
    "'12'",
    "'-9223372036854775808'",
    "'1e308'",
    "'9999-12-31 23:59:59.999999'",
    "'\u0130\U0001f600'",
]
DUCKDB: dict[str, list[str]] = {
    "TINYINT": _integer(8),
    "SMALLINT": _integer(16),
    "INTEGER": _integer(32),
    "BIGINT": _integer(64),
    "HUGEINT": _integer(128),
    "UTINYINT": _integer(8, True),
    "USMALLINT": _integer(16, True),
    "UINTEGER": _integer(32, True),
    "UBIGINT": _integer(64, True),
    "UHUGEINT": _integer(128, True),
    **{
        f"DECIMAL({w},{s})": _decimal(w, s)
        for w, s in ((4, 1), (9, 0), (9, 9), (18, 3), (38, 0), (38, 10), (38, 38))
    },
    "FLOAT": ["'nan'", "'inf'", "'-inf'", "3.4028235e38", "-3.4028235e38", "1e-45", "-0.0", "1.5"],
    "DOUBLE": [
        "'nan'",
        "'inf'",
        "'-inf'",
        "1.7976931348623157e308",
        "-1.7976931348623157e308",
        "5e-324",
        "'-0.0'",
        "1.5",
    ],
    "BOOLEAN": ["true", "false"],
    "VARCHAR": TEXTS,
    "UUID": ["'00000000-0000-0000-0000-000000000000'", "uuid()"],
    "ENUM('a', 'b')": ["'a'", "'b'"],
    "DATE": [
        "'infinity'",
        "'-infinity'",
        "'5877642-06-25 (BC)'",
        "'5881580-07-10'",
        "'0001-01-01'",
        "'9999-12-31'",
        "'0001-12-31 (BC)'",
        "'10000-01-01'",
        "'2020-02-29'",
    ],
    "TIMESTAMP": [
        "'infinity'",
        "'-infinity'",
        "'290309-12-22 (BC) 00:00:00'",
        "'294247-01-10 04:00:54.775806'",
        "'0001-01-01'",
        "'9999-12-31 23:59:59.999999'",
        "'10000-01-01'",
        "'2020-02-29 12:00:00'",
    ],
    "TIMESTAMP_S": [
        "'290309-12-22 (BC) 00:00:00'",
        "'294247-01-10 04:00:54'",
        "'infinity'",
        "'-infinity'",
        "'2020-02-29'",
    ],
    "TIMESTAMP_MS": [
        "'290309-12-22 (BC) 00:00:00'",
        "'294247-01-10 04:00:54.775'",
        "'infinity'",
        "'2020-02-29'",
    ],
    "TIMESTAMP_NS": [
        "'1677-09-22 00:00:00'",
        "'2262-04-11 23:47:16.854775806'",
        "'infinity'",
        "'2020-02-29'",
    ],
    "TIMESTAMPTZ": [
        "'infinity'",
        "'-infinity'",
        "'290309-12-22 (BC) 00:00:00+00'",
        "'294247-01-10 04:00:54.775806+00'",
        "'2020-02-29 12:00:00+14'",
    ],
    "BLOB": ["'\\x00'", "''"],
    "BIT": ["'0'", "'101'"],
    "JSON": ["'{}'", "'null'", "'1'"],
    "TIME": ["'00:00:00'", "'24:00:00'"],
    "TIMETZ": ["'00:00:00+15:59'", "'23:59:59-15'"],
    "INTERVAL": ["'1 month'", "'-178956970 years'", "'2147483647 months'"],
    "INTEGER[]": ["[]", "[NULL]", "[1, 2]"],
    "DOUBLE[2]": ["[1, 'nan'::DOUBLE]"],
    "STRUCT(a INTEGER, b VARCHAR)": ["{'a': NULL, 'b': NULL}", "{'a': 1, 'b': 'x'}"],
    "MAP(VARCHAR, INTEGER)": ["MAP {}", "MAP {'x': 1}"],
    "UNION(a INTEGER, b VARCHAR)": ["union_value(a := 1)"],
}
POSTGRES: dict[str, list[str]] = {
    "int2": _integer(16),
    "int4": _integer(32),
    "int8": _integer(64),
    **{f"numeric({w},{s})": _decimal(w, s) for w, s in ((4, 1), (18, 3), (38, 38), (1000, 0), (1000, 1000))},
    "numeric": [
        "'NaN'",
        "'Infinity'",
        "'-Infinity'",
        "1e131000",
        "-1e131000",
        "1e-16000",
        "1.7976931348623159e308",
        "0.00",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "-1e-400",
        "27",
    ],
    "float4": ["'NaN'", "'Infinity'", "'-Infinity'", "3.4028235e38", "-3.4028235e38", "1e-45", "'-0'", "1.5"],
    "float8": [
        "'NaN'",
        "'Infinity'",
        "'-Infinity'",
        "1.7976931348623157e308",
        "-1.7976931348623157e308",
        "5e-324",
        "'-0'",
        "2.2250738585072014e-308",
        "1.5",
    ],
    "bool": ["true", "false"],
    "text": TEXTS,
    "varchar(40)": TEXTS,
    "char(30)": TEXTS,
    "name": TEXTS,
    "uuid": ["gen_random_uuid()"],
    "mood": ["'sad'", "'ok'"],
    "date": [
        "'infinity'",
        "'-infinity'",
        "'4714-11-24 BC'",
        "'5874897-12-31'",
        "'0001-01-01'",
        "'9999-12-31'",
        "'0001-12-31 BC'",
        "'10000-01-01'",
        "'2020-02-29'",
    ],
    "timestamp": [
        "'infinity'",
        "'-infinity'",
        "'4714-11-24 00:00:00 BC'",
        "'294276-12-31 23:59:59.999999'",
        "'0001-01-01'",
        "'9999-12-31 23:59:59.999999'",
        "'10000-01-01'",
        "'2020-02-29 12:00:00'",
    ],
    "timestamptz": [
        "'infinity'",
        "'-infinity'",
        "'4714-11-24 00:00:00+00 BC'",
        "'294276-12-31 23:59:59.999999+00'",
        "'2020-02-29 12:00:00+14'",
    ],
    "small": _integer(16),
    "label": TEXTS,  # domains
    "money": ["'-92233720368547758.08'::money", "'92233720368547758.07'", "1"],
    "bit(3)": ["B'101'"],
    "varbit": ["B''", "B'101'"],
    "bytea": ["''", "'\\x00'"],
    "tsvector": ["'a b'", "''"],
    "tsquery": ["'a & b'"],
    "xml": ["NULL"],
    "json": ["'{}'", "'null'"],
    "jsonb": ["'{}'", "'null'"],
    "jsonpath": ["'$'"],
    "point": ["'(0,0)'", "'(NaN,Infinity)'"],
    "box": ["'((0,0),(1,1))'"],
    "circle": ["'<(0,0),1>'"],
    "polygon": ["'((0,0),(1,1))'"],
    "line": ["'{1,1,1}'"],
    "time": ["'24:00'", "'00:00'"],
    "timetz": ["'24:00+15:59'"],
    "interval": ["'178000000 years'", "'-178000000 years'", "'1 mon'", "'30 days'"],
    "inet": ["'::1'"],
    "cidr": ["'10/8'"],
    "macaddr": ["'08:00:2b:01:02:03'"],
    "oid": ["4294967295", "0"],
    "xid": ["'1'"],
    "regclass": ["'pg_class'"],
    "pg_lsn": ["'0/0'"],
    "int4range": ["'[1,2147483647)'", "'empty'"],
    "int4multirange": ["'{}'"],
    "int4[]": ["'{}'", "'{NULL}'"],
    "money[]": ["'{1}'"],
    "bit(3)[]": ["'{101}'"],
    "tsvector[]": ["'{a}'"],
    "pair": ["ROW(NULL, NULL)", "ROW(1, '2')", "ROW(NULL, '2')"],
    "pair[]": ["ARRAY[ROW(1, '2')::pair]"],
}
SPARK: dict[str, list[str]] = {
    "TINYINT": _integer(8),
    "SMALLINT": _integer(16),
    "INT": _integer(32),
    "BIGINT": _integer(64),
    **{f"DECIMAL({w},{s})": _decimal(w, s) for w, s in ((4, 1), (18, 3), (38, 0), (38, 10), (38, 38))},
    "FLOAT": [
        "'NaN'",
        "'Infinity'",
        "'-Infinity'",
        "'3.4028235e38'",
        "'-3.4028235e38'",
        "'1e-45'",
        "'-0.0'",
        "1.5",
    ],
    "DOUBLE": [
        "'NaN'",
        "'Infinity'",
        "'-Infinity'",
        "'1.7976931348623157e308'",
        "'-1.7976931348623157e308'",
        "'5e-324'",
        "'-0.0'",
        "1.5",
    ],
    "BOOLEAN": ["true", "false"],
    "STRING": [*TEXTS, "X'FF'", "X'61F09F98'", "X'EDA080'"],
    "STRING COLLATE UTF8_LCASE": TEXTS,
    "DATE": [
        "date_from_unix_date(2147483647)",
        "date_from_unix_date(-2147483648)",
        "'0001-01-01'",
        "'9999-12-31'",
        "'0000-12-31'",
        "'+10000-01-01'",
        "'2020-02-29'",
    ],
    "TIMESTAMP": [
        "timestamp_micros(9223372036854775807L)",
        "timestamp_micros(-9223372036854775807L - 1L)",
        "'0001-01-01'",
        "'9999-12-31 23:59:59.999999'",
        "'2020-02-29 12:00:00'",
    ],
    "TIMESTAMP_NTZ": [
        "CAST(timestamp_micros(9223372036854775807L) AS TIMESTAMP_NTZ)",
        "CAST(timestamp_micros(-9223372036854775807L - 1L) AS TIMESTAMP_NTZ)",
        "'2020-02-29 12:00:00'",
    ],
    "BINARY": ["X''", "X'00'"],
    "ARRAY<INT>": ["array()", "array(1, NULL)"],
    "MAP<STRING, INT>": ["map()", "map('x', 1)"],
    "STRUCT<a: INT, b: STRING>": ["named_struct('a', NULL, 'b', NULL)", "named_struct('a', 1, 'b', 'x')"],
    "INTERVAL YEAR TO MONTH": ["INTERVAL '1' YEAR", "INTERVAL '178956970-7' YEAR TO MONTH"],
    "INTERVAL DAY TO SECOND": ["INTERVAL '1' DAY", "INTERVAL '106751991' DAY"],
    "VARIANT": ["parse_json('{}')", "parse_json('1')"],
    "ARRAY<MAP<STRING, INT>>": ["array(map('x', 1))"],
}
_WIDTHS = ((4, 1), (9, 9), (18, 3), (38, 10), (76, 0), (76, 76))
_SECONDS = ["'0001-01-01 00:00:00'", "'9999-12-31 23:59:59'", "'2020-02-29 12:00:00'"]
_FLOATS = ["'nan'", "'inf'", "'-inf'", "-0.0", "1.5"]


def _moments(places: int) -> list[str]:
    """Moments of ClickHouse up to the ends of 64 bits, beyond which there are microseconds of whole seconds."""
    ends = ("9223372036854775807", "-9223372036854775807 - 1", "9223372036855", "-9223372036855")
    return [*_SECONDS, *(f"reinterpret(toInt64({ticks}), 'DateTime64({places})')" for ticks in ends)]


CLICKHOUSE: dict[str, list[str]] = {
    **{f"Nullable(Int{bits})": [f"'{value}'" for value in _integer(bits)] for bits in (8, 16, 32, 64, 128, 256)},
    **{f"UInt{bits}": [f"'{value}'" for value in _integer(bits, True)] for bits in (8, 16, 32, 64, 128, 256)},
    "Nullable(Int64)": [f"'{value}'" for value in _integer(64)],
    "Int64": [f"'{value}'" for value in _integer(64)],
    "Nullable(Float32)": [*_FLOATS, "3.4028235e38", "-3.4028235e38", "1e-45"],
    "Float64": [*_FLOATS, "1.7976931348623157e308", "-1.7976931348623157e308", "5e-324"],
    **{f"Nullable(Decimal({w}, {s}))": _decimal(w, s) for w, s in _WIDTHS},
    "Nullable(Bool)": ["true", "false"], "Bool": ["true", "false"],
    "Nullable(String)": [*TEXTS, "unhex('FF')", "unhex('00')"],
    "LowCardinality(Nullable(String))": TEXTS, "LowCardinality(String)": TEXTS,
    "FixedString(3)": ["'x'", "''", "unhex('FF')", "unhex('780079')"],
    "Enum8('a' = 1, 'b' = 2)": ["'a'", "'b'"], "Nullable(Enum16('a' = 1, 'b' = -2))": ["'a'", "'b'"],
    "Nullable(UUID)": ["'00000000-0000-0000-0000-000000000000'", "generateUUIDv4()"],
    "Date": ["'1970-01-01'", "'2149-06-06'", "'2020-02-29'"],
    "Nullable(Date32)": ["'0001-01-01'", "'9999-12-31'", "'2020-02-29'", "toInt32(2147483647)", "toInt32(-2147483648)"],
    "DateTime('Asia/Tokyo')": ["'1970-01-02 00:00:00'", "4294967295", "'2020-02-29 12:00:00'"],
    **{f"Nullable(DateTime64({p}))": _moments(p) for p in (0, 3, 6)}, "DateTime64(1)": _moments(1),
    "DateTime64(9, 'Europe/Paris')": ["'1900-01-01 00:00:00'", "'2262-04-11 23:47:16'"],
    "Array(Int64)": ["[]", "[1]"], "Map(String, Int64)": ["map()", "map('x', 1)"], "Tuple(Int64, String)": ["(1, 'x')"],
    "Nullable(IPv4)": ["'1.2.3.4'"], "IPv6": ["'::1'"], "JSON": ["'{}'"], "Array(Nullable(String))": ["[NULL]", "[]"],
    "Variant(Int64, String)": ["toInt64(1)", "'x'"], "Dynamic": ["1", "'x'"],
}  # fmt: skip
