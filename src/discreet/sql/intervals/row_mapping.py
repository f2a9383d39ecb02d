"""Statements that pick rows and columns of one noisy table: no SQL is needed to answer them, but for their rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from sqlglot import exp

from discreet import arrow
from discreet.engines.sandbox import Sandbox
from discreet.release.noisy_schema import CELL, aggregate_name, aggregate_number, key_number
from discreet.sql.intervals.closed_form import closed
from discreet.sql.lower.run import EVERY, GroupSelection, NoisyIntegers
from discreet.sql.plan.plan import QueryPlan
from discreet.sql.syntax.once import once

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

_PLAIN_CLAUSES = {"expressions", "from_", "where", "order", "limit", "offset"}
_PLAIN_NODES = (
    exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Where, exp.Order, exp.Ordered, exp.Limit,
    exp.Offset, exp.Paren, exp.And, exp.Or, exp.Not, exp.Neg, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Is,
    exp.Between, exp.In, exp.Add, exp.Sub, exp.Mul, exp.Div,
)  # fmt: skip
"""Nodes that give the same result whenever they are run, and the same rows in the same order."""


def with_cell(plan: QueryPlan) -> tuple[exp.Query, bool]:
    """The statement with the number of the group beside each row, where a row is one group of one release."""
    post, has_cell = shared_with_cell(plan)
    return post.copy(), has_cell


def shared_with_cell(plan: QueryPlan) -> tuple[exp.Query, bool]:
    """The same, made once for a statement: for those who look at it and change nothing in it."""
    return _with_cell(plan.post, tuple(release.name for release in plan.releases))


@once
def _with_cell(post: exp.Query, names: tuple[str, ...]) -> tuple[exp.Query, bool]:
    if not isinstance(post, exp.Select) or len(names) != 1:
        return post, False
    source = post.args["from_"].this if post.args.get("from_") is not None else None
    if not isinstance(source, exp.Table) or source.name != names[0]:
        return post, False
    if post.args.get("joins") or post.args.get("distinct") or post.args.get("group"):
        return post, False
    post = post.copy()
    assert isinstance(post, exp.Select)
    cell = exp.column(CELL, table=names[0])
    post.append("expressions", exp.alias_(cell, CELL))
    order = post.args.get("order")
    if order is not None:
        _in_full(order, post)
        if all(
            ordered.this.name.lower() != "all" or ordered.this.args.get("table")
            for ordered in order.expressions
        ):
            order.append("expressions", exp.Ordered(this=cell.copy(), nulls_first=False))  # for ties
    return post, True


def _in_full(order: exp.Order, post: exp.Select) -> None:
    """Write the columns of the table where ORDER BY has the names of the answer."""
    columns = {item.alias_or_name.lower(): item.unalias() for item in post.selects}
    for ordered in order.expressions:
        named = ordered.this
        if isinstance(named, exp.Column) and not named.table:
            column = columns.get(named.name.lower())
            if type(column) is exp.Column and column.table:
                named.replace(column.copy())


def follows(plan: QueryPlan) -> bool:
    """Whether an answer follows from the noisy integers, the same whenever it is made, so that they are enough to keep.

    It does where each column is a bare key or a bare aggregate and every interval is a formula.
    """
    post, has_cell = shared_with_cell(plan)
    if not has_cell or picked_columns(post) is None:
        return False
    (release,) = plan.releases
    picked = {column for _, column in picked_columns(post) or ()}
    return all(
        closed(release, estimated)
        for index, estimated in enumerate(release.aggregates)
        if aggregate_name(index) in picked
    )


@once
def picks_all(post: exp.Query) -> bool:
    """Whether a statement shows all groups in their order, and nothing but columns of its table."""
    others = [value for key, value in post.args.items() if key not in ("expressions", "from_")]
    return not any(others) and picked_columns(post) is not None


@once
def picked_columns(post: exp.Query) -> list[tuple[str, str]] | None:
    """Name and column of each item of a statement that picks columns and rows of its table; None for any other."""
    if not all(_plain(key, value) for key, value in post.args.items() if value):
        return None
    items = [(item.alias_or_name, item.unalias()) for item in post.selects]
    if not all(type(column) is exp.Column for _, column in items):
        return None
    names = [column.name for _, column in items]
    return (
        list(zip((name for name, _ in items), names, strict=True)) if len(set(names)) == len(names) else None
    )


def _plain(key: str, value: object) -> bool:
    if key in ("expressions", "from_"):
        return True
    if key not in _PLAIN_CLAUSES or not isinstance(value, exp.Expr):
        return False
    if any(isinstance(ordered.this, exp.Literal) for ordered in value.find_all(exp.Ordered)):
        return False  # the place of a column
    return all(
        type(node) in _PLAIN_NODES and (not isinstance(node, exp.Column) or bool(node.table))
        for node in value.walk()
    )


def key_columns(plan: QueryPlan) -> frozenset[str]:
    """The columns of a statement over one noisy table that are a bare key, which no noise can change."""
    return _key_columns(plan.post)


@once
def _key_columns(post: exp.Query) -> frozenset[str]:
    return frozenset(
        item.alias_or_name
        for item in post.selects
        if isinstance(item.unalias(), exp.Column) and key_number(item.unalias().name) is not None
    )


def aggregate_columns(plan: QueryPlan) -> Mapping[str, int]:
    """The columns of a statement over one noisy table that are a bare aggregate, with the number of that."""
    (release,) = plan.releases
    return _aggregate_columns(plan.post, release.name, len(release.aggregates))


@once
def _aggregate_columns(post: exp.Query, noisy: str, aggregates: int) -> Mapping[str, int]:
    names = {aggregate_name(index): index for index in range(aggregates)}
    items = [(item.alias_or_name, item.unalias()) for item in post.selects]
    return {
        name: names[column.name]
        for name, column in items
        if type(column) is exp.Column and column.name in names and column.table == noisy
    }


def all_direct(plan: QueryPlan, post: exp.Query) -> bool:
    """Whether the answer is all groups, with unchanged keys and aggregates: then its rows need no identity."""
    own = {*key_columns(plan), *aggregate_columns(plan)}
    return picks_all(post) and all(name in own for name in names_of(post))


@once
def names_of(post: exp.Query) -> tuple[str, ...]:
    """The columns of the answer of a statement, in order."""
    return tuple(item.alias_or_name for item in post.selects)


def table(picked: list[tuple[str, str]], noisy: NoisyIntegers, cells: GroupSelection) -> pa.Table:
    """The columns that a statement picks, in the groups that it shows."""
    import pyarrow as pa

    names = [column for _, column in picked if column != CELL]
    shown = [name for name, column in picked if column != CELL]
    if isinstance(cells, slice):
        made = noisy.columns(names)
    else:
        made = noisy.keys([key for name in names if (key := key_number(name)) is not None], cells)
        for name in names:
            number = aggregate_number(name)
            if number is not None:
                made[name] = arrow.taken(noisy.column(noisy.plan.aggregates[number]), cells)
    return pa.table([made[name] for name in names], names=shown)


def chosen(post: exp.Query, noisy: NoisyIntegers) -> GroupSelection:
    """The groups that a statement shows, in its order; it only picks columns of its table."""
    if picks_all(post):
        return EVERY
    sorted_cells = _sorted(post, noisy)
    if sorted_cells is not None:
        return sorted_cells
    statement = post.copy()
    assert isinstance(statement, exp.Select)
    statement.set("expressions", [exp.column(CELL, table=noisy.plan.name)])
    used_columns = {column.name for column in statement.find_all(exp.Column)}
    with Sandbox({noisy.plan.name: noisy.table(used_columns)}) as sandbox:
        return (
            np.asarray(arrow.numbers(sandbox.run(statement.sql("duckdb")).column(0)), np.int64) - noisy.first
        )


def _sorted(post: exp.Query, noisy: NoisyIntegers) -> Integers | None:
    """All groups in the order of one count; None where a statement says anything else."""
    others = [value for key, value in post.args.items() if key not in ("expressions", "from_", "order")]
    if any(others) or not len(noisy.entries):
        return None
    first, *rest = post.args["order"].expressions
    number = aggregate_number(first.this.name)
    if [term.this.name for term in rest] != [CELL] or number is None:
        return None
    aggregate = noisy.plan.aggregates[number]
    if not noisy.counted(aggregate):
        return None
    return in_order(arrow.numbers(noisy.column(aggregate)), bool(first.args.get("desc")))


def in_order(values: Integers, descending: bool) -> Integers:
    """The places of integers in their order, equal ones in the order of their places.

    By digits of 16 bits, the least first: for ten million counts several times as fast as a sort that compares.

    Args:
        values: int64 array (n,), not empty.
        descending: whether the largest come first.

    Example:
        >>> in_order(np.array([3, 5, 3, -1]), descending=True).tolist()
        [1, 0, 2, 3]
    """
    least, most = int(values.min()), int(values.max())
    key = values.view(np.uint64) - np.uint64(least % 2**64)  # wraps, and is right all the same
    if descending:
        key = np.uint64(most - least) - key
    order: Integers | None = None
    for shift in range(0, max(1, (most - least).bit_length()), 16):
        digit = (key >> np.uint64(shift)).astype(np.uint16)
        order = (
            np.argsort(digit, kind="stable")
            if order is None
            else order[np.argsort(digit[order], kind="stable")]
        )
    assert order is not None
    return order
