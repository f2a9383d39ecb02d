"""The identity of a row above the noise: which groups it was made of, for any noise.

Each SELECT gets hidden columns: the numbers of the groups that a row comes from, or the public keys that it is grouped
by. They go through CTEs, sub-queries, joins and UNION ALL, so that the row of an answer and the row of a draw are the
same exactly when their hidden columns are, however they look. Where no hidden columns can do it (DISTINCT over noisy
numbers, INTERSECT, EXCEPT, groups that the noise forms), nothing tells which row of a draw a row of the answer is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from sqlglot import exp

from discreet.release.noisy_schema import CELL, ID, key_number
from discreet.sql.intervals.query_parts import (
    NoIdentityError,
    having_of,
    inner_query,
    own_clauses,
    rename_columns,
    union_sides,
    without_parentheses,
)
from discreet.sql.plan.plan import QueryPlan
from discreet.sql.syntax.nodes import has_aggregate, tables_in
from discreet.sql.syntax.once import once
from discreet.sql.syntax.parse import output_name

if TYPE_CHECKING:
    import pyarrow as pa


MOST_COLUMNS = 256
"""How many hidden columns a query may get; one that is joined with itself again and again doubles them each time."""
_BENDING = (
    exp.Max, exp.Min, exp.ArgMax, exp.ArgMin, exp.Abs, exp.Greatest, exp.Least, exp.Rank, exp.DenseRank, exp.RowNumber,
    exp.Ntile, exp.PercentRank, exp.CumeDist, exp.Median, exp.PercentileCont, exp.PercentileDisc, exp.Quantile,
    exp.Mode, exp.Distinct, exp.Having, exp.Qualify, exp.Case, exp.If, exp.Filter, exp.Except, exp.Intersect, exp.Sign,
    exp.Where, exp.Limit, exp.Predicate, exp.Anonymous, exp.AnonymousAggFunc, exp.Window, exp.Stddev, exp.StddevPop,
    exp.StddevSamp, exp.Variance, exp.VariancePop, exp.Corr, exp.CovarPop, exp.CovarSamp, exp.Skewness, exp.Kurtosis,
)  # fmt: skip
"""Nodes that may select or fold. A window does where its order is noisy; one that is not understood counts as one."""


class Identified(NamedTuple):
    """A statement whose rows have an identity.

    Attributes:
        post: the statement with the hidden columns last.
        ids: their names; none where there is one row for any noise.
        chosen: whether noise decides which rows are shown.
        bent: whether noise selects or folds anywhere in it.
    """

    post: exp.Query
    ids: tuple[str, ...]
    chosen: bool = False
    bent: bool = False


class _Columns(NamedTuple):
    """The face of a relation: columns that no noise can change, hidden ones, and whether noise chose its rows."""

    noise_free: frozenset[str]
    ids: tuple[str, ...]
    chosen: bool = False


def identified_in(plan: QueryPlan, public: Mapping[str, pa.Table]) -> Identified | None:
    """The post-processing of a plan with the identity of its rows, over the public tables that it reads."""
    columns = tuple((name, tuple(table.column_names)) for name, table in public.items())
    return _identified(plan.post, tuple(release.name for release in plan.releases), columns)


@once
def _identified(
    post: exp.Query, noisy: tuple[str, ...], public: tuple[tuple[str, tuple[str, ...]], ...]
) -> Identified | None:
    return identified(post, noisy, dict(public))


def identified(
    post: exp.Query, noisy: Iterable[str], public: Mapping[str, Iterable[str]]
) -> Identified | None:
    """Give each row of a statement its identity.

    Args:
        post: the statement.
        noisy: the names of the noisy tables.
        public: the columns of the public tables that it reads.

    Returns:
        None where there is none.
    """
    copy = post.copy()
    reader = _Identity(noisy, public)
    try:
        found = reader.query(copy, {})
    except (NoIdentityError, LookupError, ValueError, AttributeError, TypeError, RecursionError):
        # A form that nobody thought of has no identity: an answer that is paid for is not lost for its intervals.
        return None
    return Identified(copy, found.ids, found.chosen, reader.bent)


class _Identity:
    def __init__(self, noisy: Iterable[str], public: Mapping[str, Iterable[str]]) -> None:
        self.noisy = {name.lower() for name in noisy}
        self.public = {
            name.lower(): frozenset(c.lower() for c in columns) for name, columns in public.items()
        }
        self.names = (f"{ID}{number}" for number in count())
        self.bent = False

    def query(self, node: exp.Expr, outer: Mapping[str, _Columns]) -> _Columns:
        if isinstance(node, exp.Subquery) and not any(
            node.args.get(part) for part in ("joins", "pivots", "sample")
        ):
            inner = self.query(node.this, outer)
            return inner._replace(chosen=inner.chosen or node.args.get("limit") is not None)
        known = dict(outer)
        clause = node.args.get("with_")
        if clause is not None:
            for cte in clause.expressions:
                own = cte.alias.lower()
                if own in tables_in(cte.this):
                    known[own] = self._recursive(cte, known)
                    continue
                rename_columns(cte.this, cte.args["alias"])
                known[cte.alias.lower()] = self.query(cte.this, known)
        if isinstance(node, exp.Select):
            return self.select(node, known)
        if isinstance(node, exp.Union) and not node.args.get("distinct") and not node.args.get("by_name"):
            return self.union(node, known)
        raise NoIdentityError

    def _recursive(self, cte: exp.CTE, known: Mapping[str, _Columns]) -> _Columns:
        """A table that reads itself: if no noise decides which rows it has, its public columns tell them apart.

        How often they occur is then the same for any noise; rows that have all of them alike are found later.
        """
        node, own = cte.this, cte.alias.lower()
        if not isinstance(node, exp.Union) or cte.args["alias"].args.get("columns"):
            raise NoIdentityError
        sides = [inner_query(side) for side in (node.left, node.right)]
        if not all(isinstance(side, exp.Select) and not side.is_star for side in sides):
            raise NoIdentityError
        names = [output_name(item).lower() for item in sides[0].selects]
        noise_free = frozenset(names)
        for _ in range(len(names) + 1):
            before = noise_free
            inside = {**known, own: _Columns(noise_free, ())}
            for side in sides:
                assert isinstance(side, exp.Select)
                clause = side.args.get("from_")
                holders = ([clause] if clause is not None else []) + (side.args.get("joins") or [])
                sources = dict(self.source(holder.this.copy(), inside) for holder in holders)
                if self._chooses(side, sources) or side.args.get("group") or side.args.get("limit"):
                    raise NoIdentityError
                noise_free &= frozenset(
                    name for name, item in zip(names, side.selects, strict=False)
                    if self._is_constant(item.unalias(), sources)
                )  # fmt: skip
            if noise_free == before:
                break
        if not noise_free:
            raise NoIdentityError
        return _Columns(noise_free, tuple(sorted(noise_free)))

    def union(self, node: exp.Union, known: Mapping[str, _Columns]) -> _Columns:
        """UNION ALL: beside its own identity each row has the number of its side."""
        sides = union_sides(node)
        shown = [[output_name(item).lower() for item in side.selects] for side in sides]
        own = [self.query(side, known) for side in sides]
        most = max(len(columns.ids) for columns in own)
        if most >= MOST_COLUMNS:
            raise NoIdentityError
        for number, (side, columns) in enumerate(zip(sides, own, strict=True)):
            for _ in range(most - len(columns.ids)):
                self._append(side, exp.null())
            self._append(side, exp.Literal.number(number))
        names = [item.alias_or_name for item in sides[0].selects]
        # By place: a column is that of the first side, under any name in the others.
        noise_free = frozenset(
            places[0]
            for places in zip(*shown, strict=False)
            if all(name in columns.noise_free for name, columns in zip(places, own, strict=True))
        )
        chosen = any(columns.chosen for columns in own) or node.args.get("limit") is not None
        return _Columns(noise_free, tuple(names[len(names) - most - 1 :]), chosen)

    def select(self, node: exp.Select, known: Mapping[str, _Columns]) -> _Columns:
        sources: dict[str, _Columns] = {}
        if any(node.args.get(part) for part in ("laterals", "pivots", "sample", "kind")):
            raise NoIdentityError
        clause = node.args.get("from_")
        holders = ([clause] if clause is not None else []) + (node.args.get("joins") or [])
        for index, holder in enumerate(holders):
            if isinstance(holder.this, exp.Subquery) and not holder.this.alias:
                holder.this.set("alias", exp.TableAlias(this=exp.to_identifier(f"__from{index}")))
            if holder.args.get("kind") in ("SEMI", "ANTI") or holder.args.get("method"):
                raise NoIdentityError
            name, columns = self.source(holder.this, known)
            sources[name] = columns
        for query in (q for e in own_clauses(node) for q in e.find_all(exp.Query)):
            if any(
                isinstance(star, exp.Star) and not isinstance(star.parent, exp.Count) for star in query.walk()
            ):
                raise NoIdentityError  # it would show the hidden columns of a CTE
        group, distinct = node.args.get("group"), node.args.get("distinct")
        self.bent |= self._bends(node, sources)
        if distinct is not None:
            return self._first_of_each(node, distinct, sources)
        if group is None and any(has_aggregate(item) for item in [*node.expressions, *having_of(node)]):
            return _Columns(frozenset(), ())
        if group is not None:
            identity = self._grouped(node, group, sources)
        else:
            identity = [
                exp.column(name, table=exp.to_identifier(source, quoted=True))
                for source, columns in sources.items()
                for name in columns.ids
            ]
        if len(identity) > MOST_COLUMNS:  # of a query that is joined with itself again and again
            raise NoIdentityError
        noise_free = frozenset(
            output_name(item).lower() for item in node.expressions
            if not item.is_star and self._is_constant(item.unalias(), sources)
        )  # fmt: skip
        for item in node.expressions:
            if isinstance(item, exp.Star):
                noise_free |= frozenset(name for columns in sources.values() for name in columns.noise_free)
        chosen = self._chooses(node, sources) or (
            group is None and any(columns.chosen for columns in sources.values())
        )
        return _Columns(noise_free, tuple(self._append(node, column) for column in identity), chosen)

    def _bends(self, node: exp.Select, sources: Mapping[str, _Columns]) -> bool:
        """Whether noise selects or folds in a SELECT; in a sub-query of an expression, all that may do it counts."""
        for part in own_clauses(node):
            for expression in part.walk():
                if isinstance(expression, exp.Query) and any(
                    isinstance(inner, _BENDING) for inner in expression.walk()
                ):
                    return True
                if isinstance(expression, exp.Window):
                    order = expression.args.get("order")
                    if order is not None and not self._is_constant(order, sources):
                        return True
                elif isinstance(expression, _BENDING):
                    plain = [
                        child
                        for child in expression.iter_expressions()
                        if not self._is_constant(child, sources)
                    ]
                    if plain:
                        return True
        return self._chooses(node, sources)

    def _chooses(self, node: exp.Select, sources: Mapping[str, _Columns]) -> bool:
        """Whether noise decides which rows of a SELECT are shown."""
        clauses = [node.args.get(key) for key in ("where", "having", "qualify")]
        clauses += [join.args.get("on") for join in node.args.get("joins") or []]
        if any(clause is not None and not self._is_constant(clause, sources) for clause in clauses):
            return True
        order = node.args.get("order")
        if order is None or all(node.args.get(key) is None for key in ("limit", "offset")):
            return False
        items = {item.alias_or_name.lower(): item.unalias() for item in node.expressions}
        for ordered in order.expressions:
            by = ordered.this
            if isinstance(by, exp.Literal) and by.is_int:
                by = node.expressions[int(by.name) - 1].unalias()
            elif isinstance(by, exp.Column) and not by.table and not self._is_constant(by, sources):
                by = items.get(by.name.lower(), by)
            if not self._is_constant(by, sources):
                return True
        return False

    def source(self, node: exp.Expr, known: Mapping[str, _Columns]) -> tuple[str, _Columns]:
        alias = node.args.get("alias")
        if any(node.args.get(part) for part in ("joins", "pivots", "sample", "laterals")):
            raise NoIdentityError
        if isinstance(node, exp.Unnest | exp.Values) and isinstance(alias, exp.TableAlias) and alias.columns:
            if any(isinstance(inner, exp.Column | exp.Query) for inner in node.walk()):
                raise NoIdentityError
            names = [column.name.lower() for column in alias.columns]
            return node.alias, _Columns(frozenset(names), tuple(names))
        if isinstance(node, exp.Subquery) and node.alias:
            rename_columns(node.this, alias)
            return node.alias, self.query(node.this, known)
        if isinstance(alias, exp.TableAlias) and alias.columns:
            raise NoIdentityError
        if not isinstance(node, exp.Table):
            raise NoIdentityError
        name = node.name.lower()
        if name in known:
            return node.alias_or_name, known[name]
        if name in self.noisy:
            return node.alias_or_name, _Columns(frozenset({CELL}), (CELL,))
        if name in self.public:
            # A row of a public table is known by its values; two with the same values answer alike.
            return node.alias_or_name, _Columns(self.public[name], tuple(sorted(self.public[name])))
        raise NoIdentityError

    def _first_of_each(
        self, node: exp.Select, distinct: exp.Expr, sources: Mapping[str, _Columns]
    ) -> _Columns:
        """DISTINCT ON keys, in an order that no noise can change: one row of each, the same for any noise."""
        on, order = distinct.args.get("on"), node.args.get("order")
        keys = (
            [] if on is None else on.expressions if isinstance(on, exp.Tuple) else [without_parentheses(on)]
        )
        by = [] if order is None else [ordered.this for ordered in order.expressions]
        if on is None and not any(item.is_star for item in node.expressions):
            items = [item.unalias() for item in node.expressions]
            if all(self._is_constant(item, sources) for item in items):
                noise_free = frozenset(output_name(item).lower() for item in node.expressions)
                ids = tuple(self._append(node, item.copy()) for item in items)
                return _Columns(
                    noise_free,
                    ids,
                    self._chooses(node, sources) or any(source.chosen for source in sources.values()),
                )
        if (
            not keys
            or not by
            or not all(self._is_constant(expression, sources) for expression in [*keys, *by])
        ):
            raise NoIdentityError
        return _Columns(frozenset(), tuple(self._append(node, key.copy()) for key in keys))

    def _grouped(self, node: exp.Select, group: exp.Group, sources: Mapping[str, _Columns]) -> list[exp.Expr]:
        keys = list(group.expressions)
        if any(value for key, value in group.args.items() if key not in ("expressions", "all")):
            raise NoIdentityError
        if group.args.get("all"):
            keys = [item.unalias() for item in node.expressions if not has_aggregate(item)]
        items = {item.alias_or_name.lower(): item.unalias() for item in node.expressions}
        out = []
        for key in keys:
            if isinstance(key, exp.Literal):
                key = node.expressions[int(key.name) - 1].unalias()
            elif isinstance(key, exp.Column) and not key.table and not self._is_constant(key, sources):
                key = items.get(key.name.lower(), key)
            if not self._is_constant(key, sources):
                raise NoIdentityError
            out.append(key.copy())
        if group.args.get("all"):
            group.set("all", None)
            group.set("expressions", [key.copy() for key in out])
        return out

    def _is_constant(self, node: exp.Expr, sources: Mapping[str, _Columns]) -> bool:
        """Whether no noise can change an expression: it is made of keys and public values alone."""
        if any(isinstance(inner, exp.Query | exp.AggFunc | exp.Window | exp.Star) for inner in node.walk()):
            return False
        by_name = {name.lower(): columns for name, columns in sources.items()}
        for column in node.find_all(exp.Column):
            name, table = column.name.lower(), column.table.lower()
            own = [by_name[table]] if table in by_name else list(by_name.values())
            keys = [columns for columns in own if name in columns.noise_free]
            if not keys and not (table in self.noisy and re_key(name)):
                return False
        return True

    def _append(self, node: exp.Select, value: exp.Expr) -> str:
        name = next(self.names)
        node.append("expressions", exp.alias_(value, name))
        return name


def re_key(name: str) -> bool:
    """Whether a column of a noisy table is a key."""
    return key_number(name) is not None
