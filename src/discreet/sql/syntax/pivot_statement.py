"""PIVOT and UNPIVOT as statements of their own, which the parser reads without ORDER BY and LIMIT."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

FIRST = ("PIVOT", "PIVOT_WIDER", "UNPIVOT", "PIVOT_LONGER")
BEHIND = ("ORDER BY", "LIMIT", "OFFSET")
CONDITIONS = frozenset({
    TokenType.EQ, TokenType.NEQ, TokenType.NULLSAFE_EQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE,
    TokenType.AND, TokenType.OR, TokenType.XOR, TokenType.NOT, TokenType.IS, TokenType.BETWEEN, TokenType.LIKE,
    TokenType.ILIKE, TokenType.GLOB, TokenType.SIMILAR_TO, TokenType.RLIKE, TokenType.IRLIKE, TokenType.ISNULL,
    TokenType.NOTNULL, TokenType.TILDE, TokenType.CARET_AT, TokenType.DAMP, TokenType.AT_GT, TokenType.LT_AT,
    TokenType.OVERLAPS,
})  # fmt: skip
"""The words of conditions, at which the parser of sqlglot stops behind ON of a PIVOT; IN is one that it knows."""
DEEPER, LESS_DEEP = (
    frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}),
    frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}),
)
OF_ANOTHER = frozenset({
    TokenType.JOIN, TokenType.STRAIGHT_JOIN, TokenType.SELECT, TokenType.FROM, TokenType.WHERE,
})  # fmt: skip
"""Words before an ON that does not belong to a PIVOT: this one is a name, or stands behind a table in FROM."""
ENDS = frozenset({
    TokenType.USING, TokenType.GROUP_BY, TokenType.ORDER_BY, TokenType.LIMIT, TokenType.OFFSET, TokenType.SEMICOLON,
})  # fmt: skip


class _Silence(logging.Filter):
    """Keeps the parser's words from the log while questions are read, as they quote the text.

    sqlglot writes a statement that it does not know into the log. Who asked gets the refusal.
    """

    reading = threading.local()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether this thread reads no question."""
        return not getattr(self.reading, "now", False)


logging.getLogger("sqlglot").addFilter(_Silence())


def statements(text: str) -> list[exp.Expr]:
    """The statements of a text, without a word in the log.

    Raises:
        ParseError: it cannot be parsed.
        TokenError: it has no tokens.

    Example:
        >>> print(statements("PIVOT t ON x > 5 USING COUNT(*)")[0].sql("duckdb"))
        PIVOT t ON (x > 5) USING COUNT(*)
    """
    dialect = DuckDB()
    _Silence.reading.now = True
    try:
        found = dialect.parser().parse(_turned(dialect.tokenize(text)), text)
    except TypeError:  # of sqlglot's compiled parser, where words are missing
        raise ParseError.new("", "Something is missing") from None
    finally:
        _Silence.reading.now = False
    return [statement for statement in found if statement is not None]


def _turned(tokens: Sequence[Token]) -> list[Token]:
    """The tokens, with conditions behind ON of a PIVOT in parentheses."""
    out = list(tokens)
    for place in reversed(
        [place for place, token in enumerate(tokens) if token.token_type is TokenType.PIVOT]
    ):
        if tokens[place].text.upper() in FIRST[:2]:
            for first, last in reversed(_conditions(out, place)):
                out.insert(last, _bracket(TokenType.R_PAREN, ")", out[last - 1]))
                out.insert(first, _bracket(TokenType.L_PAREN, "(", out[first]))
    return out


def _conditions(tokens: Sequence[Token], pivot: int) -> list[tuple[int, int]]:
    """The places of the conditions behind ON of a PIVOT, each up to the token behind it."""
    found, depth, first, plain = [], 0, 0, True
    for place in range(pivot + 1, len(tokens) + 1):
        kind = tokens[place].token_type if place < len(tokens) else TokenType.SEMICOLON
        depth += (kind in DEEPER) - (kind in LESS_DEEP)
        ends = depth < 0 or (depth == 0 and (kind in ENDS or (not first and kind in OF_ANOTHER)))
        if first and (ends or (depth == 0 and kind is TokenType.COMMA)):
            if not plain:
                found.append((first, place))
            first, plain = place + 1, True
        elif first and depth == 0 and kind in CONDITIONS:
            plain = False
        elif not first and depth == 0 and kind is TokenType.ON:
            first = place + 1
        if ends:
            break
    return found


def _bracket(kind: TokenType, text: str, beside: Token) -> Token:
    return Token(kind, text, beside.line, beside.col, beside.start, beside.end)


def as_select(pivot: exp.Pivot) -> exp.Select:
    """A PIVOT as a statement: all of its columns, behind its own WITH.

    Example:
        >>> as_select(statements("PIVOT t ON c USING SUM(x) GROUP BY d")[0]).sql("duckdb")
        'SELECT * FROM (PIVOT t ON c USING SUM(x) GROUP BY d)'
    """
    tables = pivot.args.get("with_")
    pivot.set("with_", None)
    return exp.Select(expressions=[exp.Star()], from_=exp.From(this=exp.Subquery(this=pivot)), with_=tables)


def with_order(text: str) -> exp.Select | None:
    """A statement that is a PIVOT with ORDER BY or LIMIT behind it; None where it is none.

    Its nodes have the places that they have in the text.

    Example:
        >>> with_order("PIVOT t ON c USING SUM(x) GROUP BY d ORDER BY d LIMIT 2").sql("duckdb")
        'SELECT * FROM (PIVOT t ON c USING SUM(x) GROUP BY d) ORDER BY d LIMIT 2'
    """
    try:
        tokens = DuckDB().tokenize(text)
        if not tokens or tokens[0].text.upper() not in (*FIRST, "WITH"):
            return None
        depth, end = 0, None
        for token in tokens:
            depth += (token.text == "(") - (token.text == ")")
            if depth == 0 and token.text.upper() in BEHIND and end is None:
                end = token.start
        if end is None:
            return None
        (pivot,) = statements(text[:end])
        (tail,) = statements("SELECT 1".ljust(end) + text[end:])
    except (ParseError, TokenError, ValueError):  # a ValueError: not one statement
        return None
    if not isinstance(pivot, exp.Pivot) or not isinstance(tail, exp.Select):
        return None
    parts = {key: value for key, value in tail.args.items() if value and key != "expressions"}
    if not parts.keys() <= {"order", "limit", "offset"}:
        return None
    out = as_select(pivot)
    for part, value in parts.items():
        out.set(part, value)
    return out


__all__ = ["as_select", "statements", "with_order"]
