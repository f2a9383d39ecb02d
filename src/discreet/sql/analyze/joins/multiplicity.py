"""How many partners a private row finds in a join at most, which decides how many rows of a unit are kept after it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.engines.schema import Type
from discreet.errors import QueryRefused
from discreet.sql.algebra.multiplicity import most_alike, unique_on
from discreet.sql.expressions.expression import Call, Column, Expression, leaves

if TYPE_CHECKING:
    import pyarrow as pa

from discreet.sql.algebra.narrowing import conjuncts
from discreet.sql.analyze.from_clause import FromClause

EXACT = 2**53
"""Up to here all whole numbers are doubles."""
MOST_ROWS = 2**40
"""A join raises the cap to no more rows of a unit than this: noise for them could not be drawn at most epsilons."""


def _own_columns(node: exp.Expr) -> list[exp.Column]:
    """The columns of a condition outside its sub-queries, whose columns are those of other tables."""
    found = node.walk(prune=lambda inner: isinstance(inner, exp.Query))
    return [inner for inner in found if isinstance(inner, exp.Column)]


def reads_new(node: exp.Expr, both: FromClause, right: Mapping[str, Column]) -> bool:
    """Whether a condition reads a column of the right side, and nothing that is not there yet."""
    internal = {c.name for c in right.values()}
    try:
        found = [both.column(c) for c in _own_columns(node)]
    except QueryRefused:
        return False
    names = {c.name for c in found if isinstance(c, Column)}
    return bool(names & internal)


def _read_of(
    elsewhere: Iterable[exp.Expr], both: FromClause, right: Mapping[str, Column]
) -> list[Expression | None]:
    """The conditions of WHERE that read a column of the right side; None for one that cannot be read by itself."""
    out: list[Expression | None] = []
    for node in elsewhere:
        if reads_new(node, both, right):
            try:
                out.append(both.binder().condition(node))
            except QueryRefused:
                out.append(None)
    return out


def partners_of(
    data: pa.Table,
    conditions: list[Expression],
    both: FromClause,
    right: Mapping[str, Column],
    elsewhere: Iterable[exp.Expr],
) -> tuple[int, bool]:
    """How many rows of a public table a private row can find at most; whether nothing that is asked leaves fewer."""
    internal = {c.name for c in right.values()}
    asked = [*conditions, *_read_of(elsewhere, both, right)]
    known = [condition for condition in asked if condition is not None]
    compared = compared_columns(known, internal)
    exact = len(known) == len(asked) and all(
        compared_columns([condition], internal)
        for whole in known
        for condition in conjuncts([whole])
        if _reads(condition, internal)
    )
    return _most_partners(data, compared), exact


def pairs_of(
    left: FromClause,
    right: FromClause,
    both: FromClause,
    on: list[Expression],
    outer: bool,
    elsewhere: list[exp.Expr],
) -> tuple[int, bool, int]:
    """How many pairs of private rows of a unit are kept, whether it cannot have more, and how many times more it may.

    A unit has at most as many pairs as both caps multiplied. Where one side has one row at most for each value that is
    compared, it has no more than the rows of the other. Conditions that compare both sides in another way leave fewer
    pairs, and nobody can tell how many: then as many are kept as before the join.
    """
    mine, other = left.rows, right.rows
    a, b = mine.max_rows, other.max_rows
    theirs = {c.name for c in other.columns.values()}
    ours = {c.name for table in left.tables.values() for c in table.values()}
    where = (
        []
        if outer
        else [
            condition
            for condition in _read_of(elsewhere, both, other.columns)
            if condition is None or _reads(condition, ours)
        ]
    )
    asked = [*on, *(condition for condition in where if condition is not None)]
    found: list[tuple[int, bool]] = []
    # A key that is only declared decides how many are kept, and not that there are no more.
    for declared in (False, True):
        keys = unique_on(other.relation, declared)
        if keys is not None and keys - right.held <= set(compared_columns(asked, theirs)):
            found.append((a, mine.fixed and not declared))
        keys = unique_on(mine.relation, declared)
        if keys is not None and keys - left.held <= set(compared_columns(asked, ours)):
            # Rows on the left without a partner stay, too; with a pair at all there is one such row less.
            fixed = other.fixed and not declared
            found.append((a + b - 1, mine.fixed and fixed) if outer else (b, fixed))
    if found:
        return *min(found, key=lambda bound: (bound[0], not bound[1])), 1
    both_fixed = mine.fixed and other.fixed
    fewer = any(_reads(condition, ours) and _reads(condition, theirs) for condition in asked) or None in where
    if (fewer and not both_fixed and min(a, b) > 1) or a * b > MOST_ROWS:
        return max(a, b), False, min(a, b)
    return a * b, both_fixed, 1


def _reads(expression: Expression, names: set[str]) -> bool:
    return any(c.name in names for c in leaves(expression))


def compared_columns(conditions: list[Expression], right: set[str]) -> list[str]:
    """The public columns that are each set equal to something of the private row.

    A whole number that is compared as a fraction is one of them where no two are the same fraction.
    """
    out = []
    for condition in conjuncts(conditions):
        if not (isinstance(condition, Call) and condition.name == "eq"):
            continue
        for whole, other in (condition.args, condition.args[::-1]):
            side = _unwidened(whole)
            if (
                isinstance(side, Column)
                and side.name in right
                and not {c.name for c in leaves(other)} & right
            ):
                out.append(side.name)
    return out


def _unwidened(side: Expression) -> Expression:
    """The column behind its cast to a wider type, where every value of it stays different from the others."""
    if not (isinstance(side, Call) and side.name in ("to_float", "to_timestamp") and len(side.args) == 1):
        return side
    (inside,) = side.args
    lo, hi = inside.span.lo, inside.span.hi
    exact = inside.type is Type.INTEGER and lo is not None and hi is not None and lo >= -EXACT and hi <= EXACT
    return inside if exact or inside.type is Type.DATE else side


def _most_partners(data: pa.Table, compared: list[str]) -> int:
    return most_alike(data, [name for name in data.column_names if name in compared])
