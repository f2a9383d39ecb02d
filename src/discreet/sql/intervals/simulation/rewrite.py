"""Rewrites post-processing so that it runs on many draws of the noise at once.

Every noisy table gets a column `__draw`, and the rewritten statement computes for each draw the result that the
original computes once: groups, windows, joins, limits and sub-queries stay within a draw. The intervals of the answer
are then percentiles over the draws.

At the outermost level filters on noisy values, ORDER BY and LIMIT are dropped: they decide which rows are
shown, and the interval is that of the value of a row, shown or not.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from discreet.records import dataclass
from discreet.sql.intervals.simulation.parts import (
    DRAW,
    DRAWS_TABLE,
    CannotRewriteError,
    Output,
    Outputs,
    each_draw,
    named,
    number_limit,
    numbered_side,
)
from discreet.sql.syntax.nodes import is_aggregate, with_queries
from discreet.sql.syntax.parse import output_name


@dataclass(frozen=True)
class Rewritten:
    """A statement over draws.

    Attributes:
        sql: yields `__draw` and the columns of the original.
        outputs: those columns.
    """

    sql: str
    outputs: Outputs


def rewrite(post: exp.Query, noisy: Mapping[str, Outputs], public: Mapping[str, Outputs]) -> Rewritten:
    """Rewrite a statement to run on all draws.

    Args:
        post: the statement.
        noisy: the noisy tables it reads, which will have a column `__draw`.
        public: the public tables it may read.

    Raises:
        CannotRewriteError: it has a form that is not rewritten, or would be nested too deeply.
    """
    tables: dict[str, tuple[Outputs, bool]] = {name.lower(): (shape, False) for name, shape in public.items()}
    tables.update({name.lower(): (shape, True) for name, shape in noisy.items()})
    node = post.copy()
    try:
        scope = _Scope(node, tables, top=True)
        if not scope.has_draws:
            raise CannotRewriteError
        return Rewritten(scope.node.sql("duckdb"), scope.outputs)
    except RecursionError:  # each side of a UNION ALL stands in one more sub-query
        raise CannotRewriteError from None


def _names_columns(node: exp.Expr) -> bool:
    """Whether an expression is one of several columns, which its source alone knows: COLUMNS, or * SIMILAR TO 'a|b'."""
    return isinstance(node, exp.Columns) or not isinstance(node.parent, exp.Count)


class _Scope:
    """One query, rewritten in place when it depends on the noise."""

    def __init__(self, node: exp.Expr, tables: Mapping[str, tuple[Outputs, bool]], top: bool = False) -> None:
        self.outputs: Outputs
        self.has_draws: bool
        self.tables = dict(tables)
        self.top = top
        self.node = node
        clause = node.args.get("with_")
        if clause is not None:
            if clause.recursive:
                raise CannotRewriteError
            for cte in clause.expressions:
                if cte.args["alias"].args.get("columns"):
                    raise CannotRewriteError
                inner = _Scope(cte.this, self.tables)
                cte.set("this", inner.node)
                self.tables[cte.alias.lower()] = (inner.outputs, inner.has_draws)
        if isinstance(node, exp.Select):
            self.outputs, self.has_draws = self._select(node)
        elif isinstance(node, exp.SetOperation):
            self.outputs, self.has_draws = self._set_operation(node)
        elif isinstance(node, exp.Subquery):
            self.outputs, self.has_draws = self._subquery(node)
        elif isinstance(node, exp.Values):
            columns = node.args["alias"].columns if node.args.get("alias") else []
            self.outputs, self.has_draws = tuple(Output(c.name, False) for c in columns), False
        else:
            raise CannotRewriteError

    def _subquery(self, node: exp.Subquery) -> tuple[Outputs, bool]:
        inner = _Scope(node.this, self.tables, self.top)
        node.set("this", inner.node)
        if inner.has_draws:
            if not self.top and node.args.get("limit") is not None:
                raise CannotRewriteError
            for part in ("order", "limit", "offset"):
                node.set(part, None)
        return inner.outputs, inner.has_draws

    def _set_operation(self, node: exp.SetOperation) -> tuple[Outputs, bool]:
        sides = {side: _Scope(node.args[side], self.tables) for side in ("this", "expression")}
        has_draws = any(scope.has_draws for scope in sides.values())
        if has_draws:
            if node.args.get("limit") is not None and not self.top:
                raise CannotRewriteError
            for part in ("order", "limit", "offset"):
                node.set(part, None)
            for side, scope in sides.items():
                # A draw number in front of the columns keeps both sides in step, as set operations go by place.
                node.set(side, numbered_side(scope.node, scope.outputs, scope.has_draws))
            wrapped = exp.select("*").from_(named(node, "__u"))
            clause = wrapped.find(exp.SetOperation)
            assert clause is not None
            if clause.args.get("with_") is not None:
                wrapped.set("with_", clause.args["with_"].copy())
                clause.set("with_", None)
            self.node = wrapped
        left, right = (sides[s].outputs for s in ("this", "expression"))
        if len(left) != len(right):
            raise CannotRewriteError
        # Which side a row comes from is not known to the reader, so every column may be noisy by its place.
        return tuple(Output(a.name, a.noisy or b.noisy) for a, b in zip(left, right, strict=True)), has_draws

    # SELECT ------------------------------------------------------------------------------------------------

    def _select(self, node: exp.Select) -> tuple[Outputs, bool]:
        clause = node.args.get("from_")
        joins = node.args.get("joins") or []
        holders = ([clause] if clause is not None else []) + joins
        for index, holder in enumerate(holders):
            if isinstance(holder.this, exp.Subquery) and not holder.this.alias:
                holder.this.set("alias", exp.TableAlias(this=exp.to_identifier(f"__from{index}")))
        sources = [self._source(h) for h in holders]
        self.sources = {name: (shape, has_draws) for name, shape, has_draws in sources}
        # The columns of USING are one column each, that of the first source.
        merged = {
            name: {column.name.lower() for column in holder.args.get("using") or []}
            for (name, _, _), holder in zip(sources, holders, strict=True)
        }
        self.own = {
            name: tuple(output for output in shape if output.name.lower() not in merged[name])
            for name, shape, _ in sources
        }
        names_with_draws = [name for name, _, has_draws in sources if has_draws]
        subquery_draws = self._subqueries(node)
        if not names_with_draws and not subquery_draws:
            return self._outputs(node, noisy=False), False
        if not names_with_draws:
            join = exp.Join(this=exp.to_table(DRAWS_TABLE))
            if clause is None:
                node.set("from_", exp.From(this=exp.to_table(DRAWS_TABLE)))
            else:
                node.append("joins", join)
            names_with_draws = [DRAWS_TABLE]
            holders, sources = [], []
        draw = exp.column(DRAW, table=exp.to_identifier(names_with_draws[0]))
        self._correlate(draw)
        self._join_on_draw(holders, sources, draw)
        alone = self._within_draw(node, draw)
        outputs = self._outputs(node, noisy=True)
        self._limit(node, draw, alone)
        if alone:
            self.node = each_draw(node, outputs, draw)
        else:
            self._project(node, draw)
        return outputs, True

    def _source(self, holder: exp.Expr) -> tuple[str, Outputs, bool]:
        source = holder.this
        name = source.alias_or_name.lower()
        alias = source.args.get("alias")
        renamed = isinstance(alias, exp.TableAlias) and alias.columns and not isinstance(source, exp.Values)
        if source.args.get("joins") or renamed:
            raise CannotRewriteError
        if isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier):
            known = self.tables.get(source.name.lower())
            if known is None:
                raise CannotRewriteError
            return name, *known
        if isinstance(source, exp.Subquery):
            inner = _Scope(source, self.tables)
            return name, inner.outputs, inner.has_draws
        if isinstance(source, exp.Values):
            return name, _Scope(source, self.tables).outputs, False
        raise CannotRewriteError

    def _subqueries(self, node: exp.Select) -> bool:
        """Rewrite the sub-queries inside expressions; whether any depends on the noise."""
        self.correlated: list[tuple[exp.Expr, _Scope]] = []
        for key in ("expressions", "where", "having", "qualify", "order", "group"):
            value = node.args.get(key)
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, exp.Expr):
                    for query in _inner_queries(child):
                        scope = _Scope(query, self.tables)
                        if scope.node is not query:
                            query.replace(scope.node)
                        if scope.has_draws:
                            self.correlated.append((scope.node, scope))
        return bool(self.correlated)

    def _correlate(self, draw: exp.Column) -> None:
        for query, scope in self.correlated:
            inner = query.this if isinstance(query, exp.Subquery) else query
            name = f"__s{len(scope.outputs)}"
            columns = [exp.column(exp.to_identifier(o.name, quoted=True), table=name) for o in scope.outputs]
            wrapped = (
                exp.select(*columns)
                .from_(named(inner, name))
                .where(exp.EQ(this=exp.column(DRAW, table=name), expression=draw.copy()))
            )
            if isinstance(query, exp.Subquery):
                new: exp.Expr = exp.paren(wrapped)
                query.replace(exp.alias_(new, query.alias, quoted=True) if query.alias else new)
            else:
                query.replace(wrapped)

    def _join_on_draw(
        self, holders: list[exp.Expr], sources: list[tuple[str, Outputs, bool]], draw: exp.Column
    ) -> None:
        if not holders:
            return
        outer = any(h.args.get("side") for h in holders)
        if any(h.args.get("side") in ("RIGHT", "FULL") for h in holders):
            raise CannotRewriteError  # a row without a partner on the left would be of no draw
        for holder, (name, _, has_draws) in zip(holders, sources, strict=True):
            if not has_draws and not outer:
                continue  # an inner join with a public table: the same in every draw
            if not has_draws:
                lifted = (
                    exp.select("*")
                    .from_(holder.this.copy())
                    .join(exp.to_table(DRAWS_TABLE), join_type="cross")
                )
                holder.set("this", named(lifted, name))
            own = exp.column(DRAW, table=exp.to_identifier(name))
            if holder is holders[0]:
                if not has_draws and isinstance(holder, exp.From):
                    draw.set("table", exp.to_identifier(name))
                continue
            if own == draw:
                continue
            same = exp.EQ(this=own, expression=draw.copy())
            if holder.args.get("using"):
                holder.append("using", exp.to_identifier(DRAW))
                continue
            on = holder.args.get("on")
            if on is None and (holder.args.get("side") or holder.args.get("method")):
                raise CannotRewriteError
            holder.set("kind", None if holder.args.get("kind") == "CROSS" else holder.args.get("kind"))
            holder.set("on", same if on is None else exp.and_(on, same))

    def _within_draw(self, node: exp.Select, draw: exp.Column) -> bool:
        """Keep groups and windows within a draw; whether a draw is one group, which needs no rows to be there."""
        group = node.args.get("group")
        aggregated = any(
            isinstance(n, exp.AggFunc) and is_aggregate(n)
            for e in [*node.expressions, *(node.args.get(k) for k in ("having", "qualify", "order"))]
            if e is not None
            for n in with_queries(e)
        )
        if group is not None and not group.args.get("all"):
            group.append("expressions", draw.copy())
        if node.args.get("windows"):
            raise CannotRewriteError
        if group is None and aggregated:
            return True
        for key in ("expressions", "qualify", "order"):
            value = node.args.get(key)
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, exp.Expr):
                    for window in [n for n in with_queries(child) if isinstance(n, exp.Window)]:
                        window.append("partition_by", draw.copy())
        distinct = node.args.get("distinct")
        if distinct is not None and distinct.args.get("on") is not None:
            raise CannotRewriteError
        return False

    def _outputs(self, node: exp.Select, noisy: bool) -> Outputs:
        out: list[Output] = []
        for item in node.expressions:
            if not item.is_star and any(
                _names_columns(part) for part in item.find_all(exp.Columns, exp.Star)
            ):
                raise CannotRewriteError
            if item.is_star:
                star = item.this if isinstance(item, exp.Column) else item
                if star.args.get("replace") or star.args.get("rename") or star.args.get("except_"):
                    raise CannotRewriteError
                wanted = item.table.lower() if isinstance(item, exp.Column) else None
                for name, (shape, _) in self.sources.items():
                    if wanted in (None, name):
                        out += self.own[name] if wanted is None else shape
                continue
            out.append(Output(output_name(item), noisy and self._is_noisy(item)))
        if len({o.name.lower() for o in out}) != len(out):
            raise CannotRewriteError
        return tuple(out)

    def _is_noisy(self, node: exp.Expr) -> bool:
        for inner in with_queries(node):
            if isinstance(inner, exp.AggFunc | exp.Window | exp.Query):
                return True
            if isinstance(inner, exp.Column) and self._noisy_column(inner):
                return True
        return False

    def _noisy_column(self, column: exp.Column) -> bool:
        if column.name == DRAW:
            return False
        for name, (shape, _) in self.sources.items():
            if column.table and column.table.lower() != name:
                continue
            for output in shape:
                if output.name.lower() == column.name.lower():
                    return output.noisy
        return True  # an alias, or something not understood

    def _limit(self, node: exp.Select, draw: exp.Column, alone: bool) -> None:
        limit, offset, order = (node.args.get(k) for k in ("limit", "offset", "order"))
        if self.top:
            windows = any(isinstance(n, exp.Window) for e in node.expressions for n in with_queries(e))
            together = windows or node.args.get("group") is not None or alone
            for key, needed in (("where", together), ("having", windows)):
                # A filter before a sum decides more than which rows are shown.
                clause = node.args.get(key)
                if clause is not None and not needed:
                    kept = [c for c in clause.this.flatten() if not self._is_noisy(c)] if isinstance(
                        clause.this, exp.And) else ([] if self._is_noisy(clause.this) else [clause.this])  # fmt: skip
                    node.set(key, type(clause)(this=exp.and_(*kept)) if kept else None)
            node.set("qualify", None)
        elif limit is not None or offset is not None:
            number_limit(node, limit, offset, order, draw)
        for part in ("order", "limit", "offset"):
            node.set(part, None)

    def _project(self, node: exp.Select, draw: exp.Column) -> None:
        items: list[exp.Expr] = []
        for item in node.expressions:
            table = item.table.lower() if isinstance(item, exp.Column) and item.is_star else None
            has_draws = [name for name, (_, d) in self.sources.items() if d and table in (None, name)]
            if item.is_star and has_draws:
                star = item.this if isinstance(item, exp.Column) else item
                star.set("except_", [exp.column(DRAW)])
            elif not isinstance(item, exp.Alias | exp.Column):
                item = exp.alias_(item, output_name(item), quoted=True)
            items.append(item)
        node.set("expressions", [*items, exp.alias_(draw.copy(), DRAW)])


def _inner_queries(node: exp.Expr) -> list[exp.Expr]:
    """The sub-queries in an expression, the outermost of each; of one that is a sub-query itself, it alone."""
    if isinstance(node, exp.Query):
        return [node]
    return [n for n in with_queries(node) if isinstance(n, exp.Query)]
