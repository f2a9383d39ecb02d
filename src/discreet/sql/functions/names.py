"""The names of functions in SQL, and the words for those that are not in the table."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from functools import cache

from sqlglot import exp

from discreet.engines.sandbox import has_function
from discreet.engines.schema import Type
from discreet.sql import functions as fn
from discreet.sql.functions import aggregates
from discreet.sql.syntax import rewrites
from discreet.sql.syntax.nodes import every

NO_FUNCTION = "There is no function"
TYPE_WORDS = {
    Type.BOOLEAN: "a boolean", Type.INTEGER: "an integer", Type.FLOAT: "a number", Type.TEXT: "a text",
    Type.DATE: "a date", Type.TIMESTAMP: "a time stamp", Type.OTHER: "of a type that cannot be read",
    Type.BOOLEANS: "a list of booleans", Type.INTEGERS: "a list of integers", Type.FLOATS: "a list of numbers",
    Type.TEXTS: "a list of texts", Type.DATES: "a list of dates", Type.TIMESTAMPS: "a list of time stamps",
}  # fmt: skip

DIRECT: dict[type[exp.Expr], str] = {
    exp.Mul: "multiply", exp.Div: "divide", exp.IntDiv: "integer_divide", exp.Mod: "remainder", exp.Abs: "abs",
    exp.Sign: "sign", exp.Sqrt: "sqrt", exp.Cbrt: "cbrt", exp.Exp: "exp", exp.Ln: "ln", exp.Pow: "power",
    exp.Sin: "sin", exp.Cos: "cos", exp.Tan: "tan", exp.Asin: "asin", exp.Acos: "acos", exp.Atan: "atan",
    exp.Atan2: "atan2", exp.Degrees: "degrees", exp.Radians: "radians", exp.WidthBucket: "width_bucket",
    exp.BitwiseAnd: "bit_and", exp.BitwiseOr: "bit_or", exp.BitwiseXor: "bit_xor",
    exp.EQ: "eq", exp.NEQ: "ne", exp.LT: "lt", exp.LTE: "le", exp.GT: "gt", exp.GTE: "ge", exp.And: "and",
    exp.Or: "or", exp.Not: "not", exp.Nullif: "nullif", exp.NullSafeNEQ: "distinct",
    exp.Lower: "lower", exp.Upper: "upper", exp.Length: "length", exp.Ascii: "ascii", exp.Reverse: "reverse",
    exp.Substring: "substring", exp.Left: "left", exp.Right: "right", exp.Replace: "replace",
    exp.StrPosition: "position", exp.StartsWith: "starts_with", exp.EndsWith: "ends_with", exp.Contains: "contains",
    exp.SplitPart: "split_part",
    exp.Year: "year", exp.Month: "month", exp.Day: "day", exp.DayOfMonth: "day", exp.Quarter: "quarter",
    exp.Week: "week", exp.WeekOfYear: "week", exp.DayOfWeek: "dayofweek", exp.DayOfWeekIso: "isodow",
    exp.DayOfYear: "dayofyear", exp.Hour: "hour", exp.Minute: "minute", exp.Second: "second",
    exp.TimeToUnix: "epoch", exp.Dayname: "dayname", exp.Monthname: "monthname", exp.LastDay: "last_day",
    exp.DateFromParts: "make_date", exp.Date: "to_date",
}  # fmt: skip
"""Functions that the parser knows by a class of their own and reads argument by argument."""
PLACES: dict[type[exp.Expr], tuple[str, ...]] = {
    exp.Substring: ("this", "start", "length"), exp.Replace: ("this", "expression", "replacement"),
    exp.StrPosition: ("this", "substr"), exp.SplitPart: ("this", "delimiter", "part_index"),
    exp.DateFromParts: ("year", "month", "day"), exp.WidthBucket: ("this", "min_value", "max_value", "num_buckets"),
}  # fmt: skip
"""Where the parser keeps the arguments, when that is not `this` and `expression`."""
FLAGS = frozenset({"typed", "safe", "coalesce", "ignore_nulls"})
"""Notes of the parser on a node that change nothing here."""
BY_NAME = {
    "log2": "log2", "log10": "log10", "isodow": "isodow", "mod": "remainder", "fmod": "remainder",
    "weekday": "dayofweek", "weekofyear": "week", "isoyear": "isoyear", "decade": "decade", "century": "century",
    "even": "even", "btrim": "trim", "prefix": "starts_with", "suffix": "ends_with", "strlen": "strlen",
}  # fmt: skip
"""Functions that the parser has no class for."""

_NOW = ("The moment of asking is not part of the question, so it would not mean the same tomorrow.",
        "Write the date as a literal, for instance DATE '2024-06-30'.")  # fmt: skip
_CHANCE = ("A random value would make the answer depend on more than the data.", "Remove it.")
_SIZE = ("It could make a text of any length.", "Write lpad(x, 3, '0'), or the text out.")
_HASH = ("Nothing is known of the value of a hash, so it has no bounds and no keys.", "Use the value itself.")
_NAN = ("NaN is read as NULL, and infinities are clamped to the bounds.", "Write x IS NULL.")
REASONS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("now", "current_date", "current_time", "current_timestamp", "localtime", "localtimestamp",
                     "today", "get_current_timestamp", "get_current_time", "transaction_timestamp"), _NOW),
    **dict.fromkeys(("random", "rand", "setseed", "uuid", "gen_random_uuid", "uuidv4", "uuidv7"), _CHANCE),
    **dict.fromkeys(("repeat", "rpad", "format", "printf"), _SIZE),
    **dict.fromkeys(("hash", "md5", "md5_number", "sha1", "sha256"), _HASH),
    **dict.fromkeys(("isnan", "is_nan", "isinf", "is_inf", "isfinite"), _NAN),
    "age": ("age gives an interval, which has no single unit.", "Write date_sub('year', birth, day) for full years."),
    "escape": ("LIKE is read without an escape character.", "Use contains(x, '%') to look for a percent sign."),
    "glob": ("GLOB is not supported.", "Use LIKE, or regexp_matches."),
    "array_overlaps": ("&& asks whether two lists have an item in common.", "Write list_has_any(x, ['a', 'b'])."),
    "collate": ("Texts are compared by code point.", "Use lower(x) to compare without case."),
    **dict.fromkeys(("strptime", "try_strptime"), ("Texts of another form have no date.",
                                                  "Write CAST(x AS DATE) where they are like 2024-01-31, or cut them: "
                                                  "make_date(CAST(substring(x, 7, 4) AS BIGINT), …); of texts like "
                                                  "9:27AM the hour is clamp(CAST(split_part(x, ':', 1) AS BIGINT) "
                                                  "% 12 + CASE WHEN x ILIKE '%PM' THEN 12 ELSE 0 END, 0, 23).")),
    "interval": ("An interval can only be added to a date or subtracted from one.", "Write x + INTERVAL 1 MONTH."),
}  # fmt: skip
"""Why some functions are left out for good, each with the remedy."""


NEAR = 0.7
"""How alike two names are where one is taken for the other: `any` is not `tan`, and `mad` is not `mod`."""


@cache
def usages() -> tuple[str, ...]:
    """How each function is written."""
    lines = {line.usage for lines in fn.TABLE.values() for line in lines if line.usage}
    return tuple(sorted(lines | {v.usage for v in fn.VARIADIC.values()}))


_VARYING = frozenset(name for name, why in REASONS.items() if why in (_NOW, _CHANCE)) | {
    "current_localtime", "current_localtimestamp", "currval", "nextval", "txid_current", "sleep_ms", "stats",
    "current_query", "current_query_id", "current_transaction_id", "current_connection_id",
}  # fmt: skip
"""Functions that have another value each time."""


@cache
def names() -> tuple[str, ...]:
    """The names of all functions as an analyst writes them."""
    found = {match[1].lower() for usage in usages() if (match := re.match(r"(\w+)\(", usage))}
    return tuple(
        sorted(
            found
            | {
                "clamp",
                "concat",
                "concat_ws",
                "grid",
                "if",
                "pi",
                "regexp_full_match",
                "year",
                "month",
                "day",
            }
        )
    )


@cache
def other_names() -> tuple[str, ...]:
    """Names that the parser knows for the same functions."""
    known = {
        name.lower() for function in DIRECT if issubclass(function, exp.Func) for name in function.sql_names()
    }
    return tuple(
        sorted(known | set(BY_NAME) | {"date_part", "epoch", "ifnull", "nvl", "iif", "datediff", "datesub"})
    )


def varying(statement: exp.Expr) -> Iterator[str]:
    """The functions in a statement, as SQL, that have another value each time it is run.

    Example:
        >>> import sqlglot
        >>> sql = "SELECT RANDOM() * 2, AGE(d), AGE(d, e), ABS(x), NOW()"
        >>> sorted(varying(sqlglot.parse_one(sql, read="duckdb")))
        ['AGE(d)', 'NOW()', 'RANDOM()']
    """
    for node in every(statement):
        if isinstance(node, exp.Func):
            text = node.sql("duckdb")
            name = text.partition("(")[0].lower()
            if name in _VARYING or (name == "age" and len(node.expressions) == 1):
                yield text


def misspelt(statement: exp.Expr) -> Iterator[tuple[exp.Anonymous, str, str]]:
    """Calls of functions that are nearly aggregates by their names, and none of DuckDB's, with cause and fix.

    Example:
        >>> import sqlglot
        >>> [(str(node), fix) for node, _, fix in misspelt(sqlglot.parse_one("SELECT cout(*), sqrt(2)"))]
        [('COUT(*)', 'Did you mean COUNT(*)?')]
    """
    for node in every(statement):
        if isinstance(node, exp.Anonymous):
            cause, fix = unknown(node, node.name)
            if cause.startswith(NO_FUNCTION) and not has_function(node.name):
                yield node, cause, fix


def unknown(node: exp.Expr, written: str) -> tuple[str, str]:
    """Cause and fix for something that is not in the function table; `written` is its text in the query."""
    if isinstance(node, exp.Subquery | exp.Select | exp.Exists):
        return ("A sub-query inside an expression over private rows is not supported.",
                "Join it in FROM, with a column for each value that it looks at, as JOIN (SELECT k, AVG(p) AS mean "
                "FROM items GROUP BY k) AS m ON m.k = t.k; or write its value here.")  # fmt: skip
    if isinstance(node, exp.Window):
        return ("A window function over private rows is not supported.",
                "Use it above the aggregation: in a sub-query around this one.")  # fmt: skip
    if isinstance(node, exp.AggFunc):
        return ("An aggregate cannot stand here, where single rows are read.",
                "Move it to the SELECT list or to HAVING.")  # fmt: skip
    name = node.name.lower() if isinstance(node, exp.Anonymous) else _named(node, written)
    cause = f"{name} is not among the functions that may be computed on private rows."
    if name in REASONS:
        why, fix = REASONS[name]
        return f"{cause} {why}", fix
    better = rewrites.of_aggregate(node)
    if better is not None:
        return better
    known = (
        (*(each.lower() for each in aggregates.names()), *rewrites.SYNONYMS)
        if isinstance(node, exp.Anonymous)
        else ()
    )
    if name.startswith("anon_") and name.removeprefix("anon_") in known:  # GoogleSQL of before
        return (
            f"{NO_FUNCTION} {name}.",
            f"Write {rewrites.aggregate(name.removeprefix('anon_'), node)}.",
        )
    conditional = name.removesuffix("if") if name.endswith("if") and isinstance(node, exp.Anonymous) else ""
    if conditional in known and len(node.expressions) == 2:  # sumIf(x, c) of ClickHouse
        of, test = (arg.sql("duckdb") for arg in node.expressions)
        return (f"{NO_FUNCTION} {name}.",
                f"Write {conditional.upper()}({of}) FILTER (WHERE {test}).")  # fmt: skip
    near = difflib.get_close_matches(name, [*known, *names(), *other_names()], n=1, cutoff=NEAR)
    if near and near[0] in known:
        return f"{NO_FUNCTION} {name}.", f"Did you mean {rewrites.aggregate(near[0], node)}?"
    return cause, f"Did you mean {near[0]}?" if near else f"Use one of: {', '.join(names())}."


def _named(node: exp.Expr, written: str) -> str:
    """The name of a function as the query writes it, or of another node as the parser calls it."""
    if not isinstance(node, exp.Func):
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(node).__name__).lower()
    match = re.match(r"(\w+)\s*(?=\()", written)
    return match[1].lower() if match is not None else node.sql_name().lower()


def takes_a_number(name: str, node: exp.Expr, kind: Type) -> tuple[str, str]:
    """Cause and fix of the refusal of an argument that is none."""
    inner, fix = node.sql("duckdb"), "Convert it with CAST(… AS DOUBLE)."
    if kind is Type.TEXT:  # without bounds the next refusal would ask for them
        fix = f"Where the texts hold numbers, write clamp(CAST({inner} AS DOUBLE), 0, 100), with bounds of your choice."
    if isinstance(node, exp.Literal):
        column = exp.to_identifier(node.name, quoted=True).sql("duckdb")
        fix = f"Single quotes hold a text; the name of a column stands in double ones: {column}."
    elif kind in (Type.DATE, Type.TIMESTAMP):
        fix = f"Count days from a date of your choice: {name}(date_diff('day', DATE '2000-01-01', {inner}))."
    return f"{name} takes a number, not {TYPE_WORDS[kind]}.", fix
