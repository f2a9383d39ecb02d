"""Splits a statement into scopes: public, rows, per-unit and release.

    public    reads public tables and noisy tables only; stays in the statement as post-processing
    rows      filters and projects private rows, each of which still belongs to one unit
    per-unit  GROUP BY the unit: one row per unit and group
    release   aggregates private rows: becomes a draft, and a noisy table in its place

When all releases have been cut out, the rest of the statement is ordinary SQL over noisy and public tables.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Set
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.engines.sandbox import Sandbox
from discreet.errors import PostProcessingError, QueryRefused
from discreet.policy.naming import twins
from discreet.sql import functions as fn
from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.algebra.relation import Rows
from discreet.sql.analyze.cohorts import cohort
from discreet.sql.analyze.from_clause import Frame, prefixed, single
from discreet.sql.analyze.joins.joins import Clause, join_private, join_public, join_public_tables, read_join
from discreet.sql.analyze.joins.outer_joins import keeping, public_first
from discreet.sql.analyze.joins.released import join_released
from discreet.sql.analyze.joins.same_units import see_same_units
from discreet.sql.analyze.private_select import PrivateSelect
from discreet.sql.analyze.splitting import Draft, Env, Given, Public, Scope
from discreet.sql.analyze.subqueries.correlated_release import by_keys
from discreet.sql.analyze.subqueries.released_tables import given, standing_alone, waits
from discreet.sql.expressions.expression import Column, Expression
from discreet.sql.expressions.span import hull
from discreet.sql.syntax import rewrites
from discreet.sql.syntax.grouping_sets import expand
from discreet.sql.syntax.join_groups import one_after_the_other
from discreet.sql.syntax.looking import INFORMATION
from discreet.sql.syntax.nodes import conjunct_nodes
from discreet.sql.syntax.qualified import drop_schemas
from discreet.sql.syntax.refusal import refuse
from discreet.sql.syntax.weeks import count_mondays

if TYPE_CHECKING:
    import pyarrow as pa


READ_OF_SOURCE = frozenset({"this", "alias", "with_"})
"""The parts of a source in FROM that are read; any other behind private rows is refused, so that none is missed."""


def _make_limits_total(post: exp.Query) -> None:
    """Let a LIMIT that is computed be no less than zero: noise may make it so, and DuckDB would then fail."""
    for part in list(post.find_all(exp.Limit, exp.Offset)):
        given = part.expression
        if isinstance(given, exp.Expr) and any(isinstance(n, exp.Query) for n in given.walk()):
            whole = exp.TryCast(this=given.copy(), to=exp.DataType.build("BIGINT"))
            zero = exp.Literal.number(0)
            known = exp.Coalesce(this=whole, expressions=[zero.copy()])
            part.set("expression", exp.Greatest(this=known, expressions=[zero], ignore_nulls=True))


class Splitter:
    """Splits one statement.

    Attributes:
        drafts: the releases that were cut out, in the order in which they were found.
        unknown_keys: whether groups may be found whose keys are not public, which takes a delta.
    """

    def __init__(self, text: str, catalog: Catalog, unknown_keys: bool = False) -> None:
        self.text = text
        self.unknown_keys = unknown_keys
        self.catalog = catalog
        self.drafts: list[Draft] = []
        self.public_joins = 0
        self._given: dict[str, Given] = {}
        self._split: list[tuple[Env, str, Scope]] = []
        self.inner_queries = 0

    def split(self, statement: exp.Query) -> exp.Query:
        """Cut the releases out of a statement and return the post-processing that is left.

        Raises:
            QueryRefused: some part of it cannot be answered with a guarantee.
        """
        whole = statement.copy()
        drop_schemas(whole, {*self.catalog.private, *self.catalog.public}, self.refuse)
        scope = self.query(whole, {})
        if isinstance(scope, Rows):
            better = rewrites.without_units(statement, self.unit_names())
            raise self.refuse(statement, "This query returns rows of a private table.",
                              f"Leave the unit out of the groups: {better}" if better else
                              "Aggregate them, for instance SELECT COUNT(*) FROM …")  # fmt: skip
        assert isinstance(scope.node, exp.Query)
        _make_limits_total(scope.node)
        count_mondays(scope.node)
        return scope.node

    def refuse(self, node: exp.Expr | None, cause: str, fix: str) -> QueryRefused:
        """The refusal that points at a part of this statement."""
        return refuse(node, self.text, cause, fix)

    # Queries -----------------------------------------------------------------------------------------------

    def query(self, node: exp.Expr, outer: Env) -> Scope:
        """Split a query; its public parts are rewritten in place."""
        env = self._ctes(node, outer)
        if isinstance(node, exp.Subquery):
            inner = self.query(node.this, env)
            if isinstance(inner, Rows):
                return inner
            node.set("this", inner.node)
            return Public(node)
        if isinstance(node, exp.SetOperation):
            sides = {side: self.query(node.args[side], env) for side in ("this", "expression")}
            if any(isinstance(scope, Rows) for scope in sides.values()):
                return self._union(node, list(sides.values()))
            for side, scope in sides.items():
                assert isinstance(scope, Public)
                node.set(side, scope.node)
            self.split_inner(node, env, skip={"this", "expression", "with_"})
            return Public(node)
        if isinstance(node, exp.Select):
            return self._select(node, env)
        if isinstance(node, exp.Values | exp.Table):
            return self.source(node, env)
        raise self.refuse(node, f"{node.key.upper()} is not supported.", "Write it as a SELECT.")

    def _ctes(self, node: exp.Expr, outer: Env) -> Env:
        clause = node.args.get("with_")
        if clause is None:
            return outer
        env = dict(outer)
        kept = []
        same = twins(cte.alias for cte in clause.expressions)
        if same:
            raise self.refuse(clause.expressions[0], f"Two tables of WITH are named {same[-1]}.",
                              "Give one of them another name.")  # fmt: skip
        for cte in clause.expressions:
            name = cte.alias.lower()
            if clause.recursive:
                # Inside itself a recursive table stands for its rows so far, which must be public.
                env[name] = Public(exp.to_table(cte.alias))
            scope = self.query(cte.this, env)
            if isinstance(scope, Rows):
                env[name] = self._renamed(scope, cte.args.get("alias"), cte)
            else:
                cte.set("this", scope.node)
                env[name] = Public(exp.to_table(cte.alias), cte)
                kept.append(cte)
        clause.set("expressions", kept)
        if not kept:
            node.set("with_", None)
        return env

    def source(self, node: exp.Expr, env: Env) -> Scope:
        """Split a source of FROM."""
        scope = self._plain_source(node, env)
        attached = [key for key, value in node.args.items() if value and key not in READ_OF_SOURCE]
        if isinstance(scope, Rows) and attached:
            pivot = next(iter(node.args.get("pivots") or []), None)
            if isinstance(pivot, exp.Pivot):
                table = node.name or node.alias or "…"
                raise self.refuse(pivot, rewrites.PIVOTED,
                                  rewrites.of_pivot(pivot, table))  # fmt: skip
            raise self.refuse(node, f"{attached[0].upper()} is not supported beside private rows in FROM.",
                              "Write joins one after the other, and nothing else behind the table.")  # fmt: skip
        for join in node.args.get("joins") or []:
            if isinstance(self.source(join.this, env), Rows):
                raise self.refuse(join.this, "A join in parentheses with private rows is not supported.",
                                  "Write the joins one after the other.")  # fmt: skip
        return scope

    def _plain_source(self, node: exp.Expr, env: Env) -> Scope:
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
            raise self.no_table(node, env)
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
            self.split_inner(node, env, skip=set())
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
        if same := twins(new):
            raise self.refuse(node, f"Two columns are named {same[-1]}.", "Give one of them another name.")
        items: list[tuple[str, Expression]] = [
            (name, rows.columns[old.lower()]) for name, old in zip(new, rows.names, strict=True)
        ]
        return rel.select(rows, items, None)

    # SELECT ------------------------------------------------------------------------------------------------

    def _select(self, node: exp.Select, env: Env) -> Scope:
        expanded = expand(node, self.text)
        if not isinstance(expanded, exp.Select):
            return self.query(expanded, env)
        node = expanded
        one_after_the_other(node)
        clause = node.args.get("from_")
        joins = node.args.get("joins") or []
        holders = ([clause] if clause is not None else []) + joins
        scopes = [self.source(holder.this, env) for holder in holders]
        if not any(isinstance(scope, Rows) for scope in scopes):
            for holder, scope in zip(holders, scopes, strict=True):
                assert isinstance(scope, Public)
                holder.set("this", scope.node)
            self.split_inner(node, env, skip={"from_", "with_"})
            return Public(node)
        where = node.args.get("where")
        conditions = conjunct_nodes(where.this if where is not None else None)
        return PrivateSelect(
            self, node, env, self._frame(holders, scopes, conditions, env), conditions
        ).scope()

    def _frame(
        self, holders: list[exp.Expr], scopes: list[Scope], conditions: list[exp.Expr], env: Env
    ) -> Frame:
        """Join the sources of a scope over private rows."""
        names = [holder.this.alias_or_name.lower() or f"from{at}" for at, holder in enumerate(holders)]
        if len(holders) == 1:
            assert isinstance(scopes[0], Rows)
            return single(self.text, names[0], scopes[0])
        clauses = [
            read_join(self.text, h if isinstance(h, exp.Join) else exp.Join(this=h.this)) for h in holders
        ]
        order = list(range(len(holders)))
        first = next(at for at in order if isinstance(scopes[at], Rows))
        met = clauses[first]
        if first > 0 and (met.outer or met.keeps or met.natural or met.using):
            return self._public_first(names, holders, scopes, clauses, conditions, env, first)
        if first > 0:
            # Public tables in front change places with the first private one, which an inner join allows.
            if any(c.outer or c.kind or c.using or c.keeps or c.natural for c in clauses[: first + 1]):
                raise self.refuse(holders[first].this, "Private rows must stand left of a LEFT, SEMI or ANTI JOIN and "
                                  "of USING.", f"Write FROM {names[first]} first.")  # fmt: skip
            conditions += [c for clause in clauses[: first + 1] for c in clause.on]
            clauses[: first + 1] = [replace(clause, on=()) for clause in clauses[: first + 1]]
            order.insert(0, order.pop(first))
        start = scopes[order[0]]
        assert isinstance(start, Rows)
        frame = prefixed(self.text, names[order[0]], start)
        return self._joined(frame, order[1:], names, scopes, clauses, conditions, env)

    def _public_first(
        self,
        names: list[str],
        holders: list[exp.Expr],
        scopes: list[Scope],
        clauses: list[Clause],
        conditions: list[exp.Expr],
        env: Env,
        first: int,
    ) -> Frame:
        """Public tables, then a LEFT, RIGHT, FULL or NATURAL JOIN, or USING, with the first private rows."""
        start, clause = scopes[first], clauses[first]
        assert isinstance(start, Rows)
        if clause.kind:
            raise self.refuse(holders[first].this, f"A public table has no rows to keep by a {clause.kind} JOIN with "
                              "private rows.", f"Write FROM {names[first]} JOIN {names[0]} first.")  # fmt: skip
        self.public_joins += 1
        data = public_first(self, names, holders, first, env)
        turned = replace(clause, outer=clause.keeps, keeps=clause.outer)
        frame = join_public_tables(
            prefixed(self.text, names[first], start), data, self.public_joins, turned, conditions
        )
        rest = list(range(first + 1, len(holders)))
        return self._joined(frame, rest, names, scopes, clauses, conditions, env)

    def _joined(
        self,
        frame: Frame,
        order: list[int],
        names: list[str],
        scopes: list[Scope],
        clauses: list[Clause],
        conditions: list[exp.Expr],
        env: Env,
    ) -> Frame:
        """Join further sources to a frame."""
        waiting, stuck = list(order), {-1}
        while waiting:
            at = waiting.pop(0)
            scope, clause = scopes[at], clauses[at]
            if isinstance(scope, Rows):
                tried = list(conditions)
                try:
                    frame = (keeping if clause.keeps else join_private)(
                        frame, names[at], scope, clause, tried
                    )
                except QueryRefused:
                    # FROM customer, lineitem, orders: a table that is on the path between them may come later.
                    stuck.add(at)
                    later = [w for w in waiting if isinstance(scopes[w], Rows) and clauses[w].comma]
                    first = next((w for w in later if w not in stuck), -1)
                    if first < 0 or not clause.comma:
                        raise
                    waiting = [first, at, *(w for w in waiting if w != first)]
                    continue
                conditions[:], stuck = tried, {-1}
                continue
            released = self.given(scope.node, env, exp.to_table(names[at]))
            if released is not None:
                frame = join_released(frame, names[at], released, clause, conditions, scope.node)
                continue
            data = self.evaluate(scope.node, env)
            self.public_joins += 1
            frame = join_public(frame, names[at], data, self.public_joins, clause, conditions)
        return frame

    def _union(self, node: exp.SetOperation, sides: list[Scope]) -> Rows:
        """UNION of private rows and the like: each row keeps its unit, and a unit may have rows on every side."""
        left, right = sides
        if not (isinstance(left, Rows) and isinstance(right, Rows)):
            raise self.refuse(node.expression, "Private rows cannot be united with public ones: those belong to no "
                              "unit.", "Aggregate the private rows first.")  # fmt: skip
        if any(node.args.get(part) for part in ("limit", "offset", "by_name")):
            raise self.refuse(
                node.expression, "LIMIT and BY NAME are not supported over private rows.", "Remove them."
            )
        if left.per_unit != right.per_unit or len(left.names) != len(right.names):
            raise self.refuse(node.expression, "The two sides differ in their columns or in their privacy unit.",
                              "Select the same columns on both sides.")  # fmt: skip
        see_same_units(node.expression, self.text, left, right)
        items: list[tuple[str, Expression, Expression]] = []
        for mine, other in zip(left.names, right.names, strict=True):
            a, b = left.columns[mine.lower()], right.columns[other.lower()]
            kind = fn.common_type([a.type, b.type])
            wide = [fn.widen(c, kind) if kind is not None else None for c in (a, b)]
            if wide[0] is None or wide[1] is None:
                raise self.refuse(node.expression, f"The columns {mine} and {other} are of different types.",
                                  "Convert one with CAST.")  # fmt: skip
            items.append((mine, wide[0], wide[1]))
        one = rel.select(left, [(name, a) for name, a, _ in items], None)
        two = rel.select(right, [(name, b) for name, _, b in items], None)
        columns = {
            name: Column(name, one.columns[name].type, hull([one.columns[name].span, two.columns[name].span]))
            for name in one.columns
        }
        # The same table on both sides counts a row twice; the sum of the caps says so.
        united = Rows(rel.Union((one.relation, two.relation)), columns, one.names, left.per_unit,
                      left.max_rows + right.max_rows, one.units & two.units, left.fixed and right.fixed)  # fmt: skip
        if isinstance(node, exp.Union) and not node.args.get("distinct"):
            return united
        return cohort(node, (one, two), united, self.refuse)

    def evaluate(self, node: exp.Expr, env: Env) -> pa.Table:
        """The rows of a public sub-query, which must not wait for a release.

        Raises:
            QueryRefused: it depends on a release, or DuckDB refuses it.
        """
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            known = self.catalog.public.get(node.name.lower())
            if known is not None and node.name.lower() not in env:
                return known
        alone = standing_alone(node, env)
        if waits(alone):
            raise self.refuse(node, "How many rows of this a private row would find is decided by noise.",
                              "Join it on all the columns that it is grouped by; or take one number of it, with "
                              "LIMIT 1 or an aggregate.")  # fmt: skip
        names = {table.name.lower() for table in alone.find_all(exp.Table)}
        tables = {name: table for name, table in self.catalog.public.items() if name in names}
        try:
            with Sandbox(tables) as sandbox:
                return sandbox.run(alone.sql("duckdb"))
        except PostProcessingError as error:
            raise self.refuse(node, error.cause, error.fix) from None

    def once(self, query: exp.Query, env: Env) -> Scope:
        """Split a sub-query of an expression; the same one twice, such as in each of several groupings, is one."""
        text = query.sql("duckdb", comments=False)
        found = next((scope for one, known, scope in self._split if one is env and known == text), None)
        if found is None:
            found = self.query(query.copy(), env)
            self._split.append((env, text, found))
        return found

    def place(self) -> tuple[int, int]:
        """How far the statement was split, for `back_to`."""
        return len(self.drafts), len(self._split)

    def back_to(self, place: tuple[int, int]) -> None:
        """Forget all that was split since then."""
        del self.drafts[place[0] :], self._split[place[1] :]

    def given(self, node: exp.Expr, env: Env, asked: exp.Expr) -> Given | None:
        """The table of released numbers that a public sub-query will be; None where it waits for no release.

        Args:
            node: the sub-query, split.
            env: the tables of WITH that it may name.
            asked: the same as the analyst wrote it.

        Raises:
            QueryRefused: it may have several rows that one private row would find, or DuckDB refuses it.
        """
        alone = standing_alone(node, env)
        if not waits(alone):
            return None
        text = alone.sql("duckdb", comments=False)
        if text in self._given:
            return self._given[text]
        try:
            found = given(alone, self.drafts, self.catalog.public, len(self._given) + 1, asked.sql("duckdb"))
        except PostProcessingError as error:
            raise self.refuse(node, error.cause, error.fix) from None
        if found is None:
            raise self.refuse(node, "This sub-query may have more than one row.",
                              "Take one of them, with LIMIT 1 or an aggregate such as MAX; or look it up by all the "
                              "columns that it is grouped by.")  # fmt: skip
        self._given[text] = found
        return found

    def unit_names(self) -> list[str]:
        """The columns that name units, or keys on the way to them, in lower case."""
        tables = self.catalog.private.values()
        keys = [column for table in tables for link in table.links for column in link.columns]
        return [table.own_unit for table in tables if table.own_unit] + keys

    def no_table(self, node: exp.Table, env: Env) -> QueryRefused:
        """The refusal of a table that is not there."""
        tables = [name for name in self.catalog.public if name not in INFORMATION]
        known = [*env, *self.catalog.private, *tables]
        near = difflib.get_close_matches(node.name.lower(), known, n=1)
        hint = f"Did you mean {near[0]}?" if near else f"The tables are {', '.join(known)}."
        return self.refuse(node, f"There is no table {node.name}.", hint)

    def split_inner(self, node: exp.Expr, env: Env, skip: Set[str] = frozenset()) -> None:
        """Split the sub-queries inside the expressions of a public scope."""
        for key, value in node.args.items():
            if key in skip or (
                key == "joins" and isinstance(node, exp.Select) and not isinstance(value, list)
            ):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, exp.Expr):
                    self._inner(child, env)

    def columns_of(self, source: exp.Expr, env: Env) -> Collection[str] | None:
        """The columns of a table in FROM, in lower case; None of anything else, or where it is not known."""
        name = source.name.lower() if isinstance(source, exp.Table) else ""
        scope = env.get(name)
        if scope is not None:
            return set(scope.columns) if isinstance(scope, Rows) else None
        if name in self.catalog.private:
            return self.catalog.private[name].columns
        public = self.catalog.public.get(name)
        return None if public is None else [column.lower() for column in public.column_names]

    def _inner(self, node: exp.Expr, env: Env) -> None:
        if isinstance(node, exp.Query):
            if isinstance(node.parent, exp.Join | exp.From):
                return  # a source, which was split already
            asked = node.unnest()
            each = by_keys(asked, lambda source: self.columns_of(source, env))
            if each is not None:
                asked.replace(each)
                node = each if asked is node else node
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
