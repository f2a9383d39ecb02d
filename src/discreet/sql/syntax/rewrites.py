"""Other ways to write a query: fixes of refused ones, to be typed as shown, and signs that the parser misreads."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ParseError, TokenError

from discreet.sql.syntax.nodes import copied
from discreet.sql.syntax.pivot_statement import statements

SYNONYMS = {
    "average": "avg",
    "mean": "avg",
    "total": "sum",
    "var": "variance",
    "std": "stddev",
    "sd": "stddev",
    "percentile": "quantile_cont",
}
"""The names that other systems give them."""
_MEAN = "Write EXP(AVG(LN(greatest({x}, 1)))), of values from 1 on."
UNSUPPORTED = {
    "mad": "Write QUANTILE_CONT({x}, 0.75) - QUANTILE_CONT({x}, 0.25), the distance of the quartiles.",
    **dict.fromkeys(("geomean", "geometric_mean"), _MEAN),
    "entropy": "Count the groups, and compute it from the counts: SELECT {x}, COUNT(*) AS n … GROUP BY {x}.",
    "product": "Write SUM(LN(greatest({x}, 1))), the logarithm of it, of values from 1 on.",
}
"""Aggregates of DuckDB that have no counterpart here, each with the question to ask instead."""
_DECIDED = ("bool_and", "bool_or", "logical_and", "logical_or", "every")
_BITS = ("bit_and", "bit_or", "bit_xor")
KEYWORDS = (
    "SELECT", "FROM", "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "JOIN", "WITH", "QUALIFY", "BETWEEN", "UNION",
    "DISTINCT", "BY", "AND", "AS", "ON",
)  # fmt: skip
OTHERWISE = {"listagg": "string_agg"}
"""Functions that the parser's library writes by another name than DuckDB."""
MOST_WORDS = 40
"""How many words of a text that cannot be read are tried as misspelt keywords."""
MOST_PADDED = 100


def aggregate(name: str, node: exp.Expr) -> str:
    """An aggregate that is known, perhaps under another name, with the arguments of one that is not.

    Example:
        >>> aggregate("count", sqlglot.parse_one("cont(*)")), aggregate("mean", sqlglot.parse_one("maen(age)"))
        ('COUNT(*)', 'AVG(age)')
    """
    meant = SYNONYMS.get(name, name)
    if called(node) == "percentile" and len(node.expressions) == 2:
        x, share = node.expressions
        if isinstance(share, exp.Literal) and share.is_number and 1 < float(share.name) < 100:
            return f"QUANTILE_CONT({sql(x)}, {float(share.name) / 100:g})"
    return f"{meant.upper()}({', '.join(sql(each) for each in node.expressions)})"


def of_aggregate(node: exp.Expr) -> tuple[str, str] | None:
    """Cause and fix of an aggregate that is not supported over private rows; None where nothing better is known."""
    name = called(node)
    of = node.this.this if isinstance(node.this, exp.Order) else node.this
    x = sql(of) if isinstance(of, exp.Expr) else ", ".join(map(sql, node.expressions))
    known = _decided(name, x)
    if known is not None:
        return known
    if name == "mode":
        return (f"{name} shows a value of the data.",
                f"Group by it: SELECT {x}, COUNT(*) AS n … GROUP BY {x} ORDER BY n DESC LIMIT 1.")  # fmt: skip
    if name == "histogram":
        return (f"{name} makes a map of values of the data.",
                f"Group by it: SELECT {x}, COUNT(*) AS n … GROUP BY {x}; or by width_bucket({x}, 0, 100, 10), in bins "
                "of your choice.")  # fmt: skip
    if name in ("arg_max", "arg_min", "max_by", "min_by") and isinstance(node.expression, exp.Expr):
        first, second = sql(node.this), sql(node.expression)
        return (f"{name} shows the value of one row.",
                f"Ask it of groups: SELECT {name}({first}, v) FROM (SELECT {first}, AVG({second}) AS v … GROUP BY "
                f"{first}) AS g; or, if {first} is a number, write MEDIAN({first}).")  # fmt: skip
    if name in ("any_value", "first", "last", "arbitrary", "arg_max", "arg_min", "max_by", "min_by"):
        first = sql(node.this) if isinstance(node.this, exp.Expr) else x.partition(",")[0]
        return (f"{name} shows the value of one row.",
                f"Add {first} to GROUP BY, or write it alone where it is there, as in ROLLUP; or write "
                f"MEDIAN({first}), of a number.")  # fmt: skip
    if name in ("list", "array_agg", "string_agg", "group_concat", "listagg"):
        return f"{name} shows the values of single rows.", f"Use COUNT({x}), or group by {x}."
    if name in UNSUPPORTED:
        return f"The aggregate {name} is not supported.", UNSUPPORTED[name].format(x=x)
    return None


