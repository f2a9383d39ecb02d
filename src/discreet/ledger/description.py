"""The description of a charge: who asked which question, on one line that a steward reads."""

from __future__ import annotations

import getpass
import os
from functools import lru_cache

LONGEST_DESCRIPTION = 4000
"""Characters of a description; the rest of a longer question is left out."""


def described(words: str, who: str = "") -> str:
    """The user and the question, in words, on one line.

    Args:
        words: of the question.
        who: the name of the analyst; by default the user of this process.
    """
    line = " ".join(_with_closed_comments(words).split())
    if len(line) > LONGEST_DESCRIPTION:
        line = line[: LONGEST_DESCRIPTION - 1] + "…"
    return f"{who or user()} asked: {line}"


def _with_closed_comments(words: str) -> str:
    """Words whose comments end where they ended, when all lines are one.

    The parser's own tokens tell comments from the rest: another reading of quotes, of nested comments or of the ends
    of lines would show a part of the question as a comment.
    """
    if not any(mark in words for mark in _COMMENTS):
        return words
    from sqlglot.dialects.duckdb import DuckDB
    from sqlglot.errors import TokenError

    try:
        tokens = DuckDB().tokenize(words)
    except TokenError:
        return words  # of something else than SQL
    out, offset = [], 0
    for token in tokens:
        out += [_closed(words[offset : token.start]), words[token.start : token.end + 1]]
        offset = token.end + 1
    return "".join([*out, _closed(words[offset:])])


_COMMENTS = ("--", "/*", "{#")


def _closed(gap: str) -> str:
    """The text between two tokens, space or comments, with each comment closed."""
    comment = gap.strip()
    if not comment:
        return gap
    comment = (
        comment[2:-2] if comment.startswith("/*") and comment.endswith("*/") else comment.removeprefix("--")
    )
    return f" /* {comment.replace('*/', '* /').replace('/*', '/ *').strip()} */ "


def user() -> str:
    """The name of the user of this process."""
    # To look a number up in the system's list takes as long as many a step of a question.
    return _user(os.getuid() if hasattr(os, "getuid") else 0, *map(os.environ.get, _NAMED))


_NAMED = ("LOGNAME", "USER", "LNAME", "USERNAME")
"""The variables that `getpass.getuser` looks at."""


@lru_cache(8)
def _user(*_: object) -> str:
    try:
        return " ".join(getpass.getuser().split()) or "somebody"
    except (KeyError, OSError):  # a container without a list of users
        return f"user {os.getuid()}" if hasattr(os, "getuid") else "somebody"


def who_and_what(description: str) -> tuple[str, str]:
    """Read a description.

    Example:
        >>> who_and_what("ana asked: SELECT 1"), who_and_what("")
        (('ana', 'SELECT 1'), ('', ''))
    """
    who, asked, what = description.partition(" asked: ")
    return (who, what) if asked else ("", description)
