"""The statements of a text, by name: the questions of a workload."""

from __future__ import annotations

import re

_COMMENT = re.compile(r"--([^\n]*)|/\*(.*?)\*/", re.DOTALL)


def statements(text: str) -> dict[str, str]:
    r"""Cut a text into its statements, at the semicolons that no quote or comment holds.

    A statement is named by the comment before it, or by its number. A comment inside a statement names none, nor does
    one that ends the line of the statement before.

    Example:
        >>> statements("-- total\nSELECT COUNT(*) AS n FROM t; SELECT 'a;b' AS k;")
        {'total': 'SELECT COUNT(*) AS n FROM t', '2': "SELECT 'a;b' AS k"}
    """
    from sqlglot import tokenize
    from sqlglot.errors import SqlglotError
    from sqlglot.tokenizer_core import TokenType

    try:
        tokens = tokenize(text, read="duckdb")
    except SqlglotError:
        return {"1": text}  # the session says the fault, with its place
    out: dict[str, str] = {}
    own: list[int] = []
    name, ended = "", 0
    for index, token in enumerate(tokens):
        if token.token_type is not TokenType.SEMICOLON:
            if not own:
                name = _name(text[ended : token.start], first=not ended)
            own += [token.start, token.end]
        if own and (token.token_type is TokenType.SEMICOLON or index == len(tokens) - 1):
            number = len(out) + 1
            while str(number) in out:  # a comment may be a number, too
                number += 1
            out[name if name and name not in out else str(number)] = text[own[0] : own[-1] + 1]
            own = []
        if token.token_type is TokenType.SEMICOLON:
            ended = token.end + 1
    return out or {"1": text}


def _name(before: str, first: bool) -> str:
    """The last comment of the text before a statement, but for one that ends the line of the statement before."""
    name = ""
    for found in _COMMENT.finditer(before):
        start = found.start()
        if first or "\n" in before[:start] or "\n" not in before[start:]:
            name = (found[1] or found[2] or "").strip()
    return name