def _decided(name: str, x: str) -> tuple[str, str] | None:
    """The same for aggregates that one row decides."""
    if name in _DECIDED:
        some = f"COUNT_IF({x})" if name in ("bool_or", "logical_or") else f"COUNT_IF(NOT ({x}))"
        meant = "> 0" if name in ("bool_or", "logical_or") else "< 1"
        return f"A single row decides {name}.", f"Write {some} {meant}, whose count has noise."
    if name in _BITS:
        return f"A single row decides a bit of {name}.", f"Count the rows with a bit: COUNT_IF({x} & 1 = 1)."
    return None


def of_unit_aggregate(node: exp.Expr) -> tuple[str, str] | None:
    """The same for an aggregate over the rows of one unit."""
    name = called(node)
    if name in ("arg_max", "arg_min", "max_by", "min_by") and isinstance(node.expression, exp.Expr):
        by = sql(node.expression) + ("" if "min" in name else " DESC")
        return (f"{name} is not supported per unit.",
                f"Keep that row before: SELECT …, {sql(node.this)} FROM … QUALIFY row_number() OVER (PARTITION BY unit "
                f"ORDER BY {by}) = 1.")  # fmt: skip
    ordered = name in ("any_value", "first", "last", "arbitrary", "mode")
    if not ordered and name not in ("median", "quantile_cont", "quantile_disc", "stddev", "variance"):
        return None
    x = sql(node.this) if isinstance(node.this, exp.Expr) else ", ".join(map(sql, node.expressions))
    if ordered:
        return f"{name} depends on the order of the rows.", f"Write MIN({x}) or MAX({x})."
    return f"{name} is not supported per unit.", f"Write AVG({x}), or MIN({x}) and MAX({x})."


def clamped(function: exp.Expr, argument: exp.Expr, ends: str) -> str:
    """The fix of an aggregate of a number without bounds: the same with clamp around that argument.

    Example:
        >>> asked = sqlglot.parse_one("corr(x, y)", read="duckdb")
        >>> clamped(asked, asked.expression, "0, 100")
        'CORR(x, clamp(y, 0, 100))'
    """
    bounded = f"clamp({sql(argument)}, {ends})"
    if not any(value for key, value in function.args.items() if key != "this" and value is not argument) and (
        function.this is argument
    ):
        return f"{called(function).upper()}({bounded})"
    whole = function.copy()
    for inner in list(whole.find_all(type(argument))):
        if inner == argument:
            inner.replace(exp.var(bounded))
    return sql(whole)


def filtered(aggregate: str, condition: str) -> str:
    """The text of an aggregate with one more condition in its FILTER.

    Example:
        >>> filtered("COUNT(*)", "x > 0"), filtered("COUNT(*) FILTER(WHERE x < 9 OR y)", "x > 0")
        ('COUNT(*) FILTER (WHERE x > 0)', 'COUNT(*) FILTER (WHERE (x < 9 OR y) AND x > 0)')
    """
    node = sqlglot.parse_one(aggregate, read="duckdb")
    if not isinstance(node, exp.Filter):
        return f"{aggregate} FILTER (WHERE {condition})"
    both = exp.and_(node.expression.this, exp.var(condition), copy=True)
    return f"{sql(node.this)} FILTER (WHERE {sql(both)})"


def of_pivot(node: exp.Pivot, table: str) -> str:
    """The fix of a PIVOT: the groups in rows.

    Example:
        >>> of_pivot(sqlglot.parse_one("PIVOT t ON c USING SUM(x)", read="duckdb"), "t")
        'Write the groups in rows: SELECT c, SUM(x) AS v FROM t GROUP BY c; or a column each: ...'
    """
    fields = node.args.get("fields") or []
    by = [sql(field.this if isinstance(field, exp.In) else field) for field in (fields or node.expressions)]
    group = node.args.get("group")
    if isinstance(group, exp.Group):
        by = [*map(sql, group.expressions), *by]
    using = node.args.get("using") or (node.expressions if fields else [])
    first = sql(using[0].this if isinstance(using[0], exp.Alias) else using[0]) if using else "COUNT(*)"
    if not by:
        return "Write SELECT …, COUNT(*) AS n FROM … GROUP BY …."
    listed = ", ".join(by)
    return (
        f"Write the groups in rows: SELECT {listed}, {first} AS v FROM {table} GROUP BY {listed}; or a column each: "
        f"{first} FILTER (WHERE {by[-1]} = …)."
    )


