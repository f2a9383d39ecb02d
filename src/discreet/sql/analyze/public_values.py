"""The values of public sub-queries, which cost nothing and do not wait for a release."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from discreet import far
from discreet.arrow import is_nested, values_of
from discreet.engines.sandbox import QUOTED, Sandbox, for_strangers
from discreet.errors import PostProcessingError, QueryRefused
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.analyze.joins.laterals import see_around
from discreet.sql.analyze.own_functions import write_out
from discreet.sql.analyze.scope_tree import Env, PublicScope, Refuse, Scope, ScopeKind, Scopes
from discreet.sql.syntax.nodes import any_of, literal_of, tables_in, with_queries
from discreet.sql.syntax.post_processing.weeks import count_mondays

if TYPE_CHECKING:
    import pyarrow as pa

MOST_VALUES = 10_000
"""The most values that a public sub-query of IN may have."""
MOST_FOR_STRANGERS = 200_000
"""The most values of a public part that the statement itself makes: each takes some hundred bytes of the service."""
LONGEST_PUBLIC_VALUE = 1 << 20
"""Bytes of the value of a public sub-query."""


def evaluated(scope: Scope, env: Env, catalog: Catalog, refuse: Refuse) -> pa.Table:
    """The rows of a public scope.

    Args:
        scope: a query, or a source of FROM.
        env: the tables of WITH that it may name.
        catalog: the tables.
        refuse: makes refusals.

    Raises:
        QueryRefused: by `refuse`, it depends on a release, or DuckDB refuses it.
    """
    node = scope.node
    if scope.kind is not ScopeKind.PUBLIC:
        raise refuse(node, "How many rows of this a private row would find is decided by noise.",
                     "Join it on all the columns that it is grouped by; or take one number of it, with LIMIT 1 or an "
                     "aggregate.")  # fmt: skip
    if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
        known = catalog.public.get(node.name.lower())
        if known is not None and node.name.lower() not in env:
            return known
    inner = standing_alone(node, env)
    names = tables_in(inner)
    tables = {name: table for name, table in catalog.public.items() if name in names}
    try:
        with Sandbox(tables) as sandbox:
            found = sandbox.run(inner.sql("duckdb"))
    except PostProcessingError as error:
        see_around(node, catalog, refuse)
        raise refuse(node, error.cause, error.fix) from None
    if for_strangers() and values_of(found) > MOST_FOR_STRANGERS:
        raise refuse(node, f"This public part has {values_of(found):,} values; the service takes "
                     f"{MOST_FOR_STRANGERS:,}.", "Filter or aggregate it.")  # fmt: skip
    return found


def standing_alone(node: exp.Expr, env: Env) -> exp.Query:
    """A public part of a statement as a query by itself, with those tables of WITH that it reads."""
    if isinstance(node, exp.Subquery) and not node.alias_column_names:
        inside: exp.Query = node.this.copy()
    elif isinstance(node, exp.Query) and not isinstance(node, exp.Subquery):
        inside = node.copy()
    elif isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
        inside = exp.select("*").from_(exp.to_table(node.name))
    else:
        inside = exp.select("*").from_(node.copy())
    listed = _definitions(inside, env)
    if listed:
        own = inside.args.get("with_")
        listed += own.expressions if own is not None else []
        inside.set("with_", exp.With(expressions=listed, recursive=True))
    count_mondays(inside)
    write_out(inside)
    return inside


def _definitions(query: exp.Expr, env: Env) -> list[exp.Expr]:
    """The definitions of the tables of WITH that a query reads, and of those that they read, in their order."""
    public = {name: scope.definition for name, scope in env.items() if isinstance(scope, PublicScope)}
    wanted: set[str] = set()
    open_: list[exp.Expr] = [query]
    while open_:
        names = tables_in(open_.pop())
        new = [name for name in names - wanted if public.get(name) is not None]
        wanted.update(new)
        open_ += [definition for name in new if (definition := public[name]) is not None]
    return [
        definition.copy() for name, definition in public.items() if name in wanted and definition is not None
    ]


def waits(node: exp.Expr, around: Scopes, env: Env) -> bool:
    """Whether a part of the statement reads private rows, or numbers that are released from them."""
    named = tables_in(node)
    known = [env[name] for name in named if name in env]
    private = (name in around.catalog.private for name in named if name not in env)
    return any(scope.kind is not ScopeKind.PUBLIC for scope in known) or any(private)


def with_public_values(node: exp.Expr, around: Scopes, env: Env) -> None:
    """Replace the public sub-queries of an expression over private rows by their values.

    Raises:
        QueryRefused: by `around`, a value cannot be known before a release, or there are too many.
    """
    for inner in with_queries(node):
        if isinstance(inner, exp.In | exp.Subquery | exp.Exists) and waits(inner, around, env):
            continue  # it is released, or read beside the rows, or refused where it is read
        if isinstance(inner, exp.Exists):
            from discreet.sql.analyze.subqueries.public_exists import membership

            made = membership(inner, around, env)
            inner.replace(made)
            with_public_values(made, around, env)
        elif isinstance(inner, exp.In) and inner.args.get("query"):
            table = _listed(inner, around, env)
            if isinstance(inner.this.unnest(), exp.Tuple):
                rows = list(zip(*(column.to_pylist() for column in table.itercolumns()), strict=True))
                inner.replace(_one_of(inner.this.unnest().expressions, rows))
                continue
            values = table.column(0).to_pylist()
            inner.set("query", None)
            if not values:  # in none of no values is anything, not even NULL
                inner.set("this", exp.Literal.number(1))
            inner.set("expressions", [literal_of(v) for v in values or [0]])
        elif isinstance(inner, exp.Subquery):
            if isinstance(inner.parent, exp.In | exp.Exists):
                continue
            if isinstance(inner.parent, exp.Any | exp.All):
                raise around.refuse(
                    inner.parent, "A value is compared with a whole sub-query by = ANY and <> ALL alone.",
                    "Write x > (SELECT MIN(k) FROM …) for x > ANY (SELECT k FROM …), and MAX for ALL.",
                )  # fmt: skip
            table = _rows(inner, around, env)
            if len(table) > 1 or table.num_columns != 1:
                raise around.refuse(
                    inner, "This sub-query is not a single value.", "Add LIMIT 1, or aggregate."
                )
            _see_dates(inner, table, around)
            if values_of(table) > MOST_VALUES or table.nbytes > LONGEST_PUBLIC_VALUE:
                raise around.refuse(
                    inner, "This sub-query is a very large value.", "Make it a number or a text."
                )
            inner.replace(literal_of(table.column(0)[0].as_py()) if len(table) else exp.null())


def _listed(node: exp.In, around: Scopes, env: Env) -> pa.Table:
    """The rows of the sub-query of IN, each once."""
    from discreet.sql.analyze.subqueries.public_exists import see_alone

    see_alone(node.args["query"], around, env)
    table = _rows(node.args["query"], around, env)
    _see_dates(node, table, around)
    left = node.this.unnest()
    width = len(left.expressions) if isinstance(left, exp.Tuple) else 1
    if table.num_columns != width:
        raise around.refuse(
            node, "The two sides have a different number of values.", "Write as many on both sides."
        )
    names = [f"c{index}" for index in range(width)]  # the same name may stand there twice
    table = table.rename_columns(names)
    if any(is_nested(table, name) for name in names):
        raise around.refuse(node, "This sub-query has lists or structs, which are not compared with private rows.",
                            "Select numbers, texts or dates in it.")  # fmt: skip
    table = table.group_by(names).aggregate([])
    if len(table) > MOST_VALUES:
        raise around.refuse(node, f"This sub-query has {len(table):,} values; {MOST_VALUES:,} are allowed.",
                            "Join with the public table instead.")  # fmt: skip
    return table


def _one_of(left: Sequence[exp.Expr], rows: Collection[tuple[Any, ...]]) -> exp.Expr:
    """Whether several values are one of these rows: NULL where that hangs on a NULL, unlike for rows that are written.

    Rows are told apart by the value of which there are fewest first, so that the condition is short.
    """
    if len(left) == 1:
        return exp.In(this=left[0].copy(), expressions=[literal_of(value) for (value,) in rows])
    fewest = min(range(len(left)), key=lambda index: len({row[index] for row in rows}))
    rest = [value for index, value in enumerate(left) if index != fewest]
    parts: dict[Any, list[tuple[Any, ...]]] = {}
    for row in rows:
        parts.setdefault(row[fewest], []).append(row[:fewest] + row[fewest + 1 :])
    each = [
        exp.and_(exp.EQ(this=left[fewest].copy(), expression=literal_of(value)), _one_of(rest, others))
        for value, others in parts.items()
    ]
    return exp.paren(any_of(each)) if each else exp.false()


def _see_dates(node: exp.Expr, table: pa.Table, around: Scopes) -> None:
    if any(far.is_far(column) for column in table.itercolumns()):
        raise around.refuse(node, "This sub-query has a date outside the years 1 to 9999.",
                            "Leave it out with a condition.")  # fmt: skip


def _rows(query: exp.Expr, around: Scopes, env: Env) -> pa.Table:
    scope = around.subquery(query.copy(), env)
    try:
        return around.evaluate(scope, env)
    except QueryRefused as error:
        if error.cause.startswith(QUOTED):
            see_around(query, around.catalog, around.refuse)
        raise
