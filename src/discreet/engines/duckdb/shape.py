"""The shape of a query: all that decides whether it can be planned, without the literals that do not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import pyarrow as pa

QueryShape: TypeAlias = tuple[tuple[str, ...], tuple[tuple[str, str], ...]]

_LITERAL: Final = re.compile(
    r"""CAST\((?: -?[0-9]{1,18}\ AS\ BIGINT(?P<BIGINT>)
             | '-?[0-9]+\.?[0-9]*(?:e[+-]?[0-9]+)?'\ AS\ DOUBLE(?P<DOUBLE>) )\)
    | DATE(?P<DATE>)\ '[0-9]{4}-[0-9]{2}-[0-9]{2}'
    | TIMESTAMP(?P<TIMESTAMP>)\ '[0-9]{4}-[0-9]{2}-[0-9]{2}\ [0-9:.]+'
    | '[^']*(?:''[^']*)*' | "[^"]*(?:""[^"]*)*"
    """,
    re.ASCII | re.VERBOSE,
)
"""A literal of a type that is written beside it, or quoted text, within which there is none.

Each way begins with a letter or a quotation mark of its own, so that all other places are passed over at once.
"""
_COMPARED: Final = (" = ", " <> ", " < ", " <= ", " > ", " >= ")
"""Behind one of these a text is a value and nothing else, not a pattern, a format or a part of a date."""
LONGEST_REMEMBERED_QUERY: Final = 20_000
"""Characters of a query of which the literals are remembered."""


class Literals(NamedTuple):
    """The literals of a query that decide nothing but its result.

    Attributes:
        pieces: the text between them, and the type of each of them behind the piece before it.
        types: as DuckDB writes them.
        values: as they stand in the query.
    """

    pieces: tuple[str, ...]
    types: tuple[str, ...]
    values: tuple[str, ...]


def literals_of(sql: str) -> Literals:
    """Take a query apart.

    An integer of at most 18 digits that is cast to BIGINT is a BIGINT whichever it is, a finite number that is cast to
    DOUBLE a DOUBLE, and so on; so a planner that takes one of them takes all.

    Example:
        >>> literals_of("SELECT CAST(5 AS BIGINT) + 1").pieces
        ('SELECT ', 'BIGINT', ' + 1')
        >>> literals_of("SELECT v = 'a', starts_with(v, 'b')").values
        ("'a'",)
    """
    return _taken_apart(sql) if len(sql) <= LONGEST_REMEMBERED_QUERY else _taken_apart.__wrapped__(sql)


@lru_cache(256)
def _taken_apart(sql: str) -> Literals:
    pieces, types, values, start = [], [], [], 0
    for match in _LITERAL.finditer(sql):
        kind = match.lastgroup
        if kind is None and match[0][0] == "'" and sql.endswith(_COMPARED, 0, match.start()):
            kind = "VARCHAR"
        if kind is not None:
            pieces += [sql[start : match.start()], kind]
            types.append(kind)
            values.append(match[0])
            start = match.end()
    return Literals((*pieces, sql[start:]), tuple(types), tuple(values))


def shape_of(sql: str, tables: Mapping[str, pa.Table]) -> QueryShape:
    """The shape of a query over some tables: its text without those literals, and the types of the tables beside it.

    Example:
        >>> shape_of("SELECT count(*) FROM t WHERE a < CAST(5 AS BIGINT)", {})[0]
        ('SELECT count(*) FROM t WHERE a < ', 'BIGINT', '')
        >>> shape_of("SELECT 'CAST(5 AS BIGINT)'", {})[0]
        ("SELECT 'CAST(5 AS BIGINT)'",)
    """
    return literals_of(sql).pieces, tuple((name, str(table.schema)) for name, table in sorted(tables.items()))


def with_parameters(query: Literals, given: tuple[int, ...]) -> str:
    """The query with a parameter in place of each literal that is given, in the type of that literal."""
    number = {index: n for n, index in enumerate(given, 1)}
    out = [query.pieces[0]]
    for index, (kind, value) in enumerate(zip(query.types, query.values, strict=True)):
        out += [
            f"CAST(${number[index]} AS {kind})" if index in number else value,
            query.pieces[2 * index + 2],
        ]
    return "".join(out)
