"""The values of public sub-queries, which cost nothing and do not wait for a release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from discreet import far
from discreet.engines.sandbox import Sandbox
from discreet.errors import PostProcessingError
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.analyze.scope_tree import Env, Kind, PublicScope, Refuse, Scope, Scopes
from discreet.sql.syntax.nodes import with_queries
from discreet.sql.syntax.weeks import count_mondays

if TYPE_CHECKING:
    import pyarrow as pa

MOST_VALUES = 10_000
"""The most values that a public sub-query of IN may have."""


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
    if scope.kind is not Kind.PUBLIC:
        raise refuse(node, "Private rows cannot be compared with a released number in the same statement.",
                     "Ask for that number first, and write its value into the query.")  # fmt: skip
    if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
        known = catalog.public.get(node.name.lower())
        if known is not None and node.name.lower() not in env:
            return known
        inner: exp.Query = exp.select("*").from_(exp.to_table(node.name))
    elif isinstance(node, exp.Subquery):
        inner = node.this.copy()
    elif isinstance(node, exp.Query):
        inner = node.copy()
    else:
        inner = exp.select("*").from_(node.copy())
    defined = [
        one.definition.copy()
        for one in env.values()
        if isinstance(one, PublicScope) and one.kind is Kind.PUBLIC and one.definition is not None
    ]
    if defined:
        own = inner.args.get("with_")
        listed = [*defined, *(own.expressions if own is not None else [])]
        inner.set("with_", exp.With(expressions=listed, recursive=True))
    names = {table.name.lower() for table in inner.find_all(exp.Table)}
    tables = {name: table for name, table in catalog.public.items() if name in names}
    count_mondays(inner)
    try:
        with Sandbox(tables) as sandbox:
            return sandbox.run(inner.sql("duckdb"))
    except PostProcessingError as error:
        raise refuse(node, error.cause, error.fix) from None


def with_public_values(node: exp.Expr, around: Scopes, env: Env) -> None:
    """Replace the public sub-queries of an expression over private rows by their values.

    Raises:
        QueryRefused: by `around`, a value cannot be known before a release, or there are too many.
    """
    for inner in with_queries(node):
        if isinstance(inner, exp.In) and inner.args.get("query"):
            table = _rows(inner.args["query"], around, env)
            _see_dates(inner, table, around)
            values = [v for v in table.column(0).unique().to_pylist() if v is not None]
            if len(values) > MOST_VALUES or not values:
                raise around.refuse(inner, f"This sub-query has {len(values):,} values; from 1 to {MOST_VALUES:,} "
                                    "are allowed.", "Join with the public table instead.")  # fmt: skip
            inner.set("query", None)
            inner.set("expressions", [exp.convert(v) for v in values])
        elif isinstance(inner, exp.Subquery):
            private = around.catalog.private
            if isinstance(inner.parent, exp.In | exp.Exists) or any(
                t.name.lower() in private for t in inner.find_all(exp.Table)
            ):
                continue  # a release, or refused where it is read
            table = _rows(inner, around, env)
            if len(table) > 1 or table.num_columns != 1:
                raise around.refuse(
                    inner, "This sub-query is not a single value.", "Add LIMIT 1, or aggregate."
                )
            _see_dates(inner, table, around)
            inner.replace(exp.convert(table.column(0)[0].as_py()) if len(table) else exp.null())


def _see_dates(node: exp.Expr, table: pa.Table, around: Scopes) -> None:
    if any(far.is_far(column) for column in table.itercolumns()):
        raise around.refuse(node, "This sub-query has a date outside the years 1 to 9999.",
                            "Leave it out with a condition.")  # fmt: skip


def _rows(query: exp.Expr, around: Scopes, env: Env) -> pa.Table:
    return around.evaluate(around.subquery(query.copy(), env), env)
