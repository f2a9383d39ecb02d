"""Parts of a statement over draws: columns, sides of set operations, limits, and aggregates over everything."""

from __future__ import annotations

from sqlglot import exp

from discreet.records import dataclass
from discreet.sql.syntax.parse import output_name

DRAW = "__draw"


DRAWS_TABLE = "__draws"


EACH = "__each"


class CannotRewriteError(Exception):
    """This statement has a form that is not rewritten; its answer has no intervals from draws."""


@dataclass(frozen=True)
class Output:
    """A column of a scope.

    Attributes:
        name: its name.
        noisy: whether the noise can change it.
    """

    name: str
    noisy: bool


Outputs = tuple[Output, ...]
"""The columns of a scope, without `__draw`."""


def number_limit(
    node: exp.Select,
    limit: exp.Expr | None,
    offset: exp.Expr | None,
    order: exp.Expr | None,
    draw: exp.Column,
) -> None:
    """A LIMIT within each draw: a condition on the number of a row."""
    if node.args.get("qualify") is not None or node.args.get("distinct") is not None or order is None:
        raise CannotRewriteError
    aliases = {i.alias.lower(): i.this for i in node.expressions if isinstance(i, exp.Alias)}
    by = []
    for ordered in order.expressions:
        target = ordered.this
        if isinstance(target, exp.Var):
            raise CannotRewriteError
        if isinstance(target, exp.Literal):
            target = node.expressions[int(target.name) - 1].unalias()
        elif isinstance(target, exp.Column) and not target.table:
            target = aliases.get(target.name.lower(), target)
        copy = ordered.copy()
        copy.set("this", target.copy())
        by.append(copy)
    number = exp.Window(this=exp.RowNumber(), partition_by=[draw.copy()], order=exp.Order(expressions=by))
    start = offset.expression.copy() if offset is not None else exp.Literal.number(0)
    tests: list[exp.Expr] = [exp.GT(this=number, expression=start)]
    if limit is not None:
        tests.append(exp.LTE(this=number.copy(), expression=exp.Add(this=limit.expression.copy(),
                                                                   expression=start.copy())))  # fmt: skip
    node.set("qualify", exp.Qualify(this=exp.and_(*tests)))


def numbered_side(node: exp.Expr, outputs: Outputs, has_draws: bool) -> exp.Expr:
    """One side of a set operation with `__draw` in front, crossed with all draws when it does not depend on them."""
    columns: list[exp.Expr] = [exp.column(exp.to_identifier(o.name, quoted=True)) for o in outputs]
    inner = node.this if isinstance(node, exp.Subquery) else node
    out = exp.select(exp.column(DRAW), *columns).from_(named(inner, "__side"))
    return out if has_draws else out.join(exp.to_table(DRAWS_TABLE), join_type="cross")


def each_draw(node: exp.Select, outputs: Outputs, draw: exp.Column) -> exp.Select:
    """An aggregate over everything, once for each draw: a draw without rows has a count of zero, not none."""
    for index, item in enumerate(node.expressions):
        if not isinstance(item, exp.Alias):
            node.expressions[index].replace(exp.alias_(item.copy(), output_name(item), quoted=True))
    clause = node.args.get("with_")
    node.set("with_", None)
    inner = node.where(exp.EQ(this=draw.copy(), expression=exp.column(DRAW, table=EACH)))
    lateral = exp.Lateral(
        this=exp.Subquery(this=inner), alias=exp.TableAlias(this=exp.to_identifier(f"{EACH}_row"))
    )
    columns = [exp.column(exp.to_identifier(o.name, quoted=True), table=f"{EACH}_row") for o in outputs]
    out = exp.select(*columns, exp.column(DRAW, table=EACH)).from_(
        exp.alias_(exp.to_table(DRAWS_TABLE), EACH, table=True)
    )
    out.append("joins", exp.Join(this=lateral))
    if clause is not None:
        out.set("with_", clause)
    return out


def named(query: exp.Expr, name: str) -> exp.Subquery:
    """A query as a source with a name."""
    return exp.Subquery(this=query.copy(), alias=exp.TableAlias(this=exp.to_identifier(name)))
