"""The statements of a text, by name: the questions of a workload."""

from __future__ import annotations


def statements(text: str) -> dict[str, str]:
    r"""Cut a text into its statements, at the semicolons that no quote or comment holds.

    A statement is named by the comment before it, or by its number.

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
    name = ""
    for index, token in enumerate(tokens):
        if token.token_type is not TokenType.SEMICOLON:
            if not own:
                before = tokens[index - 1].comments if index else []
                lines = [*before, *token.comments]
                name = lines[-1].strip() if lines else ""
            own += [token.start, token.end]
        if own and (token.token_type is TokenType.SEMICOLON or index == len(tokens) - 1):
            number = len(out) + 1
            while str(number) in out:  # a comment may be a number, too
                number += 1
            out[name if name and name not in out else str(number)] = text[own[0] : own[-1] + 1]
            own = []
    return out or {"1": text}
