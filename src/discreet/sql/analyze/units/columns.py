"""Columns that stand for results per unit, in the expressions that read them."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

HERE = "__per_unit"
"""The table name of results per unit, in rewritten expressions."""


def placed(node: exp.Expr, name: str) -> exp.Column:
    """A column that stands for something computed, and remembers its place in the query."""
    column = exp.column(name, table=HERE)
    first = next((n.meta for n in node.walk() if "start" in n.meta), None)
    if first is not None:
        column.this.meta.update(first)
    return column


def copied(node: exp.Expr, f: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """A node with something else in the place of each of its parts; types and names stay."""
    out = node.copy()
    for name, value in node.args.items():
        if isinstance(value, list):
            out.set(name, [f(v) if isinstance(v, exp.Expr) else v for v in value])
        elif isinstance(value, exp.Expr) and not isinstance(value, exp.DataType | exp.Identifier | exp.Var):
            out.set(name, f(value))
    return out