def of_ntile(order: exp.Expr | None) -> str:
    """The fix of NTILE, which numbers rows by those of other people."""
    x = sql(order.expressions[0].this) if order is not None and order.expressions else "x"
    return (
        f"Ask for the limits first, as QUANTILE_CONT({x}, 0.25), and write their values into WHERE {x} <= …"
    )


def without_units(statement: exp.Query, units: Sequence[str]) -> str:
    """The statement without the unit among its groups, as it can be asked; empty where that is not simple.

    Example:
        >>> without_units(sqlglot.parse_one("SELECT id, sex, COUNT(*) FROM t GROUP BY id, sex"), ["id"])
        'SELECT sex, COUNT(*) FROM t GROUP BY sex'
    """
    group = statement.args.get("group")
    if not isinstance(statement, exp.Select) or not isinstance(group, exp.Group):
        return ""
    if any(value for key, value in group.args.items() if key != "expressions"):
        return ""
    if any(statement.args.get(part) for part in ("having", "qualify", "order", "limit", "with_", "distinct")):
        return ""

    def is_unit(node: exp.Expr) -> bool:
        inner = node.this if isinstance(node, exp.Alias) else node
        return isinstance(inner, exp.Column) and inner.name.lower() in units

    if any(isinstance(key, exp.Literal) for key in group.expressions):
        return ""
    items = [item.copy() for item in statement.expressions if not is_unit(item)]
    if any(item.is_star for item in items):
        return ""
    keys = [key.copy() for key in group.expressions if not is_unit(key)]
    if not any(item.find(exp.AggFunc) for item in items):
        items.append(exp.alias_(exp.Count(this=exp.Star()), "n"))
    out = statement.copy()
    out.set("expressions", items)
    out.set("group", exp.Group(expressions=keys) if keys else None)
    return sql(out)


def misspelt(text: str, readable_to: int) -> tuple[int, int, str] | None:
    """The word of a text that is no SQL that should have been a keyword: its place, and that keyword.

    Args:
        text: the one that could not be read.
        readable_to: where the parser stopped; the word is one of those before, or at it.
    """
    try:
        tokens = DuckDB().tokenize(text)
    except TokenError:
        return None
    words = [
        t
        for t in tokens
        if t.text.isalpha() and t.text.upper() not in KEYWORDS and t.start <= readable_to + 1
    ]
    for token in reversed(words[-MOST_WORDS:]):
        for keyword in difflib.get_close_matches(token.text.upper(), KEYWORDS, n=1, cutoff=0.7):
            mended = text[: token.start] + keyword + text[token.end + 1 :]
            if _reads(mended):
                return token.start, token.end + 1, keyword
    return None


def padded(query: exp.Query) -> bool:
    """Whether every LPAD of a query pads to a literal width of at most 100 with one literal character."""
    pads = list(query.find_all(exp.Pad))
    written = [t for t in _calls(sql(query)) if t == "lpad"]
    return len(pads) == len(written) and all(map(_small, pads))


def _small(node: exp.Pad) -> bool:
    width, fill = node.expression, node.args.get("fill_pattern")
    wide = isinstance(width, exp.Literal) and not width.is_string and width.name.isdecimal()
    filled = fill is None or (isinstance(fill, exp.Literal) and fill.is_string and len(fill.name) == 1)
    return bool(node.args.get("is_left")) and wide and int(width.name) <= MOST_PADDED and filled


def _calls(text: str) -> Iterator[str]:
    tokens = DuckDB().tokenize(text)
    for index, token in enumerate(tokens[:-1]):
        if tokens[index + 1].text == "(":
            yield token.text.lower()


def _reads(text: str) -> bool:
    try:
        return all(isinstance(s, exp.Query) for s in statements(text))
    except (ParseError, TokenError, RecursionError):
        return False


_COMMON: Final[dict[type[exp.Expr], str]] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
}
"""Names that need not be written out to be known."""


def called(node: exp.Expr) -> str:
    """The name of a function as DuckDB calls it.

    Example:
        >>> [called(sqlglot.parse_one(f"{name}(x)", read="duckdb")) for name in ("any_value", "mode")]
        ['any_value', 'mode']
    """
    if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc):
        return node.name.lower()
    name = _COMMON.get(type(node)) or sql(node).partition("(")[0].lower()
    return OTHERWISE.get(name, name)


