"""Refusals: they point at the place in the query, name the reason and the fix, and never a data value."""

from __future__ import annotations

import re

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB

from discreet.errors import QueryRefused

WIDEST = 160
"""Characters of a line up to which a refusal shows all of it; of a longer one, those around the fault."""
AROUND = 60


def refuse(node: exp.Expr | None, text: str, cause: str, fix: str) -> QueryRefused:
    """The error for a query that cannot be answered, for the caller to raise.

    Args:
        node: the part of the parsed query that is at fault.
        text: the query as the analyst wrote it.
        cause: the fault, in one sentence.
        fix: the remedy, in one sentence.
    """
    where = place(node, text)
    if where is None:
        return QueryRefused(cause, fix)
    return refuse_at(text, *where, cause, fix)


def refuse_at(text: str, start: int, end: int, cause: str, fix: str) -> QueryRefused:
    """The same for a part of the text that is known by its place."""
    line = text.count("\n", 0, start) + 1
    head = text.rfind("\n", 0, start) + 1
    tail = text.find("\n", start)
    tail = len(text) if tail < 0 else tail
    first, last = head, tail
    if tail - head > WIDEST:
        first, last = max(head, start - AROUND), min(tail, max(start + 1, min(end, start + WIDEST)) + AROUND)
    shown = text[first:last]
    width = max(1, min(end, last) - start)
    pad = "".join("\t" if c == "\t" else " " for c in shown[: start - first])
    picture = f"  {shown}\n  {pad}{'^' * width}"
    return QueryRefused(
        cause, fix, place=text[start:end], line=line, column=start - head + 1, picture=picture
    )


def place(node: exp.Expr | None, text: str) -> tuple[int, int] | None:
    """Start and end in the text of the words that a node was parsed from, as far as the parser noted them."""
    if node is None:
        return None
    marks = [n.meta for n in node.walk() if "start" in n.meta]
    if not marks:
        # A parameter, say, keeps no place of its own; but its spelling may stand in the text once.
        written = node.sql("duckdb")
        offset = text.find(written)
        return (offset, offset + len(written)) if offset >= 0 and text.count(written) == 1 else None
    start, end = min(m["start"] for m in marks), max(m["end"] for m in marks) + 1
    # The closing parenthesis of a call is no token that the parser keeps.
    if text.count("(", start, end) > text.count(")", start, end) and text[end : end + 1] == ")":
        end += 1
    return start, min(end, len(text))


def match_at_token(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """The first match that begins where a token does, so not inside a literal or a comment; None without one.

    Args:
        pattern: of the words.
        text: a query that the tokenizer reads.
    """
    starts: set[int] | None = None
    for found in pattern.finditer(text):
        if starts is None:
            starts = {token.start for token in DuckDB().tokenize(text)}
        if found.start() in starts:
            return found
    return None
