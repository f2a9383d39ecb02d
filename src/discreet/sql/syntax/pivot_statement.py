"""PIVOT and UNPIVOT as statements of their own, which the parser reads without ORDER BY and LIMIT."""

from __future__ import annotations

import sqlglot
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ParseError, TokenError

FIRST = ("PIVOT", "PIVOT_WIDER", "UNPIVOT", "PIVOT_LONGER")
BEHIND = ("ORDER BY", "LIMIT", "OFFSET")


def as_select(pivot: exp.Pivot) -> exp.Select:
    """A PIVOT as a statement: all of its columns.

    Example:
        >>> as_select(sqlglot.parse_one("PIVOT t ON c USING SUM(x) GROUP BY d", read="duckdb")).sql("duckdb")
        'SELECT * FROM (PIVOT t ON c USING SUM(x) GROUP BY d)'
    """
    return exp.Select(expressions=[exp.Star()], from_=exp.From(this=exp.Subquery(this=pivot)))


def with_order(text: str) -> exp.Select | None:
    """A statement that is a PIVOT with ORDER BY or LIMIT behind it; None where it is none.

    Its nodes have the places that they have in the text.

    Example:
        >>> with_order("PIVOT t ON c USING SUM(x) GROUP BY d ORDER BY d LIMIT 2").sql("duckdb")
        'SELECT * FROM (PIVOT t ON c USING SUM(x) GROUP BY d) ORDER BY d LIMIT 2'
    """
    try:
        tokens = DuckDB().tokenize(text)
        if not tokens or tokens[0].text.upper() not in FIRST:
            return None
        depth, at = 0, None
        for token in tokens:
            depth += (token.text == "(") - (token.text == ")")
            if depth == 0 and token.text.upper() in BEHIND and at is None:
                at = token.start
        if at is None:
            return None
        pivot = sqlglot.parse_one(text[:at], read="duckdb")
        tail = sqlglot.parse_one("SELECT 1".ljust(at) + text[at:], read="duckdb")
    except (ParseError, TokenError):
        return None
    if not isinstance(pivot, exp.Pivot) or not isinstance(tail, exp.Select):
        return None
    out = as_select(pivot)
    for part in ("order", "limit", "offset"):
        out.set(part, tail.args.get(part))
    return out


__all__ = ["as_select", "with_order"]