def sql(node: exp.Expr) -> str:
    """An expression in DuckDB's SQL."""
    return copied(node).sql("duckdb", comments=False, copy=False)


_OF_JSON = (exp.JSONExtract, exp.JSONExtractScalar, exp.Predicate)
"""The nodes between the arrow and the key behind it: other arrows, and comparisons, which bind less."""


def read_arrows(statement: exp.Expr) -> None:
    """Read `p -> 'a'` as a field of a JSON text where it is an argument, and the parser takes p for a variable.

    Example:
        >>> import sqlglot
        >>> query = sqlglot.parse_one("SELECT COUNT(p -> 'a' ->> 'b') FROM t", read="duckdb")
        >>> read_arrows(query)
        >>> query.sql("duckdb")
        "SELECT COUNT((p -> '$.a') ->> '$.b') FROM t"
    """
    for node in list(statement.find_all(exp.Lambda)):
        if len(node.expressions) != 1 or isinstance(node.parent, exp.Transform | exp.ArrayFilter):
            continue
        key = node.this
        while isinstance(key, _OF_JSON):
            key = key.this
        if not isinstance(key, exp.Literal):
            continue
        path = DuckDB().to_json_path(key.copy())
        field = exp.JSONExtract(this=exp.column(node.expressions[0].copy()), expression=path)
        if key is node.this:
            node.replace(field)
        else:
            key.replace(field)
            node.replace(node.this)


def keep_places(statement: exp.Expr) -> None:
    """Keep the written place of an item in `list[2]`, for any kind of list that stands there in the end.

    The parser counts places from 0 where it takes the list for one, and the writer counts them from 1 again. A quantile
    of several shares is a number to the one and a list to the other, and its second place would become the third.

    Example:
        >>> import sqlglot
        >>> query = sqlglot.parse_one("SELECT tags[2] FROM t", read="duckdb")
        >>> keep_places(query)
        >>> query.selects[0].expressions[0].name, query.sql("duckdb")
        ('2', 'SELECT tags[2] FROM t')
    """
    for node in statement.find_all(exp.Bracket):
        if not node.args.get("offset"):
            counted = DuckDB.INDEX_OFFSET
            node.set("expressions", exp.apply_index_offset(node.this, node.expressions, counted, "duckdb"))
            node.set("offset", counted)


def _as_query(values: exp.Values) -> None:
    """Write VALUES behind IN, ANY or ALL as a sub-query that selects all of them; others stay."""
    parent = values.parent
    outer = parent.parent if isinstance(parent, exp.Subquery) else parent
    if not isinstance(outer, exp.In | exp.Any | exp.All | exp.Anonymous):
        return
    rows = exp.Values(expressions=[row.copy() for row in values.expressions], alias=exp.TableAlias(this="v"))
    query = exp.Subquery(this=exp.select("*").from_(rows))
    if isinstance(outer, exp.In) and outer.expressions == [values]:
        outer.set("expressions", [])
        outer.set("query", query)
    elif isinstance(outer, exp.Any | exp.All) and parent is not outer:
        outer.set("this", query)
    elif isinstance(outer, exp.Anonymous) and outer.name.upper() == "ALL" and outer.expressions == [values]:
        outer.replace(exp.All(this=query))


def quantified(statement: exp.Expr) -> None:
    """Write `= ANY (SELECT …)` as IN and `<> ALL (SELECT …)` as NOT IN: the same by definition, NULL included.

    VALUES in the place of a sub-query are one: `x IN (VALUES (1))` is `x IN (SELECT * FROM (VALUES (1)) AS v)`.

    Example:
        >>> query = sqlglot.parse_one("SELECT x = ANY (SELECT b FROM p), x <> ALL (SELECT b FROM p)", read="duckdb")
        >>> quantified(query)
        >>> query.sql("duckdb")
        'SELECT x IN (SELECT b FROM p), NOT x IN (SELECT b FROM p)'
    """
    for values in list(statement.find_all(exp.Values)):
        _as_query(values)
    found = list(statement.find_all(exp.EQ, exp.NEQ))
    for node in reversed(found):  # the innermost first: the others are copied with it
        word = node.expression
        inner = word.this.unnest() if isinstance(word, exp.Any | exp.All) else None
        if not isinstance(inner, exp.Query) or isinstance(word, exp.Any) != isinstance(node, exp.EQ):
            continue
        listed = exp.In(this=node.this.copy(), query=exp.Subquery(this=inner.copy()))
        node.replace(listed if isinstance(node, exp.EQ) else exp.Not(this=listed))
