"""A SELECT with windows, or with a LIMIT, as one over another: the inner one joins, filters and groups."""

from __future__ import annotations

from sqlglot import exp

from discreet.sql.intervals.bands.relations import NoBandsError
from discreet.sql.syntax.nodes import has_aggregate, is_aggregate, own_nodes
from discreet.sql.syntax.parse import output_name


def windows_apart(node: exp.Select) -> exp.Select:
    """A SELECT that the bands of windows can be made of.

    Raises:
        NoBandsError: its windows cannot be set apart.
    """
    node = _without_limit(node)
    qualify = node.args.get("qualify")
    clauses = [*node.expressions, *(c for c in [qualify] if c is not None)]
    if not any(isinstance(inner, exp.Window) for clause in clauses for inner in own_nodes(clause)):
        if qualify is not None:
            raise NoBandsError
        return node
    distinct, joins, where = (node.args.get(part) for part in ("distinct", "joins", "where"))
    if distinct is not None or any(item.is_star for item in node.expressions):
        if distinct is not None or joins or where:
            raise NoBandsError
        return node
    group = node.args.get("group")
    grouped = group is not None or any(has_aggregate(clause) for clause in clauses)
    if not grouped and not joins and where is None:
        return node
    if group is not None and group.args.get("all"):
        raise NoBandsError
    lifting = _Lifting(node, grouped)
    outer = exp.Select()
    listed = [
        exp.alias_(lifting.lift(item.unalias().copy()), output_name(item), quoted=True)
        for item in node.expressions
    ]
    outer.set("expressions", listed)
    if qualify is not None:
        outer.set("qualify", exp.Qualify(this=lifting.lift(qualify.this.copy())))
    inner = _inner(node, lifting)
    clause = inner.args.get("with_")
    inner.set("with_", None)
    alias = exp.TableAlias(this=exp.to_identifier("__inner"))
    outer.set("from_", exp.From(this=exp.Subquery(this=inner, alias=alias)))
    if clause is not None:
        outer.set("with_", clause)
    return outer


class _Lifting:
    """Moves columns and aggregates of a SELECT into an inner one, each once.

    Attributes:
        aliases: the expressions behind the names of the SELECT list.
        items: the SELECT list of the inner one.
    """

    def __init__(self, node: exp.Select, grouped: bool) -> None:
        self.grouped = grouped
        self.aliases = {
            item.alias.lower(): item.this for item in node.expressions if isinstance(item, exp.Alias)
        }
        self.items: list[exp.Expr] = []
        self._found: dict[str, str] = {}

    def lift(self, node: exp.Expr) -> exp.Expr:
        """An expression over the inner SELECT."""
        if isinstance(node, exp.Column) or (self.grouped and is_aggregate(node)):
            target = self._named(node)
            return self._taken(node) if target is None else self.lift(target.copy())
        if isinstance(node, exp.Query):
            return node
        for child in list(node.iter_expressions()):
            if not isinstance(child, exp.Identifier | exp.DataType):
                new = self.lift(child)
                if new is not child:
                    child.replace(new)
        return node

    def _named(self, node: exp.Expr) -> exp.Expr | None:
        """The expression behind a name of the SELECT list; None for anything else, and for a column of that name."""
        if not isinstance(node, exp.Column) or node.table or node.name.lower() not in self.aliases:
            return None
        target = self.aliases[node.name.lower()]
        own = any(isinstance(n, exp.Column) and n.name.lower() == node.name.lower() for n in target.walk())
        return None if own else target

    def _taken(self, node: exp.Expr) -> exp.Column:
        text = node.sql("duckdb")
        if text not in self._found:
            self._found[text] = f"__w{len(self._found)}"
            self.items.append(exp.alias_(node.copy(), self._found[text]))
        return exp.column(self._found[text], table="__inner")


def _inner(node: exp.Select, lifting: _Lifting) -> exp.Select:
    """The SELECT that joins, filters and groups, with the lifted expressions as its columns."""
    inner = node.copy()
    group = node.args.get("group")
    for index, key in enumerate([] if group is None else group.expressions):
        place = inner.args["group"].expressions[index]
        if isinstance(key, exp.Literal):
            place.replace(node.expressions[int(key.name) - 1].unalias().copy())
        elif isinstance(key, exp.Column) and not key.table and key.name.lower() in lifting.aliases:
            place.replace(lifting.aliases[key.name.lower()].copy())
    inner.set("expressions", lifting.items)
    inner.set("qualify", None)
    return inner


def _without_limit(node: exp.Select) -> exp.Select:
    """ORDER BY with LIMIT as a condition on the number of a row."""
    limit, offset, order = (node.args.get(part) for part in ("limit", "offset", "order"))
    node = node.copy()
    for part in ("limit", "offset", "order"):
        node.set(part, None)
    if limit is None and offset is None:
        return node
    if order is None or node.args.get("qualify") is not None or node.args.get("distinct") is not None:
        raise NoBandsError
    if not all(bound is None or bound.expression.is_int for bound in (limit, offset)):
        raise NoBandsError
    by = []
    for ordered in order.expressions:
        ordered = ordered.copy()
        if isinstance(ordered.this, exp.Var):
            raise NoBandsError
        if isinstance(ordered.this, exp.Literal):
            ordered.set("this", node.expressions[int(ordered.this.name) - 1].unalias().copy())
        by.append(ordered)
    number = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=by))
    start = 0 if offset is None else int(offset.expression.name)
    tests: list[exp.Expr] = [exp.GT(this=number, expression=exp.Literal.number(start))]
    if limit is not None:
        tests.append(
            exp.LTE(this=number.copy(), expression=exp.Literal.number(start + int(limit.expression.name)))
        )
    node.set("qualify", exp.Qualify(this=exp.and_(*tests)))
    return node


def first_by(node: exp.Select) -> tuple[str, bool] | None:
    """The column that orders the rows of which a SELECT shows the first, and whether the greatest come first."""
    limit, order = node.args.get("limit"), node.args.get("order")
    if limit is None or order is None or len(order.expressions) != 1 or node.args.get("offset") is not None:
        return None
    (ordered,) = order.expressions
    if ordered.args.get("nulls_first") or node.args.get("qualify") is not None:
        return None
    by = ordered.this
    named = by.name.lower() if isinstance(by, exp.Column) and not by.table else None
    names = [item.alias_or_name.lower() for item in node.expressions]
    own = [name for name, item in zip(names, node.expressions, strict=True) if item.unalias() == by]
    found = [named] if named in names else own  # a name of the SELECT list goes before a column
    return (found[0], bool(ordered.args.get("desc"))) if found and found[0] else None
