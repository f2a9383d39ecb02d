"""The shape of a query: all that decides whether it can be planned, without the integers that do not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import pyarrow as pa

Shape: TypeAlias = tuple[str, tuple[tuple[str, str], ...]]

_QUOTED_OR_WHOLE = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|CAST\(-?[0-9]{1,18} AS BIGINT\)""", re.ASCII)
"""Quoted text is matched first, so that no integer within it is taken for one of the query."""


def integers_of(sql: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """A query as the pieces of text between its integers of BIGINT, which its shape leaves out, and those integers.

    Example:
        >>> integers_of("SELECT CAST(5 AS BIGINT) + 1")
        (('SELECT ', ' + 1'), ('CAST(5 AS BIGINT)',))
    """
    pieces, found, start = [], [], 0
    for match in _QUOTED_OR_WHOLE.finditer(sql):
        if match[0][0] not in "'\"":
            pieces.append(sql[start : match.start()])
            found.append(match[0])
            start = match.end()
    return (*pieces, sql[start:]), tuple(found)


def shape_of(sql: str, tables: Mapping[str, pa.Table]) -> Shape:
    """The shape of a query over some tables.

    An integer of at most 18 digits that is cast to BIGINT is a BIGINT whichever it is, so a planner that takes one of
    them takes all. Nothing else is left out: not the text in quotes, nor the types of the tables beside it.

    Example:
        >>> shape_of("SELECT count(*) FROM t WHERE a < CAST(5 AS BIGINT)", {})[0]
        'SELECT count(*) FROM t WHERE a < CAST(0 AS BIGINT)'
        >>> shape_of("SELECT 'CAST(5 AS BIGINT)'", {})[0]
        "SELECT 'CAST(5 AS BIGINT)'"
    """

    def zero(found: re.Match[str]) -> str:
        text = found[0]
        return text if text[0] in "'\"" else "CAST(0 AS BIGINT)"

    types = tuple((name, str(table.schema)) for name, table in sorted(tables.items()))
    return _QUOTED_OR_WHOLE.sub(zero, sql), types
