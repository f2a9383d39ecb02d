"""A number of private rows for each row of a public table, as one release with a group for each.

    FROM partsupp WHERE ps_availqty > (SELECT 0.5 * SUM(l_quantity) FROM lineitem WHERE l_partkey = ps_partkey)

asks for one sum for each part. It is the look-up of the part among the sums of all parts:

    (SELECT value FROM (SELECT l_partkey AS key, 0.5 * SUM(l_quantity) AS value FROM lineitem GROUP BY l_partkey)
     WHERE key = ps_partkey)

The groups must be public, as those of any release; the look-up is post-processing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from sqlglot import exp

from discreet.sql.syntax.nodes import conjunct_nodes, has_aggregate

KEY, VALUE, GROUPED = "__key_", "__value", "__grouped"
READ = frozenset({"expressions", "from_", "joins", "where", "kind", "hint"})
"""The parts that such a sub-query may have."""
Names = Callable[[exp.Expr], Collection[str] | None]
"""The columns of a source, in lower case; None where they are not known."""


def by_keys(query: exp.Expr, names_of: Names) -> exp.Select | None:
    """The look-up that a sub-query stands for; None where it depends on no row around it, or in another way.

    Args:
        query: a sub-query in an expression over public tables, which reads private rows.
        names_of: the columns of a source of it.
    """
    if (
        not isinstance(query, exp.Select)
        or query.args.get("from_") is None
        or query.args.get("where") is None
    ):
        return None
    if len(query.expressions) != 1 or not has_aggregate(query.expressions[0]):
        return None
    if any(value for part, value in query.args.items() if part not in READ):
        return None
    sources = [query.args["from_"].this, *(join.this for join in query.args.get("joins") or [])]
    tables = {source.alias_or_name.lower() for source in sources}
    listed = [names_of(source) for source in sources]
    if any(names is None for names in listed):
        return None
    known = {name for names in listed if names is not None for name in names}

    def own(column: exp.Column) -> bool:
        return column.table.lower() in tables if column.table else column.name.lower() in known

    kept: list[exp.Expr] = []
    pairs: list[tuple[exp.Column, exp.Column]] = []
    for node in conjunct_nodes(query.args["where"].this):
        if all(own(column) for column in node.find_all(exp.Column)):
            kept.append(node)
            continue
        sides = [node.this, node.expression] if isinstance(node, exp.EQ) else []
        mine = [side for side in sides if isinstance(side, exp.Column) and own(side)]
        others = [side for side in sides if isinstance(side, exp.Column) and not own(side)]
        if len(mine) != 1 or len(others) != 1:
            return None
        pairs.append((mine[0], others[0]))
    return _looked_up(query, kept, pairs) if pairs else None


def _looked_up(
    query: exp.Select, kept: list[exp.Expr], pairs: list[tuple[exp.Column, exp.Column]]
) -> exp.Select:
    item = query.expressions[0].unalias()
    grouped = query.copy()
    keys = [exp.alias_(mine.copy(), f"{KEY}{at}") for at, (mine, _) in enumerate(pairs)]
    grouped.set("expressions", [*keys, exp.alias_(item.copy(), VALUE)])
    grouped.set("where", exp.Where(this=exp.and_(*(node.copy() for node in kept))) if kept else None)
    grouped.set("group", exp.Group(expressions=[mine.copy() for mine, _ in pairs]))
    same = [
        exp.EQ(this=exp.column(f"{KEY}{at}", table=GROUPED), expression=other.copy())
        for at, (_, other) in enumerate(pairs)
    ]
    value: exp.Expr = exp.column(VALUE, table=GROUPED)
    if isinstance(item, exp.Count):  # of no rows there are none
        value = exp.Coalesce(this=exp.Max(this=value), expressions=[exp.Literal.number(0)])
    out = exp.Select(expressions=[value])
    out.set(
        "from_",
        exp.From(this=exp.Subquery(this=grouped, alias=exp.TableAlias(this=exp.to_identifier(GROUPED)))),
    )
    out.set("where", exp.Where(this=exp.and_(*same)))
    return out
