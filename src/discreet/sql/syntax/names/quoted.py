"""Names as a question must write them, and the fix of one that cannot be read because it has a bare name."""

from __future__ import annotations

import re
from functools import lru_cache

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ParseError, TokenError

from discreet.quoting import quote
from discreet.sql.syntax.pivot_statement import statements


@lru_cache(maxsize=1 << 12)  # each session tells of all its columns, and reading a text is most of that
def column_name(name: str) -> str:
    """The name of a column as SQL takes it: in double quotes where it has signs in it, or is a word of SQL.

    Example:
        >>> print(column_name("age"), column_name("date"), column_name("when"), column_name("Time entered"))
        age date "when" "Time entered"
    """
    if not (name.isidentifier() and name.isascii()):
        return quote(name)
    return name if _is_column(f"SELECT f({name}) FROM t", name) else quote(name)


def unquoted(text: str, stopped: int) -> str | None:
    """The fix of a text that cannot be read for a name that needs double quotes; None where that is not the reason.

    Args:
        text: the one that cannot be read.
        stopped: where the parser stopped; the name stands there, or is the word before.
    """
    ticks = re.search(r"`([^`\n]{1,100})`", text)
    if ticks is not None:
        return f"Write {quote(ticks[1])}: a name stands in double quotes, a text in single ones, and none in backticks."
    for brackets in re.finditer(r"\[([^\W\d][\w .]{0,99})\]", text):
        if brackets.start() <= stopped <= brackets.end():
            return _not_in_brackets(brackets[1])
    try:
        tokens = DuckDB().tokenize(text)
    except TokenError:
        return None
    for token in reversed([token for token in tokens if token.start <= stopped][-2:]):
        name = token.text
        bare = text[token.start : token.end + 1] == name and name.isidentifier()
        if bare and _is_column(f"{text[: token.start]}{quote(name)}{text[token.end + 1 :]}", name):
            return f"If {name} is a column, write {quote(name)}: it is a word of SQL, too."
    return None


def bracketed(node: exp.Expr) -> str | None:
    """The fix where a list of one column stands for a name in square brackets; None of anything else."""
    items = node.expressions if isinstance(node, exp.Array) else []
    plain = len(items) == 1 and isinstance(items[0], exp.Column)
    return _not_in_brackets(items[0].name) if plain else None


def _not_in_brackets(name: str) -> str:
    return f"Write {quote(name)}, if it is a name: a name stands in double quotes, and square brackets make a list."


def _is_column(text: str, name: str) -> bool:
    """Whether a text is one query, in which the name is that of a column."""
    try:
        (query,) = statements(text)
    except (ParseError, TokenError, RecursionError, ValueError):
        return False
    return isinstance(query, exp.Query) and any(column.name == name for column in query.find_all(exp.Column))
