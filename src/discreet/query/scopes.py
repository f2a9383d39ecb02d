"""Splits a statement into scopes: public, rows, per-unit and release.

    public    reads public tables and noisy tables only; stays in the statement as post-processing
    rows      filters and projects private rows, each of which still belongs to one unit
    per-unit  GROUP BY the unit: one row per unit and group
    release   aggregates private rows: becomes a draft, and a noisy table in its place

What is left of the statement when all releases have been cut out is ordinary SQL over noisy and public tables.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.query import relation as rel
from discreet.query.aggregates import Request, read_aggregate
from discreet.query.bind import Binder
from discreet.query.catalog import Catalog
from discreet.query.expression import Column, Expression
from discreet.query.keys import MAX_CELLS, Key, cells, public_values
from discreet.query.parse import output_name
from discreet.query.refusal import refuse
from discreet.query.relation import Rows


@dataclass(frozen=True)
class Public:
    """A scope without private rows: what is left in the statement."""

    node: exp.Expr


@dataclass
class Draft:
    """A release before its measures are chosen and its epsilon is shared out."""

    name: str
    rows: Rows
    keys: tuple[Key, ...]
    requests: list[Request] = field(default_factory=list)

    def column(self, request: Request) -> exp.Column:
        """The column of the noisy table that answers a request."""
        if request not in self.requests:
            self.requests.append(request)
        return exp.column(f"a{self.requests.index(request)}", table=self.name)


Scope = Rows | Public
Env = Mapping[str, Scope]


class Splitter:
    """Splits one statement.

    Attributes:
        drafts: the releases that were cut out, in the order in which they were found.
    """

    def __init__(self, text: str, catalog: Catalog) -> None:
        self.text = text
        self.catalog = catalog
        self.drafts: list[Draft] = []

    def split(self, statement: exp.Query) -> exp.Query:
        """Cut the releases out of a statement and return the post-processing that is left.

        Raises:
            QueryRefused: some part of it cannot be answered with a guarantee.
        """
        scope = self.query(statement.copy(), {})
        if isinstance(scope, Rows):
            raise self.refuse(statement, "This query returns rows of a private table.",
                              "Aggregate them, for instance SELECT COUNT(*) FROM …")  # fmt: skip
        assert isinstance(scope.node, exp.Query)
        return scope.node

    def refuse(self, node: exp.Expr | None, cause: str, fix: str) -> QueryRefused:
        """The refusal that points at a part of this statement."""
        return refuse(node, self.text, cause, fix)

    # Queries -----------------------------------------------------------------------------------------------

    def query(self, node: exp.Expr, outer: Env) -> Scope:
        """Split a query; what is public in it is rewritten in place."""
        env = self._ctes(node, outer)
        if isinstance(node, exp.Subquery):
            inner = self.query(node.this, env)
            if isinstance(inner, Rows):
                return inner
            node.set("this", inner.node)
            return Public(node)
        if isinstance(node, exp.SetOperation):
            for side in ("this", "expression"):
                scope = self.query(node.args[side], env)
                if isinstance(scope, Rows):
                    raise self.refuse(node.args[side], f"{node.key.upper()} of private rows is not supported.",
                                      "Aggregate on each side, and combine the results.")  # fmt: skip
                node.set(side, scope.node)
            self._expressions(node, env, skip={"this", "expression", "with_"})
            return Public(node)
        if isinstance(node, exp.Select):
            return self._select(node, env)
        if isinstance(node, exp.Values | exp.Table):
            return self._source(node, env)
        raise self.refuse(node, f"{node.key.upper()} is not supported.", "Write it as a SELECT.")

    def _ctes(self, node: exp.Expr, outer: Env) -> Env:
        clause = node.args.get("with_")
        if clause is None:
            return outer
        env = dict(outer)
        kept = []
        for cte in clause.expressions:
            name = cte.alias.lower()
            if clause.recursive:
                # Inside itself a recursive table stands for what it has become so far, which must be public.
                env[name] = Public(exp.to_table(cte.alias))
            scope = self.query(cte.this, env)
            if isinstance(scope, Rows):
                env[name] = self._renamed(scope, cte.args.get("alias"), cte)
            else:
                cte.set("this", scope.node)
                env[name] = Public(exp.to_table(cte.alias))
                kept.append(cte)
        clause.set("expressions", kept)
        if not kept:
            node.set("with_", None)
        return env

    def _source(self, node: exp.Expr, env: Env) -> Scope:
        """Split what stands in FROM."""
        if node.args.get("joins"):
            for join in node.args["joins"]:
                if isinstance(self._source(join.this, env), Rows):
                    raise self._no_join(join)
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            if node.args.get("sample") is not None:
                raise self.refuse(node, "TABLESAMPLE is not supported.", "Remove it.")
            name = node.name.lower()
            if name in env:
                scope = env[name]
                return (
                    self._renamed(scope, node.args.get("alias"), node)
                    if isinstance(scope, Rows)
                    else Public(node)
                )
            if name in self.catalog.private:
                return self._renamed(rel.scan(self.catalog.private[name]), node.args.get("alias"), node)
            if name in self.catalog.public:
                return Public(node)
            known = [*env, *self.catalog.private, *self.catalog.public]
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"Did you mean {near[0]}?" if near else f"The tables are {', '.join(known)}."
            raise self.refuse(node, f"There is no table {node.name}.", hint)
        if isinstance(node, exp.Subquery):
            scope = self.query(node, env)
            return self._renamed(scope, node.args.get("alias"), node) if isinstance(scope, Rows) else scope
        if isinstance(node, exp.Lateral):
            inner = self.query(node.this, env) if isinstance(node.this, exp.Query) else Public(node)
            if isinstance(inner, Rows):
                raise self.refuse(
                    node, "LATERAL over private rows is not supported.", "Write a plain sub-query."
                )
            return Public(node)
        if isinstance(node, exp.Table | exp.Values | exp.Unnest):
            self._expressions(node, env, skip=set())
            return Public(node)
        raise self.refuse(
            node, f"{node.key.upper()} is not supported in FROM.", "Name a table or a sub-query."
        )

    def _renamed(self, rows: Rows, alias: exp.Expr | None, node: exp.Expr) -> Rows:
        """Apply the column list of an alias, as in `t(a, b)`."""
        listed = [] if not isinstance(alias, exp.TableAlias) else alias.columns
        if not listed:
            return rows
        if len(listed) > len(rows.names):
            raise self.refuse(node, "The alias names more columns than there are.", "Remove some.")
        new = [c.name for c in listed] + list(rows.names[len(listed) :])
        items: list[tuple[str, Expression]] = [
            (name, rows.columns[old.lower()]) for name, old in zip(new, rows.names, strict=True)
        ]
        return rel.select(rows, items, None)

    # SELECT ------------------------------------------------------------------------------------------------

    def _select(self, node: exp.Select, env: Env) -> Scope:
        clause = node.args.get("from_")
        joins = node.args.get("joins") or []
        sources: list[tuple[exp.Expr, Scope]] = []
        for holder in ([clause] if clause is not None else []) + joins:
            scope = self._source(holder.this, env)
            if isinstance(scope, Public):
                holder.set("this", scope.node)
            sources.append((holder.this, scope))
        private = [(source, scope) for source, scope in sources if isinstance(scope, Rows)]
        if not private:
            self._expressions(node, env, skip={"from_", "with_"})
            return Public(node)
        if len(sources) > 1:
            raise self._no_join(joins[0])
        source, rows = private[0]
        assert isinstance(rows, Rows)
        return _PrivateSelect(self, node, env, source.alias_or_name.lower(), rows).scope()

    def _no_join(self, join: exp.Expr) -> QueryRefused:
        return self.refuse(join, "A join with private rows is not supported.",
                           "Join after the aggregation: put it into a sub-query and join its result.")  # fmt: skip

    def _expressions(self, node: exp.Expr, env: Env, skip: set[str]) -> None:
        """Split the sub-queries inside the expressions of a public scope."""
        for key, value in node.args.items():
            if key in skip or (
                key == "joins" and isinstance(node, exp.Select) and not isinstance(value, list)
            ):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, exp.Expr):
                    self._inner(child, env)

    def _inner(self, node: exp.Expr, env: Env) -> None:
        if isinstance(node, exp.Query):
            if node.parent is not None and node.parent.key == "join":
                return  # a source, which was split already
            scope = self.query(node, env)
            if isinstance(scope, Rows):
                raise self.refuse(
                    node, "This sub-query returns rows of a private table.", "Aggregate them in it."
                )
            if scope.node is not node:
                node.replace(scope.node)
            return
        if isinstance(node, exp.Table):
            return
        for child in list(node.iter_expressions()):
            self._inner(child, env)


class _PrivateSelect:
    """One SELECT over one relation of private rows: a rows, per-unit or release scope."""

    def __init__(self, splitter: Splitter, node: exp.Select, env: Env, name: str, rows: Rows) -> None:
        self.splitter = splitter
        self.node = node
        self.env = env
        self.name = name
        self.rows = rows
        self.binder = Binder(splitter.text, self.column)
        self.refuse = splitter.refuse

    def scope(self) -> Scope:
        """Decide which kind of scope this is and split it."""
        for part, word in (("windows", "WINDOW"), ("laterals", "LATERAL"), ("connect", "CONNECT"), ("match", "MATCH"),
                           ("pivots", "PIVOT"), ("sample", "SAMPLE"), ("into", "INTO")):  # fmt: skip
            if self.node.args.get(part):
                raise self.refuse(self.node, f"{word} over private rows is not supported.", "Remove it.")
        where = self.node.args.get("where")
        if where is not None:
            if any(is_aggregate(n) for n in own_nodes(where.this)):
                raise self.refuse(
                    where, "WHERE is read before the aggregation.", "Put aggregates into HAVING."
                )
            self.rows = rel.select(self.rows, None, self.binder.condition(where.this))
        clauses = [*self.node.expressions, *(self.node.args.get(k) for k in ("having", "order", "qualify"))]
        grouped = self.node.args.get("group") is not None or self.node.args.get("having") is not None
        if grouped or any(is_aggregate(n) for c in clauses if c is not None for n in own_nodes(c)):
            return self._release()
        return self._rows()

    def column(self, node: exp.Column) -> Expression:
        """What a column of the query stands for."""
        if node.table and node.table.lower() != self.name:
            raise self.refuse(
                node, f"There is no table {node.table} here.", f"Write {self.name}.{node.name}."
            )
        found = self.rows.columns.get(node.name.lower())
        if found is None:
            near = difflib.get_close_matches(node.name.lower(), list(self.rows.columns), n=1)
            hint = f"Did you mean {near[0]}?" if near else f"The columns are {', '.join(self.rows.names)}."
            raise self.refuse(node, f"There is no column {node.name}.", hint)
        return found

    # rows --------------------------------------------------------------------------------------------------

    def _rows(self) -> Rows:
        for part, why in (
            ("distinct", "DISTINCT over private rows is not supported."),
            ("limit", "LIMIT over private rows would keep arbitrary ones."),
            ("offset", "OFFSET over private rows would keep arbitrary ones."),
            ("qualify", "QUALIFY over private rows is not supported."),
        ):
            if self.node.args.get(part) is not None:
                raise self.refuse(self.node.args[part], why, "Remove it, or move it above the aggregation.")
        items: list[tuple[str, Expression]] = []
        for item in self.node.expressions:
            if item.is_star:
                items += self._star(item)
            else:
                items.append((output_name(item), self.binder.bind(item.unalias())))
        seen: set[str] = set()
        for (name, _), where in zip(items, self.node.expressions, strict=False):
            if name.lower() in seen:
                raise self.refuse(
                    where, f"Two columns are named {name}.", "Give one of them another name with AS."
                )
            seen.add(name.lower())
        return rel.select(self.rows, items, None)

    def _star(self, item: exp.Expr) -> list[tuple[str, Expression]]:
        star = item.this if isinstance(item, exp.Column) else item
        if star.args.get("replace") or star.args.get("rename"):
            raise self.refuse(item, "REPLACE and RENAME of * are not supported here.", "List the columns.")
        left_out = {c.name.lower() for c in star.args.get("except_") or []}
        return [(n, self.rows.columns[n.lower()]) for n in self.rows.names if n.lower() not in left_out]

    # release -----------------------------------------------------------------------------------------------

    def _release(self) -> Public:
        group_nodes = self._group_nodes()
        keys = tuple(self._key(n) for n in group_nodes)
        if cells(keys) > MAX_CELLS:
            raise self.refuse(self.node.args["group"], f"There are {cells(keys):,} groups; at most {MAX_CELLS:,} can "
                              "be answered.", "Group by fewer or coarser keys.")  # fmt: skip
        self.draft = Draft(f"__release_{len(self.splitter.drafts) + 1}", self.rows, keys)
        self.splitter.drafts.append(self.draft)
        self.aliases = {i.alias.lower(): i.this for i in self.node.expressions if isinstance(i, exp.Alias)}
        out = exp.Select()
        for item in self.node.expressions:
            if item.is_star:
                raise self.refuse(
                    item, "* stands for columns of single rows.", "Name the keys and aggregates."
                )
            name = exp.to_identifier(output_name(item), quoted=True)
            out.append("expressions", exp.alias_(self.lift(item.unalias()), name))
        out.set("from_", exp.From(this=exp.to_table(self.draft.name)))
        having = self.node.args.get("having")
        if having is not None:
            out.set("where", exp.Where(this=self.lift(having.this)))
        qualify = self.node.args.get("qualify")
        if qualify is not None:
            out.set("qualify", exp.Qualify(this=self.lift(qualify.this)))
        order = self.node.args.get("order")
        if order is not None:
            ordered = [self._ordered(o) for o in order.expressions]
            out.set("order", exp.Order(expressions=ordered))
        for part in ("limit", "offset", "distinct", "with_"):
            value = self.node.args.get(part)
            if value is not None:
                self.splitter._expressions(value, self.env, skip=set())
                out.set(part, value)
        return Public(out)

    def _group_nodes(self) -> list[exp.Expr]:
        group = self.node.args.get("group")
        if group is None:
            return []
        if group.args.get("all"):
            return [
                item.unalias()
                for item in self.node.expressions
                if not any(is_aggregate(n) for n in own_nodes(item)) and list(item.find_all(exp.Column))
            ]
        out = []
        for node in group.expressions:
            if isinstance(node, exp.Rollup | exp.Cube | exp.GroupingSets):
                raise self.refuse(
                    node, f"{node.key.upper()} is not supported.", "Ask one GROUP BY at a time."
                )
            out.append(self._dereferenced(node))
        for part in ("rollup", "cube", "grouping_sets", "totals"):
            if group.args.get(part):
                raise self.refuse(group, f"{part.upper()} is not supported.", "Ask one GROUP BY at a time.")
        return out

    def _dereferenced(self, node: exp.Expr) -> exp.Expr:
        """A number in GROUP BY is a place in the SELECT list; a name may be an alias of it."""
        if isinstance(node, exp.Literal) and not node.is_string:
            at = int(node.name) if node.name.isdigit() else 0
            if not 1 <= at <= len(self.node.expressions):
                raise self.refuse(
                    node, f"There is no column number {node.name}.", "Count from 1 in the SELECT list."
                )
            return _unaliased(self.node.expressions[at - 1])
        if isinstance(node, exp.Column) and not node.table and node.name.lower() not in self.rows.columns:
            for item in self.node.expressions:
                if item.alias.lower() == node.name.lower():
                    return _unaliased(item)
        return node

    def _key(self, node: exp.Expr) -> Key:
        if any(is_aggregate(n) for n in own_nodes(node)):
            raise self.refuse(node, "An aggregate cannot be grouped by.", "Group by columns of the rows.")
        bound = self.binder.bind(node)
        if isinstance(bound, Column) and bound.name in self.rows.units:
            raise self.refuse(node, "This groups by the privacy unit: one group per person.",
                              "Group by something that many people share.")  # fmt: skip
        values = public_values(bound)
        if values is None:
            what = node.sql("duckdb")
            raise self.refuse(node, f"The groups of {what} are not public.",
                              "Declare keys or bounds of its columns in the policy, or group by a CASE or a "
                              "bounded integer, for instance floor(x / 10) of a bounded x.")  # fmt: skip
        if len(values) > MAX_CELLS:
            raise self.refuse(node, f"There are {len(values):,} groups; at most {MAX_CELLS:,} can be answered.",
                              "Group by a coarser key.")  # fmt: skip
        return Key(bound, values)

    def _ordered(self, node: exp.Expr) -> exp.Expr:
        target = node.this
        if isinstance(target, exp.Literal | exp.Var):
            return node.copy()
        if isinstance(target, exp.Column) and not target.table and target.name.lower() in self.aliases:
            return node.copy()
        moved = node.copy()
        moved.set("this", self.lift(target))
        return moved

    def lift(self, node: exp.Expr) -> exp.Expr:
        """Rewrite an expression of the release as one over its noisy table."""
        if is_aggregate(node):
            request = read_aggregate(node, self.binder)
            return self.draft.column(request)
        if isinstance(node, exp.Query):
            scope = self.splitter.query(node.copy(), self.env)
            if isinstance(scope, Rows):
                raise self.refuse(
                    node, "This sub-query returns rows of a private table.", "Aggregate them in it."
                )
            return scope.node
        key = self._as_key(node)
        if key is not None:
            return exp.column(f"k{key}", table=self.draft.name)
        if isinstance(node, exp.Column):
            alias = None if node.table else self.aliases.get(node.name.lower())
            if alias is not None and node.name.lower() not in self.rows.columns:
                return exp.paren(self.lift(alias))
            self.binder.bind(node)  # an unknown column is refused as such
            raise self.refuse(node, f"{node.sql('duckdb')} is neither grouped by nor inside an aggregate.",
                              f"Add it to GROUP BY, or write for instance AVG({node.name}).")  # fmt: skip
        out = node.copy()
        for key_name, value in node.args.items():
            if isinstance(value, list):
                out.set(key_name, [self.lift(v) if isinstance(v, exp.Expr) else v for v in value])
            elif isinstance(value, exp.Expr) and not isinstance(
                value, exp.DataType | exp.Identifier | exp.Var
            ):
                out.set(key_name, self._lift_function(node, key_name, value))
        return out

    def _lift_function(self, parent: exp.Expr, key: str, value: exp.Expr) -> exp.Expr:
        if isinstance(parent, exp.Window) and key == "this":
            # The function of a window runs over the groups, not over the rows; its arguments are lifted.
            out = value.copy()
            for name, arg in value.args.items():
                if isinstance(arg, list):
                    out.set(name, [self.lift(a) if isinstance(a, exp.Expr) else a for a in arg])
                elif isinstance(arg, exp.Expr) and not isinstance(arg, exp.Star):
                    out.set(name, self.lift(arg))
            return out
        return self.lift(value)

    def _as_key(self, node: exp.Expr) -> int | None:
        if isinstance(node, exp.Literal) or not any(isinstance(n, exp.Column) for n in node.walk()):
            return None
        if any(is_aggregate(n) or isinstance(n, exp.Query | exp.Window) for n in own_nodes(node)):
            return None
        try:
            bound = self.binder.bind(node)
        except QueryRefused:
            return None
        return next((at for at, key in enumerate(self.draft.keys) if key.expression == bound), None)


def _unaliased(item: exp.Expr) -> exp.Expr:
    return item.this if isinstance(item, exp.Alias) else item


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a node aggregates the rows of its own scope, not the groups in a window."""
    if isinstance(node, exp.Filter):
        return isinstance(node.this, exp.AggFunc)
    if not isinstance(node, exp.AggFunc):
        return False
    parent = node.parent
    while isinstance(parent, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
        parent = parent.parent
    return not (isinstance(parent, exp.Window) and _is_function_of(parent, node))


def _is_function_of(window: exp.Window, node: exp.Expr) -> bool:
    this = window.this
    while isinstance(this, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
        this = this.this
    return this is node


def own_nodes(node: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes of an expression, without those of the sub-queries in it."""
    yield node
    for child in node.iter_expressions():
        if not isinstance(child, exp.Query):
            yield from own_nodes(child)
