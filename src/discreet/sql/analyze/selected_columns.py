"""COLUMNS(…) in a SELECT list: the same expression of several columns, each a column of the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.sql.functions import patterns
from discreet.sql.syntax.nodes import holds
from discreet.sql.syntax.parse import output_name
from discreet.sql.syntax.select_lists import name_apart

FIX = "Write COLUMNS(['a', 'b']), COLUMNS('a|b') or COLUMNS(* EXCLUDE (c)), or the columns one by one."
Refuse = Callable[[exp.Expr, str, str], QueryRefused]


def written_out(node: exp.Select, names: Sequence[str], refuse: Refuse) -> exp.Select:
    """A SELECT without COLUMNS.

    Args:
        node: the SELECT.
        names: the columns of its rows.
        refuse: makes the refusal of a node, with cause and fix.

    Raises:
        QueryRefused: by `refuse`, it is written in another way, or names nothing.

    Example:
        >>> import sqlglot
        >>> query = sqlglot.parse_one("SELECT AVG(COLUMNS('a|b')) FROM t", read="duckdb")
        >>> written_out(query, ["a", "b", "c"], lambda node, cause, fix: QueryRefused(cause, fix)).sql("duckdb")
        'SELECT AVG(a) AS a, AVG(b) AS b FROM t'
    """
    if not any(holds(item, exp.Columns) for item in node.expressions):
        return node
    items: list[exp.Expr] = []
    for item in node.expressions:
        asked = list(item.find_all(exp.Columns))
        if not asked:
            items.append(item)
            continue
        listed = [_named(expression, names, refuse) for expression in asked]
        if any(columns != listed[0] for columns in listed):
            raise refuse(item, "The COLUMNS of one expression name different columns.", FIX)
        for name in listed[0]:
            column = exp.column(exp.to_identifier(name, quoted=not name.isidentifier()))
            made = item.unalias().copy()
            if isinstance(made, exp.Columns):
                made = column
            for inner in list(made.find_all(exp.Columns)):
                inner.replace(column.copy())
            items.append(
                exp.alias_(made, exp.to_identifier(item.alias or name, quoted=not name.isidentifier()))
            )
    out = node.copy()
    out.set("expressions", items)
    name_apart(out, output_name)
    return out


def _named(node: exp.Columns, names: Sequence[str], refuse: Refuse) -> list[str]:
    """The columns that one COLUMNS names, in the order of the table."""
    said = node.this
    star = said.this if isinstance(said, exp.Column) else said
    found: list[str] = []
    if isinstance(said, exp.Array) and all(isinstance(literal, exp.Literal) for literal in said.expressions):
        wanted, known = (
            {literal.name.lower() for literal in said.expressions},
            {name.lower() for name in names},
        )
        found = [name for name in names if name.lower() in wanted]
        strange = next((literal for literal in said.expressions if literal.name.lower() not in known), None)
        if strange is not None:
            raise refuse(node, f"There is no column {strange.name}.", f"The columns are {', '.join(names)}.")
    elif isinstance(said, exp.Literal) and said.is_string and not patterns.problem(said.name):
        found = patterns.matching(said.name, names)
    elif isinstance(star, exp.Star) and not star.args.get("replace") and not star.args.get("rename"):
        left_out = {column.name.lower() for column in star.args.get("except_") or []}
        found = [name for name in names if name.lower() not in left_out]
    else:
        raise refuse(node, "These COLUMNS cannot be read.", FIX)
    if not found:
        raise refuse(node, "These COLUMNS name no column.", f"The columns are {', '.join(names)}.")
    return found


__all__ = ["written_out"]
