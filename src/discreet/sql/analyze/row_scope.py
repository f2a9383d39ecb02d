"""A scope of rows: private rows filtered and projected, each of which still belongs to its unit."""

from __future__ import annotations

from sqlglot import exp

from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.relation import PrivateRows
from discreet.sql.analyze.binding.opaque_columns import about_column
from discreet.sql.analyze.from_clause import FromClause
from discreet.sql.analyze.scope_tree import WHOLE, Refuse
from discreet.sql.analyze.set_operations import distinct
from discreet.sql.analyze.units.windows import windowed
from discreet.sql.expressions.expression import Expression
from discreet.sql.syntax.nodes import has_window, unaliased
from discreet.sql.syntax.parse import output_name


def rows_of(node: exp.Select, from_clause: FromClause, refuse: Refuse) -> PrivateRows:
    """The rows of a SELECT without aggregates.

    Args:
        node: the SELECT.
        from_clause: the rows of FROM that WHERE leaves.
        refuse: makes refusals.

    Raises:
        QueryRefused: by `refuse`, it would show rows, or merge those of several units.
    """
    for part in ("limit", "offset"):
        if node.args.get(part) is not None and not node.meta.get(WHOLE):
            raise refuse(node.args[part], f"{part.upper()} over private rows would keep arbitrary ones.",
                         "Remove it: no rows are shown, only aggregates of them, such as COUNT(*), above "
                         "which it may stand.")  # fmt: skip
    items = list(node.expressions)
    qualify = node.args.get("qualify")
    within = from_clause
    if qualify is not None or any(has_window(item) for item in items):
        within, items, qualify = windowed(refuse, from_clause, from_clause.binder(), items, qualify)
    binder = within.binder()
    listed: list[tuple[str, Expression]] = []
    for item, original in zip(items, node.expressions, strict=True):
        if item.is_star:
            listed += _star(item, from_clause, refuse)
        else:
            carried, name = binder.carried(unaliased(item)), output_name(original)
            listed.append((name, carried))
            listed += [
                (f"{name}.{path}", column) for path, column in from_clause.fields(unaliased(item)).items()
            ]
    seen: set[str] = set()
    for name, _ in listed:
        if name.lower() in seen:
            raise refuse(node.expressions[0], f"Two columns are named {name}.",
                         "Give one of them another name with AS.")  # fmt: skip
        seen.add(name.lower())
    where = None if qualify is None else binder.condition(qualify.this)
    rows = within.rows if where is None else rel.select(within.rows, None, where)
    projected = within.projected(rows, listed)
    return projected if node.args.get("distinct") is None else _distinct(node, from_clause, projected, refuse)


def _distinct(node: exp.Select, from_clause: FromClause, plain: PrivateRows, refuse: Refuse) -> PrivateRows:
    if node.args["distinct"].args.get("on") is not None:
        raise refuse(
            node,
            "DISTINCT ON over private rows is not supported.",
            f"Write QUALIFY row_number() OVER (PARTITION BY {from_clause.unit} ORDER BY …) = 1.",
        )
    if not plain.per_unit or not plain.units:
        raise refuse(node, "DISTINCT would merge rows of different units.",
                     "Select the privacy unit, too.")  # fmt: skip
    for name, column in plain.columns.items():
        if not column.type.single:
            raise refuse(node, *about_column(plain.relation, column, name))
    return distinct(plain)


def _star(item: exp.Expr, from_clause: FromClause, refuse: Refuse) -> list[tuple[str, Expression]]:
    star = item.this if isinstance(item, exp.Column) else item
    if star.args.get("replace") or star.args.get("rename"):
        raise refuse(item, "REPLACE and RENAME of * are not supported here.", "List the columns.")
    left_out = {c.name.lower() for c in star.args.get("except_") or []}
    wanted = item.table if isinstance(item, exp.Column) else ""
    if wanted:
        table = from_clause.tables.get(wanted.lower())
        if table is None:
            raise refuse(item, f"There is no table {wanted} here.",
                         f"The tables are {', '.join(from_clause.tables)}.")  # fmt: skip
        return [(n, c) for n, c in table.items() if n not in left_out]
    rows = from_clause.rows
    return [(n, rows.columns[n.lower()]) for n in rows.names if n.lower() not in left_out]
