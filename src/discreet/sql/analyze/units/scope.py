"""Per-unit scopes: GROUP BY the privacy unit, with one row for each unit and group."""

from __future__ import annotations

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.policy.naming import twins
from discreet.release.noisy_schema import key_name
from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.relation import PrivateRows, UnitAggregate
from discreet.sql.analyze.from_clause import FromClause
from discreet.sql.analyze.scope_tree import Env, Scopes
from discreet.sql.analyze.subqueries.inner_queries import InnerQueries
from discreet.sql.analyze.units.aggregates import read_unit_aggregate
from discreet.sql.analyze.units.columns import HERE, placed
from discreet.sql.expressions.expression import Column
from discreet.sql.syntax.nodes import has_aggregate, is_aggregate, own_nodes, rebuilt, unaliased
from discreet.sql.syntax.parse import output_name
from discreet.sql.syntax.select_lists import named_items, with_aliases


class UnitScope:
    """Reads one SELECT … GROUP BY unit [, keys]."""

    def __init__(
        self, around: Scopes, node: exp.Select, env: Env, from_clause: FromClause, group_nodes: list[exp.Expr]
    ) -> None:
        self.around = around
        self.refuse = around.refuse
        self.node = node
        self.env = env
        self.from_clause = from_clause
        self.binder = binder = from_clause.binder()
        self.keys = [binder.bind(n) for n in group_nodes]
        self.columns: dict[str, Column] = {
            key_name(index): Column(key_name(index), key.type, key.span)
            for index, key in enumerate(self.keys)
        }
        self.aggregates: list[tuple[str, UnitAggregate]] = []

    def rows(self) -> PrivateRows:
        """One row for each unit and group."""
        for part in ("limit", "offset"):
            if self.node.args.get(part) is not None:
                raise self.refuse(self.node.args[part],
                                  f"{part.upper()} would pick single groups here, and each of them is rows of one "
                                  "unit, which no answer may show.",
                                  "Leave it out, and aggregate the groups in a query around this one, as in SELECT "
                                  "COUNT(*), AVG(n) FROM (…).")  # fmt: skip
        for part in ("qualify", "distinct"):
            if self.node.args.get(part) is not None:
                raise self.refuse(self.node.args[part], f"{part.upper()} is not supported beside GROUP BY the unit.",
                                  "Put a sub-query around it.")  # fmt: skip
        lifted = []
        for item in self.node.expressions:
            if item.is_star:
                raise self.refuse(item, "* cannot stand beside GROUP BY.", "Name the columns.")
            lifted.append((output_name(item), self._lift(unaliased(item))))
        same = twins(name for name, _ in lifted)
        if same:
            raise self.refuse(self.node.expressions[0], f"Two columns are named {same[-1]}.",
                              "Give one of them another name with AS.")  # fmt: skip
        having = self.node.args.get("having")
        meant = named_items(self.node, self.refuse)
        named = (
            None
            if having is None
            else with_aliases(having.this, meant, lambda c: self._as_key(c) is not None)
        )
        test = None if named is None else self._lift(named)
        rows, held = self.from_clause.rows, self.from_clause.held
        keys = tuple((key_name(index), key) for index, key in enumerate(self.keys))
        alone = all(isinstance(key, Column) and key.name in held for key in self.keys)
        grouped = PrivateRows(
            rel.PerUnit(rows.relation, keys, tuple(self.aggregates)),
            self.columns,
            tuple(self.columns),
            True,
            1 if alone else rows.max_rows,
            frozenset(n for n, key in keys if isinstance(key, Column) and key.name in held),
            alone or rows.fixed,
        )
        groups = FromClause(self.binder.text, grouped, {HERE: self.columns}, frozenset(), frozenset())
        beside = InnerQueries(self.around, self.env, groups)
        lifted = [(name, beside.read(node)) for name, node in lifted]
        test = None if test is None else beside.read(test)
        outer = beside.from_clause.binder()
        items = [(name, outer.bind(node)) for name, node in lifted]
        return rel.select(beside.from_clause.rows, items, None if test is None else outer.condition(test))

    def _lift(self, node: exp.Expr) -> exp.Expr:
        if is_aggregate(node):
            aggregate, kind, span = read_unit_aggregate(node, self.binder, self.from_clause.rows.max_rows)
            name = f"g{len(self.aggregates)}"
            self.aggregates.append((name, aggregate))
            self.columns[name] = Column(name, kind, span)
            return placed(node, name)
        if isinstance(node, exp.Query):
            return node.copy()
        if isinstance(node, exp.Window):
            raise self.refuse(
                node, "This cannot stand beside GROUP BY the unit.", "Put a sub-query around it."
            )
        key = self._as_key(node)
        if key is not None:
            return placed(node, key_name(key))
        if isinstance(node, exp.Column):
            self.binder.bind(node)
            raise self.refuse(node, f"{node.sql('duckdb')} is neither grouped by nor inside an aggregate.",
                              f"Add it to GROUP BY, or write for instance MAX({node.name}).")  # fmt: skip
        return rebuilt(node, self._lift)

    def _as_key(self, node: exp.Expr) -> int | None:
        if has_aggregate(node) or not any(isinstance(n, exp.Column) for n in own_nodes(node)):
            return None
        try:
            bound = self.binder.bind(node)
        except QueryRefused:
            return None
        return self.keys.index(bound) if bound in self.keys else None
