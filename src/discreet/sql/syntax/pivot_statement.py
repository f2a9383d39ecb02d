"""PIVOT and UNPIVOT as statements of their own, which the parser reads without ORDER BY and LIMIT."""

from __future__ import annotations

import sqlglot
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ParseError, TokenError
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.tokenizer_core import TokenType

FIRST = ("PIVOT", "PIVOT_WIDER", "UNPIVOT", "PIVOT_LONGER")
BEHIND = ("ORDER BY", "LIMIT", "OFFSET")


class _Parser(DuckDBParser):
    """DuckDB's, with conditions behind ON of a PIVOT, and without a word in the log.

    That of sqlglot stops at a comparison behind ON, and writes a statement that it does not know into the log.
    """

    def _warn_unsupported(self) -> None:
        """Nothing: who asked gets the refusal, and no log holds the text of a question."""

    def _parse_simplified_pivot(self, is_unpivot: bool | None = None) -> exp.Pivot:
        if is_unpivot:
            return super()._parse_simplified_pivot(is_unpivot)
        this = self._parse_table()
        on = self._match(TokenType.ON) and self._parse_csv(self._parse_turned)
        using = self._match(TokenType.USING) and self._parse_csv(
            lambda: self._parse_alias(self._parse_column())
        )
        return self.expression(exp.Pivot(this=this, expressions=on, using=using, group=self._parse_group()))

    def _parse_turned(self) -> exp.Expr | None:
        found = self._parse_disjunction()
        plain = not isinstance(found, exp.Predicate | exp.Connector | exp.Not) or isinstance(found, exp.In)
        return found if plain or found is None else exp.paren(found, copy=False)


def statements(text: str) -> list[exp.Expr]:
    """The statements of a text.

    Raises:
        ParseError: it cannot be parsed.
        TokenError: it has no tokens.

    Example:
        >>> print(statements("PIVOT t ON x > 5 USING COUNT(*)")[0].sql("duckdb"))
        PIVOT t ON (x > 5) USING COUNT(*)
    """
    dialect = DuckDB()
    return [
        statement
        for statement in _Parser(dialect=dialect).parse(dialect.tokenize(text), text)
        if statement is not None
    ]


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
        depth, end = 0, None
        for token in tokens:
            depth += (token.text == "(") - (token.text == ")")
            if depth == 0 and token.text.upper() in BEHIND and end is None:
                end = token.start
        if end is None:
            return None
        (pivot,) = statements(text[:end])
        tail = sqlglot.parse_one("SELECT 1".ljust(end) + text[end:], read="duckdb")
    except (ParseError, TokenError):
        return None
    if not isinstance(pivot, exp.Pivot) or not isinstance(tail, exp.Select):
        return None
    out = as_select(pivot)
    for part in ("order", "limit", "offset"):
        out.set(part, tail.args.get(part))
    return out


__all__ = ["as_select", "statements", "with_order"]
