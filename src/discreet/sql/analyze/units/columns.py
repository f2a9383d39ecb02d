"""Columns that stand for results per unit, in the expressions that read them."""

from __future__ import annotations

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
