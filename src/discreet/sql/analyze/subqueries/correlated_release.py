"""A number of private rows for each row of a public table, as one release with a group for each.

    FROM partsupp WHERE ps_availqty > (SELECT 0.5 * SUM(l_quantity) FROM lineitem WHERE l_partkey = ps_partkey)

asks for one sum for each part. It is the look-up of the part among the sums of all parts:

    (SELECT value FROM (SELECT l_partkey AS key, 0.5 * SUM(l_quantity) AS value FROM lineitem GROUP BY l_partkey)
     WHERE key = ps_partkey)

The groups must be public, as those of any release; the look-up is post-processing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from sqlglot import exp

from discreet.records import dataclass
from discreet.sql.syntax.nodes import conjunct_nodes, has_aggregate, path_of

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
    found = compared(query, names_of) if is_one_number(query) else None
    return None if found is None else _looked_up(found)


def is_one_number(query: exp.Expr) -> bool:
    """Whether a query is one aggregate of all rows that it reads."""
    return isinstance(query, exp.Select) and len(query.selects) == 1 and has_aggregate(query.selects[0])


@dataclass(frozen=True)
class Compared:
    """A sub-query that sets columns of its own equal to columns around it.

    Attributes:
        query: the sub-query.
        kept: its other conditions.
        pairs: a column of its own and one around it, which are equal.
    """

    query: exp.Select
    kept: tuple[exp.Expr, ...]
    pairs: tuple[tuple[exp.Column, exp.Column], ...]

    def grouped(self, items: Mapping[str, exp.Expr]) -> exp.Select:
        """The sub-query by itself, with a group for each value of its columns that are compared.

        Args:
            items: its columns behind those, `__key_0` and so on, by name.
        """
        out = self.query.copy()
        keys = [exp.alias_(mine.copy(), f"{KEY}{index}") for index, (mine, _) in enumerate(self.pairs)]
        out.set("expressions", [*keys, *(exp.alias_(item.copy(), name) for name, item in items.items())])
        kept = [node.copy() for node in self.kept]
        out.set("where", exp.Where(this=exp.and_(*kept)) if kept else None)
        out.set("group", exp.Group(expressions=[mine.copy() for mine, _ in self.pairs]))
        return out


def compared(query: exp.Expr, names_of: Names) -> Compared | None:
    """A sub-query taken apart; None where it depends on no row around it, or in another way."""
    if not isinstance(query, exp.Select) or query.args.get("from_") is None:
        return None
    if any(value for part, value in query.args.items() if part not in READ):
        return None
    query = _in_where(query)
    if query.args.get("where") is None:
        return None
    sources = [query.args["from_"].this, *(join.this for join in query.args.get("joins") or [])]
    tables = {source.alias_or_name.lower() for source in sources}
    listed = [names_of(source) for source in sources]
    if any(names is None for names in listed):
        return None
    known = {name for names in listed if names is not None for name in names}

    def own(column: exp.Column) -> bool:
        path = path_of(column)
        return (len(path) > 1 and path[0] in tables) or ".".join(path) in known

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
    return Compared(query, tuple(kept), tuple(pairs)) if pairs else None


def _in_where(query: exp.Select) -> exp.Select:
    """The same with the conditions of its inner joins in WHERE, among which those on the rows around it may stand."""
    joins = query.args.get("joins") or []
    if any(join.args.get(part) for join in joins for part in ("side", "using", "method")) or any(
        join.kind not in ("", "INNER", "CROSS") for join in joins
    ):
        return query
    found = [join.args["on"] for join in joins if join.args.get("on") is not None]
    if not found:
        return query
    where = query.args.get("where")
    out = query.copy()
    for join in out.args["joins"]:
        join.set("on", None)
        join.set("kind", None)
    conditions = [*found, *([] if where is None else [where.this])]
    out.set("where", exp.Where(this=exp.and_(*(condition.copy() for condition in conditions))))
    return out


def _looked_up(asked: Compared) -> exp.Select:
    item = asked.query.selects[0].unalias()
    same = [
        exp.EQ(this=exp.column(f"{KEY}{index}", table=GROUPED), expression=other.copy())
        for index, (_, other) in enumerate(asked.pairs)
    ]
    value: exp.Expr = exp.column(VALUE, table=GROUPED)
    if isinstance(item, exp.Count):  # of no rows there are none
        value = exp.Coalesce(this=exp.Max(this=value), expressions=[exp.Literal.number(0)])
    out = exp.Select(expressions=[value])
    grouped = exp.Subquery(
        this=asked.grouped({VALUE: item}), alias=exp.TableAlias(this=exp.to_identifier(GROUPED))
    )
    out.set("from_", exp.From(this=grouped))
    out.set("where", exp.Where(this=exp.and_(*same)))
    return out
