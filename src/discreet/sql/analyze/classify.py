"""Builds the tree of the scopes of a statement: reads it from the inside out, and decides the class of each scope.

The tree stands over a copy of the statement. In it grouping sets are written out, joins in parentheses are taken apart,
sub-queries that look a group up are joined by its key, and public sub-queries over private rows are their values. These
are equivalences; nothing is cut out of the statement before its tree is whole.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Protocol

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.policy.naming import twins
from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.algebra.relation import PrivateRows
from discreet.sql.analyze.joins import laterals
from discreet.sql.analyze.joins.sources import Sources
from discreet.sql.analyze.joins.unnest import as_unnest, in_from
from discreet.sql.analyze.private_select import PrivateSelect
from discreet.sql.analyze.public_values import evaluated
from discreet.sql.analyze.scope_tree import (
    WHOLE,
    Env,
    Given,
    PrivateScope,
    PublicScope,
    Scope,
    ScopeKind,
    left_in_place,
)
from discreet.sql.analyze.set_operations import united
from discreet.sql.analyze.subqueries.correlated_release import by_keys
from discreet.sql.analyze.subqueries.exists_alone import rows_of_private, see_it_can_be_false
from discreet.sql.analyze.subqueries.group_sizes import asked_sizes
from discreet.sql.expressions.expression import Expression
from discreet.sql.syntax.grouping_sets import expand
from discreet.sql.syntax.join_groups import one_after_the_other
from discreet.sql.syntax.looking import INFORMATION
from discreet.sql.syntax.names.qualified import drop_schemas
from discreet.sql.syntax.nodes import conjunct_nodes, copied, holds
from discreet.sql.syntax.refusal import refuse

if TYPE_CHECKING:
    import pyarrow as pa

MOST_SCANS = 256
"""Reads of private tables that one query may stand on: tables of WITH that read the one before twice double them."""
READ_OF_SOURCE = frozenset({"this", "alias", "with_"})
"""The parts of a source in FROM that are read; any other behind private rows is refused, so that none is missed."""


def unknown_table(text: str, catalog: Catalog, node: exp.Table, env: Iterable[str] = ()) -> QueryRefused:
    """The refusal of a table that is not there."""
    tables = [name for name in catalog.public if name not in INFORMATION]
    known = [*env, *catalog.private, *tables]
    near = difflib.get_close_matches(node.name.lower(), known, n=1)
    hint = f"Did you mean {near[0]}?" if near else f"The tables are {', '.join(known)}."
    return refuse(node, text, f"There is no table {node.name}.", hint)


class CutReleases(Protocol):
    """The releases that were cut out of a statement.

    A number that private rows are compared with has to be cut out before these rows can be read: its column is one of
    theirs.
    """

    def given(self, scope: Scope, env: Env, asked: exp.Expr) -> Given | None:
        """The table of released numbers that a public scope will be; None where it waits for no release."""

    def rest(self, scope: Scope) -> exp.Expr:
        """The rest of a scope, when the releases in it are cut out."""


class Classifier:
    """Classifies the scopes of one statement; see `scope_tree.Scopes`.

    Args:
        text: of the statement, for pointing at places in it.
        catalog: the tables.
        releases: those that were cut out of it.
    """

    def __init__(self, text: str, catalog: Catalog, releases: CutReleases) -> None:
        self.text = text
        self.catalog = catalog
        self.releases = releases
        self.public_numbers: Iterator[int] = count(1)
        self.inner_numbers: Iterator[int] = count(1)
        self._known: list[tuple[Env, str, Scope]] = []

    def tree(self, statement: exp.Query) -> Scope:
        """The scope of the whole statement, which stays unchanged, with those inside it.

        Raises:
            QueryRefused: some part of it cannot be answered with a guarantee.
        """
        whole = copied(statement)
        whole.meta[WHOLE] = True
        drop_schemas(whole, {*self.catalog.private, *self.catalog.public}, self.refuse)
        return self.query(whole, {})

    def refuse(self, node: exp.Expr | None, cause: str, fix: str) -> QueryRefused:
        """The refusal that points at a part of this statement."""
        return refuse(node, self.text, cause, fix)

    # Queries -----------------------------------------------------------------------------------------------

    def query(self, node: exp.Expr, outer: Env) -> Scope:
        """The scope of a query."""
        if isinstance(node, exp.Select):
            sizes = asked_sizes(node) if node.args.get("group") is None else None
            counted = None if sizes is None else sizes.counted(self.alone(sizes.groups, outer))
            select = node if counted is None else counted
            _replaced(node, select)
            if select.is_star:
                from discreet.sql.analyze.pivots import merged

                select = merged(select, self, outer)
            node = _replaced(select, expand(select, self.text))
        tables = self._tables(node, outer)
        env = {**outer, **self._named(tables)} if tables else outer
        if isinstance(node, exp.Pivot):
            from discreet.sql.analyze.pivots import Pivoting, read

            return self.query(_replaced(node, Pivoting(self, read(node, self), env).select()), outer)
        scope = self._without_with(node, env)
        if isinstance(scope, PrivateScope) and len(rel.scans(scope.rows.relation)) > MOST_SCANS:
            raise self.refuse(node, f"These rows are read from more than {MOST_SCANS} tables, each counted each time "
                              "that it is read.", "Unite or join fewer tables.")  # fmt: skip
        if not tables or isinstance(scope, PrivateScope):
            return scope
        waits = scope.kind is ScopeKind.PUBLIC and any(table.released for table in tables.values())
        return replace(scope, tables=tuple(tables.values()), kind=ScopeKind.ABOVE if waits else scope.kind)

    def once(self, query: exp.Expr, env: Env) -> Scope:
        """The scope of a copy of a query; the same one twice, such as in each of several groupings, is one."""
        text = query.sql("duckdb", comments=False)
        found = next((scope for other, known, scope in self._known if other is env and known == text), None)
        if found is None:
            found = self.query(query.copy(), env)
            self._known.append((env, text, found))
        return found

    def alone(self, query: exp.Expr, env: Env) -> Scope | None:
        """The same of a query that may read columns of the rows around it; None where it does."""
        try:
            return self.once(query, env)
        except QueryRefused:
            return None

    def _without_with(self, node: exp.Expr, env: Env) -> Scope:
        if isinstance(node, exp.Subquery):
            inner = self.query(node.this, env)
            return (
                replace(inner, node=node) if isinstance(inner, PrivateScope) else left_in_place(node, [inner])
            )
        if isinstance(node, exp.SetOperation):
            return self._set_operation(node, env)
        if isinstance(node, exp.Select):
            return self._select(node, env)
        if isinstance(node, exp.Values | exp.Table):
            return self.source(node, env)
        raise self.refuse(node, f"{node.key.upper()} is not supported.", "Write it as a SELECT.")

    def _set_operation(self, node: exp.SetOperation, env: Env) -> Scope:
        left, right = (self.query(node.args[side], env) for side in ("this", "expression"))
        if isinstance(left, PrivateScope) and isinstance(right, PrivateScope):
            rows = united(node, self.text, left.rows, right.rows, self.refuse)
            sources = {"left": left, "right": right}
            return PrivateScope(kind=ScopeKind.ROWS, node=node, rows=rows, sources=sources)
        if isinstance(left, PrivateScope) or isinstance(right, PrivateScope):
            raise self.refuse(node.expression, "Private rows cannot be united with public ones: those belong to no "
                              "unit.", "Aggregate the private rows first.")  # fmt: skip
        return left_in_place(node, [left, right, *self.inside(node, env, {"this", "expression", "with_"})])

    def _tables(self, node: exp.Expr, outer: Env) -> dict[str, Scope]:
        """The tables of WITH, by lower-case name."""
        clause = node.args.get("with_")
        if clause is None:
            return {}
        same = twins(cte.alias for cte in clause.expressions)
        if same:
            raise self.refuse(clause.expressions[0], f"Two tables of WITH are named {same[-1]}.",
                              "Give one of them another name.")  # fmt: skip
        found: dict[str, Scope] = {}
        env = dict(outer)
        for cte in clause.expressions:
            if clause.recursive:
                # Inside itself a recursive table stands for its rows so far, which must be public.
                env[cte.alias.lower()] = PublicScope(kind=ScopeKind.PUBLIC, node=exp.to_table(cte.alias))
            scope = self.query(cte.this, env)
            if isinstance(scope, PrivateScope):
                scope = replace(scope, rows=self._renamed(scope.rows, cte.args.get("alias"), cte))
            found[cte.alias.lower()] = scope
            env |= self._named({cte.alias.lower(): scope})
        return found

    def _named(self, tables: Mapping[str, Scope]) -> Env:
        """The tables of WITH as those that name them see them."""
        return {
            name: scope if isinstance(scope, PrivateScope) else _defined(scope, scope.node.parent)
            for name, scope in tables.items()
        }

    # Sources -----------------------------------------------------------------------------------------------

    def source(self, node: exp.Expr, env: Env) -> Scope:
        """The scope of a source of FROM."""
        if node.args.get("pivots"):
            from discreet.sql.analyze.pivots import as_subquery

            node = _replaced(node, as_subquery(node, self, env))
        scope = self._plain_source(node, env)
        attached = [key for key, value in node.args.items() if value and key not in READ_OF_SOURCE]
        if isinstance(scope, PrivateScope) and attached:
            raise self.refuse(node, f"{attached[0].upper()} is not supported beside private rows in FROM.",
                              "Write joins one after the other, and nothing else behind the table.")  # fmt: skip
        beside = [self.source(join.this, env) for join in node.args.get("joins") or []]
        for source in beside:
            if isinstance(source, PrivateScope):
                raise self.refuse(source.node, "A join in parentheses with private rows is not supported.",
                                  "Write the joins one after the other.")  # fmt: skip
        return left_in_place(node, [*scope.inside, *beside], scope.sources) if beside else scope

    def _plain_source(self, node: exp.Expr, env: Env) -> Scope:
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            return self._table(node, env)
        if isinstance(node, exp.Subquery):
            return self._aliased(self.query(node, env), node)
        if isinstance(node, exp.Lateral):
            inner = [self.query(node.this, env)] if isinstance(node.this, exp.Query) else []
            if any(isinstance(scope, PrivateScope) for scope in inner):
                raise laterals.over_private(node, self.refuse)
            return left_in_place(node, inner)
        if isinstance(node, exp.Table | exp.Values | exp.Unnest):
            return left_in_place(node, self.inside(node, env))
        raise self.refuse(
            node, f"{node.key.upper()} is not supported in FROM.", "Name a table or a sub-query."
        )

    def _table(self, node: exp.Table, env: Env) -> Scope:
        """A table that is named: one of WITH, or of the catalog."""
        if node.args.get("sample") is not None:
            raise self.refuse(node, "TABLESAMPLE is not supported.", "Remove it.")
        name = node.name.lower()
        if name in env:
            scope = env[name]
            if isinstance(scope, PrivateScope):
                return self._aliased(replace(scope, node=node, sources={name: scope}), node)
            return left_in_place(node, [], {name: scope})
        if name in self.catalog.private:
            rows = rel.scan(self.catalog.private[name])
            return self._aliased(PrivateScope(kind=ScopeKind.ROWS, node=node, rows=rows), node)
        if name in self.catalog.public:
            return left_in_place(node, [])
        raise unknown_table(self.text, self.catalog, node, env)

    def _aliased(self, scope: Scope, node: exp.Expr) -> Scope:
        if not isinstance(scope, PrivateScope):
            return scope
        return replace(scope, rows=self._renamed(scope.rows, node.args.get("alias"), node))

    def _renamed(self, rows: PrivateRows, alias: exp.Expr | None, node: exp.Expr) -> PrivateRows:
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
        one_after_the_other(node)
        clause = node.args.get("from_")
        joins = node.args.get("joins") or []
        holders = ([clause] if clause is not None else []) + joins
        for join in joins:
            laterals.see_inner(join.this, env, self.catalog, self.refuse)
            join.set("this", as_unnest(join.this))
        scopes = [self.source(holder.this, env) for holder in holders]
        if any(isinstance(scope, PrivateScope) for scope in scopes):
            number = next(self.public_numbers)
            unnested = any(holds(item, exp.Explode) for item in node.expressions)
            items = in_from(node, number, self.refuse) if unnested else None
            if items is not None:
                node.append("joins", items)
                holders.append(items)
                scopes.append(self.source(items.this, env))
        named = {holder.this.alias_or_name.lower() or f"from{index}": scope
                 for index, (holder, scope) in enumerate(zip(holders, scopes, strict=True))}  # fmt: skip
        if not any(isinstance(scope, PrivateScope) for scope in scopes):
            return left_in_place(node, [*scopes, *self.inside(node, env, {"from_", "with_"})], named)
        where = node.args.get("where")
        conditions = conjunct_nodes(where.this if where is not None else None)
        from_clause = Sources(self, holders, scopes, conditions, env).from_clause()
        return PrivateSelect(self, node, env, from_clause, conditions, named).scope()

    def given(self, scope: Scope, env: Env, asked: exp.Expr) -> Given | None:
        """The table of released numbers that a public scope will be; None where it waits for no release."""
        return self.releases.given(scope, env, asked)

    def rest(self, scope: Scope) -> exp.Expr:
        """The rest of a public scope, when the releases in it are cut out."""
        return self.releases.rest(scope)

    def evaluate(self, scope: Scope, env: Env) -> pa.Table:
        """The rows of a public scope, which must not wait for a release.

        Raises:
            QueryRefused: it depends on a release, or DuckDB refuses it.
        """
        return evaluated(scope, env, self.catalog, self.refuse)

    # Sub-queries of expressions ----------------------------------------------------------------------------

    def inside(self, node: exp.Expr, env: Env, skip: Set[str] = frozenset()) -> list[Scope]:
        """The scopes of the sub-queries in the expressions of a public scope, or of a release."""
        found: list[Scope] = []
        for key, value in node.args.items():
            if key in skip or (
                key == "joins" and isinstance(node, exp.Select) and not isinstance(value, list)
            ):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, exp.Expr):
                    found += self._inner(child, env)
        return found

    def _inner(self, node: exp.Expr, env: Env) -> list[Scope]:
        if isinstance(node, exp.Table) or (
            isinstance(node, exp.Query) and isinstance(node.parent, exp.Join | exp.From | exp.Lateral)
        ):
            return []  # a source, which was read already
        if not isinstance(node, exp.Query):
            return [found for child in list(node.iter_expressions()) for found in self._inner(child, env)]
        asked = node.unnest()
        each = by_keys(asked, lambda source: self.columns_of(source, env))
        if each is not None:
            asked.replace(each)
            node = each if asked is node else node
        return [self.subquery(node, env)]

    def subquery(self, node: exp.Expr, env: Env) -> Scope:
        """The scope of a sub-query in an expression over groups or public rows."""
        scope = self.query(node, env)
        if isinstance(scope, PrivateScope):
            raise rows_of_private(node, self.refuse)
        if scope.kind is not ScopeKind.PUBLIC:
            see_it_can_be_false(node, self.refuse)
        return scope

    def columns_of(self, source: exp.Expr, env: Env) -> Collection[str] | None:
        """The columns of a table in FROM, in lower case; None of anything else, or where it is not known."""
        name = source.name.lower() if isinstance(source, exp.Table) else ""
        scope = env.get(name)
        if scope is not None:
            return set(scope.rows.columns) if isinstance(scope, PrivateScope) else None
        if name in self.catalog.private:
            return self.catalog.private[name].columns
        public = self.catalog.public.get(name)
        return None if public is None else [column.lower() for column in public.column_names]


def _defined(scope: Scope, definition: exp.Expr | None) -> PublicScope:
    """A table of WITH that stays in the statement, as those that name it see it."""
    kind = ScopeKind.ABOVE if scope.released else ScopeKind.PUBLIC
    return PublicScope(kind=kind, node=scope.node, inside=(scope,), definition=definition)


def _replaced(node: exp.Expr, by: exp.Expr) -> exp.Expr:
    """Another way to write a node, in its place."""
    if by is not node:
        node.replace(by)
    return by
