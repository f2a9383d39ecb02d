"""A statement that carries its own price, as in GoogleSQL, and EXPLAIN and DESCRIBE of a query, told by their words.

    SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1, delta = 1e-9, max_groups_contributed = 2) …

The clause is taken out, and blanks stand in its place, so that refusals still point at the right one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from discreet.sql.syntax.refusal import refuse_at

CLAUSE = "DIFFERENTIAL_PRIVACY"
NAMES = {
    "epsilon": "epsilon", "delta": "delta", "max_groups_contributed": "max_groups", "max_rows_contributed": "max_rows",
    "max_groups": "max_groups", "max_rows": "max_rows", "max_rows_per_group": "max_rows_per_group",
    "confidence": "confidence", "nonnegative": "nonnegative", "integers": "integers",
    "privacy_unit_column": "privacy_unit_column",
}  # fmt: skip
"""The words that may stand in OPTIONS, each with its name here."""
REFUSED = {
    "min_privacy_units_per_group": "From how many units on a found group is shown follows from epsilon and delta.",
    "group_selection_strategy": "Public groups are all shown, and others are found for a delta; there is no choice.",
}
_ABOUT = re.compile(r"\s*(EXPLAIN|DESCRIBE|DESC)\b\s*(ANALYZE\b|SELECT\b|WITH\b|FROM\b|\()", re.IGNORECASE)
"""The parser takes the text after EXPLAIN for one piece, so that its words are not told apart there."""
_USAGE = "Write SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1) …."


class Priced(NamedTuple):
    """A statement without its price, and the price.

    Attributes:
        text: with blanks where the clause stood.
        options: by the name here, as written: numbers as texts of digits.
    """

    text: str
    options: dict[str, str]


def priced(text: str) -> Priced | None:
    """The price that a statement carries; None for one that carries none.

    Raises:
        QueryRefused: the clause cannot be read, stands there twice, or names something that there is not.

    Example:
        >>> priced("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon=1) COUNT(*) FROM t").options
        {'epsilon': '1'}
        >>> priced("SELECT COUNT(*) FROM t") is None
        True
    """
    if CLAUSE not in text.upper():
        return None
    tokens = _tokens(text)
    places = [
        n
        for n, (token, other) in enumerate(pairwise(tokens))
        if token.token_type is TokenType.WITH and other.text.upper() == CLAUSE
        and n and tokens[n - 1].token_type is TokenType.SELECT
    ]  # fmt: skip
    if not places:
        return None
    if len(places) > 1:
        second = tokens[places[1]]
        raise refuse_at(text, second.start, second.end + 1, "This statement carries two prices.",
                 "Leave one of them out: epsilon is that of the whole statement.")  # fmt: skip
    first = places[0]
    options, last = _options(text, tokens, first + 2)
    start, end = tokens[first].start, tokens[last].end + 1
    blank = "".join(c if c == "\n" else " " for c in text[start:end])
    return Priced(text[:start] + blank + text[end:], options)


def looked_at(text: str) -> tuple[str, str] | None:
    """The word and the query of `EXPLAIN SELECT …` and `DESCRIBE SELECT …`; None for any other statement.

    Raises:
        QueryRefused: it is EXPLAIN ANALYZE, which would run the query.

    Example:
        >>> looked_at("EXPLAIN SELECT 1"), looked_at("DESCRIBE visits"), looked_at("SELECT 1")
        (('EXPLAIN', 'SELECT 1'), None, None)
    """
    found = _ABOUT.match(text)
    if found is None:
        return None
    if found[2].upper() == "ANALYZE":
        raise refuse_at(text, found.start(2), found.end(2), "EXPLAIN ANALYZE would run the query.",
                 "Write EXPLAIN, which reads no data.")  # fmt: skip
    word = "EXPLAIN" if found[1].upper() == "EXPLAIN" else "DESCRIBE"
    return word, text[found.start(2) :].rstrip().rstrip(";")


def _tokens(text: str) -> list[Token]:
    try:
        return list(DuckDB().tokenize(text))
    except TokenError:
        return []  # the parser names the fault later


def _options(text: str, tokens: Sequence[Token], first: int) -> tuple[dict[str, str], int]:
    """The options from a token on, and the last token of the clause."""
    if first >= len(tokens) or tokens[first].text.upper() != "OPTIONS":
        return {}, first - 1
    whole = tokens[first]
    if first + 1 >= len(tokens) or tokens[first + 1].token_type is not TokenType.L_PAREN:
        raise refuse_at(text, whole.start, whole.end + 1, "Parentheses are missing after OPTIONS.", _USAGE)
    end = next((n for n in range(first + 2, len(tokens)) if tokens[n].token_type is TokenType.R_PAREN), None)
    if end is None:
        raise refuse_at(text, whole.start, whole.end + 1, "The parenthesis of OPTIONS is not closed.", _USAGE)
    found: dict[str, str] = {}
    for option in _between_commas(tokens[first + 2 : end]):
        start, stop = option[0].start, option[-1].end + 1
        known = len(option) == 3 and option[1].token_type is TokenType.EQ
        if not known:
            raise refuse_at(text, start, stop, "This option is not a name and a literal.", _USAGE)
        name = option[0].text.lower()
        if name in REFUSED:
            raise refuse_at(text, start, stop, REFUSED[name], f"Leave {name} out.")
        if name not in NAMES:
            raise refuse_at(
                text, start, stop, f"There is no option {name}.", f"The options are {', '.join(NAMES)}."
            )
        if NAMES[name] in found:
            raise refuse_at(text, start, stop, f"{name} stands there twice.", "Leave one of them out.")
        found[NAMES[name]] = option[2].text
    return found, end


def _between_commas(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    piece: list[Token] = []
    for token in tokens:
        if token.token_type is TokenType.COMMA:
            if piece:
                yield piece
            piece = []
        else:
            piece.append(token)
    if piece:
        yield piece
