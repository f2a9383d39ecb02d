"""COUNT(DISTINCT (a, b)), SUM(DISTINCT x) and AVG(DISTINCT x).

A tuple is counted as one text that no other tuple has: each value is written behind its length, and NULL is a word of
its own, so that nothing can be read in two ways.

Values are told apart after measurement: fractions that lie nearer to each other than the grid of the sum are one.

Privacy: one row more or fewer changes the set of distinct values of a group by at most one value. So a count of them
moves by at most 1, and their sum by at most M, the largest absolute value, as for a plain row; a unit with max_rows
rows by max_rows times as much, one row after another.
"""

from __future__ import annotations

import sqlglot
from sqlglot import exp

from discreet.engines.schema import Type
from discreet.sql.analyze.binding.binder import Binder
from discreet.sql.expressions.expression import Expression
from discreet.sql.functions.names import TYPE_WORDS

_PIECE = "CASE WHEN _x IS NULL THEN 'n' ELSE concat('v', length(CAST(_x AS VARCHAR)), ':', CAST(_x AS VARCHAR)) END"
MOST_VALUES = 8
"""The most values of a tuple."""


_COUNT_OF_GROUPS = "count of groups"
"""A name that no text can spell without quotes."""


def count_of_groups(keys: list[exp.Expr], least: int, most: int | None) -> exp.Expr:
    """How many values of some keys have so many rows: the least and the greatest number, None without an end."""
    ends = [exp.Null() if end is None else exp.Literal.number(end) for end in (least, most)]
    return exp.AnonymousAggFunc(this=_COUNT_OF_GROUPS, expressions=[*ends, *keys])


def counted_groups(node: exp.Expr) -> tuple[list[exp.Expr], int, int | None] | None:
    """The keys and the ends of a `count_of_groups`; None for any other node."""
    if not isinstance(node, exp.AnonymousAggFunc) or node.this != _COUNT_OF_GROUPS:
        return None
    least, most, *keys = node.expressions
    return keys, int(least.name), None if isinstance(most, exp.Null) else int(most.name)


def as_one_value(keys: list[exp.Expr], binder: Binder) -> Expression:
    """The keys of a group as one value: their own, or one text of several."""
    return binder.bind(keys[0]) if len(keys) == 1 else as_one_text(exp.Tuple(expressions=keys), binder)


def as_one_text(node: exp.Tuple, binder: Binder) -> Expression:
    """A tuple of values as one text, different for different tuples.

    Raises:
        QueryRefused: it has too many values, or one that engines write in different ways.
    """
    if not 1 < len(node.expressions) <= MOST_VALUES:
        raise binder.refuse(
            node, f"A tuple has from 2 to {MOST_VALUES} values here.", "Write COUNT(DISTINCT (a, b))."
        )
    pieces = []
    for value in node.expressions:
        kind = binder.bind(value).type
        if kind in (Type.FLOAT, Type.TIMESTAMP):
            x = value.sql("duckdb")
            fix = f"round({x} * 100) // 1" if kind is Type.FLOAT else f"strftime({x}, '%Y-%m-%d %H:%M:%S')"
            raise binder.refuse(value, "Several values are compared as one text, and engines write "
                                f"{TYPE_WORDS[kind]} in different ways.", f"Write {fix} in its place.")  # fmt: skip
        piece = sqlglot.parse_one(_PIECE, read="duckdb")
        for column in list(piece.find_all(exp.Column)):
            column.replace(exp.paren(value.copy()))
        pieces.append(piece)
    return binder.bind(exp.Concat(expressions=pieces, safe=True, coalesce=True))
