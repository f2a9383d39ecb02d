"""One SELECT over private rows: which kind of scope it is, and its filter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from discreet import far
from discreet.engines.schema import Type
from discreet.errors import QueryRefused
from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.key_paths import groups_by_key, links
from discreet.sql.algebra.relation import Rows
from discreet.sql.analyze.binding.binder import Binder
from discreet.sql.analyze.binding.opaque_columns import about_column
from discreet.sql.analyze.cohorts import distinct
from discreet.sql.analyze.from_clause import Frame, all_of
from discreet.sql.analyze.joins.same_units import see_same_units
from discreet.sql.analyze.release_scope import ReleaseScope
from discreet.sql.analyze.selected_columns import written_out
from discreet.sql.analyze.splitting import Env, Public, Scope, Splitting
from discreet.sql.analyze.subqueries.correlated import BEYOND, Inside, looked_up
from discreet.sql.analyze.subqueries.matching import in_by_key
from discreet.sql.analyze.units.scope import UnitScope
from discreet.sql.analyze.units.windows import windowed
from discreet.sql.expressions.expression import Column, Expression
from discreet.sql.syntax.nodes import has_aggregate, has_window, unaliased, with_queries
from discreet.sql.syntax.parse import output_name
from discreet.sql.syntax.select_lists import as_groups, constant

if TYPE_CHECKING:
    import pyarrow as pa


MOST_VALUES = 10_000
"""The most values that a public sub-query of IN may have."""


class PrivateSelect:
    """Reads one SELECT over one frame of private rows."""

    def __init__(
        self, splitter: Splitting, node: exp.Select, env: Env, frame: Frame, conditions: list[exp.Expr]
    ) -> None:
        self.splitter = splitter
        self.node = node
        self.env = env
        self.frame = frame
        self.conditions = conditions
        self.refuse = splitter.refuse

    @property
    def binder(self) -> Binder:
        """Reads expressions over the present rows."""
        return self.frame.binder()

    @property
    def _unit(self) -> str:
        """The name of the privacy unit here, for advice."""
        return next(iter(sorted(self.frame.rows.units)), "unit")

    def scope(self) -> Scope:
        """Decide which kind of scope this is and split it."""
        for part, word in (("windows", "WINDOW"), ("laterals", "LATERAL"), ("connect", "CONNECT"), ("match", "MATCH"),
                           ("pivots", "PIVOT"), ("sample", "SAMPLE"), ("into", "INTO")):  # fmt: skip
            if self.node.args.get(part):
                raise self.refuse(self.node, f"{word} over private rows is not supported.", "Remove it.")
        self.node = written_out(self.node, self.frame.rows.names, self.refuse)
        self._filter()
        for key in ("expressions", "group", "having", "order", "qualify"):
            value = self.node.args.get(key)
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, exp.Expr):
                    self._with_public_values(child)
        if self.node.args.get("group") is None and not any(map(has_aggregate, self.node.expressions)):
            self._as_groups()
        clauses = [*self.node.expressions, *(self.node.args.get(k) for k in ("having", "order", "qualify"))]
        group, having = self.node.args.get("group"), self.node.args.get("having")
        if (
            group is not None
            or having is not None
            or any(c is not None and has_aggregate(c) for c in clauses)
        ):
            nodes = self._group_nodes()
            nodes = [node for node in nodes if not constant(node)]
            if any(self._is_unit(n) for n in nodes) or self._by_key(nodes):
                return UnitScope(self.refuse, self.node, self.frame, self.binder, nodes).rows()
            return Public(ReleaseScope(self.splitter, self.node, self.env, self.frame, nodes).post())
        return self._rows()

    def _as_groups(self) -> None:
        """Read SELECT DISTINCT of anything but units as groups that have rows."""
        grouped = as_groups(self.node)
        if grouped is not None and not any(self._is_unit(unaliased(item)) for item in self.node.expressions):
            self.node = grouped

    def _by_key(self, nodes: list[exp.Expr]) -> bool:
        """Whether rows of one group are of one unit, because the groups have a key on the path to the unit."""
        bound = [self.binder.bind(n) for n in nodes if isinstance(n, exp.Column)]
        return groups_by_key(self.frame.rows.relation, bound)

    def _is_unit(self, node: exp.Expr) -> bool:
        if not isinstance(node, exp.Column):
            return False
        bound = self.binder.bind(node)
        return isinstance(bound, Column) and bound.name in self.frame.held

    # WHERE -------------------------------------------------------------------------------------------------

    def _filter(self) -> None:
        plain: list[Expression] = []
        for node in self.conditions:
            if has_aggregate(node):
                raise self.refuse(
                    node, "WHERE is read before the aggregation.", "Put aggregates into HAVING."
                )
            if has_window(node):
                raise self.refuse(
                    node, "WHERE is read before the window functions.", "Put them into QUALIFY."
                )
            if not self._matches(node):
                self._with_public_values(node)
                plain.append(self.binder.condition(node))
        where = all_of(plain)
        if where is not None:
            self.frame = self.frame.filtered(where)

    def _matches(self, node: exp.Expr) -> bool:
        """Read `unit IN (SELECT …)` and lookups in the rows of the same unit; whether it was one of these."""
        anti = isinstance(node, exp.Not)
        inner = node.this if anti else node
        while isinstance(inner, exp.Paren):
            inner = inner.this
        if isinstance(inner, exp.In) and inner.args.get("query") is not None and self._is_unit(inner.this):
            scope = self.splitter.query(inner.args["query"].copy(), self.env)
            if not isinstance(scope, Rows):
                return False
            if len(scope.names) != 1 or scope.names[0].lower() not in scope.units:
                raise self.refuse(inner.this, "Private rows can be looked up by their privacy unit only.",
                                  f"Write {self._unit} IN (SELECT {self._unit} FROM …).")  # fmt: skip
            self._match(inner, scope, None, anti)
            return True
        return self._in_by_key(inner, anti) or self._looked_up(node)

    def _in_by_key(self, node: exp.Expr, anti: bool) -> bool:
        """Read `key IN (SELECT key …)`, of a key on the path to the unit."""
        query = node.args.get("query") if isinstance(node, exp.In) else None
        bound = (
            self.binder.bind(node.this) if query is not None and isinstance(node.this, exp.Column) else None
        )
        keys = links(self.frame.rows.relation)
        if (
            query is None
            or not isinstance(bound, Column)
            or not any(bound.name in one.columns for one in keys)
        ):
            return False
        before = list(self.splitter.drafts)
        try:
            scope = self.splitter.query(query.copy(), self.env)
        except QueryRefused:
            self.splitter.drafts[:] = before
            return False  # it reads columns of the rows around it
        found = in_by_key(self.frame, bound, scope) if isinstance(scope, Rows) else None
        if found is not None:
            self._match(node, *found, anti)
        return found is not None

    def _looked_up(self, node: exp.Expr) -> bool:
        """Read EXISTS, IN, ANY and ALL over rows of the same unit."""
        asked = looked_up(node)
        if asked is None:
            return False
        holder = asked.query.args["from_"].this
        source = self.splitter.source(holder.copy(), self.env)
        if not isinstance(source, Rows):
            if asked.outer:
                return False
            raise self.refuse(node, "EXISTS over a public table is not supported.",
                              f"Write x IN (SELECT x FROM {holder.alias_or_name}), or join the table.")  # fmt: skip
        other = next((part for part in BEYOND if asked.query.args.get(part)), None)
        if other is not None and asked.outer:
            return False
        if other is not None:
            raise self.refuse(node, f"{other.strip('_').upper()} is not supported in EXISTS over private rows.",
                              f"Write {self._unit} IN (SELECT {self._unit} FROM …).")  # fmt: skip
        inside = Inside(self.splitter.text, source, holder.alias_or_name.lower(), self.frame)
        on = inside.conditions(asked, self.refuse)
        self._match(node, inside.frame.rows, on, asked.anti)
        return True

    def _match(self, node: exp.Expr, scope: Rows, on: Expression | None, anti: bool) -> None:
        rows = self.frame.rows
        if not (rows.per_unit and scope.per_unit):
            raise self.refuse(self.node, "Rows that are one unit each cannot be looked up in other private rows.",
                              "Declare the column that names the unit in the policy.")  # fmt: skip
        see_same_units(node, self.splitter.text, rows, scope)
        relation = rel.Matching(rows.relation, scope.relation, on, anti)
        self.frame = self.frame.over(rel.replaced(rows, relation))

    def _with_public_values(self, node: exp.Expr) -> None:
        """Replace public sub-queries by their values: they cost nothing and do not wait for a release."""
        for inner in with_queries(node):
            if isinstance(inner, exp.In) and inner.args.get("query"):
                table = self._public(inner.args["query"])
                self._see_dates(inner, table)
                values = [v for v in table.column(0).unique().to_pylist() if v is not None]
                if len(values) > MOST_VALUES or not values:
                    raise self.refuse(inner, f"This sub-query has {len(values):,} values; from 1 to {MOST_VALUES:,} "
                                      "are allowed.", "Join with the public table instead.")  # fmt: skip
                inner.set("query", None)
                inner.set("expressions", [exp.convert(v) for v in values])
            elif isinstance(inner, exp.Subquery):
                private = self.splitter.catalog.private
                if isinstance(inner.parent, exp.In | exp.Exists) or any(
                    t.name.lower() in private for t in inner.find_all(exp.Table)
                ):
                    continue  # a release, or refused where it is read
                table = self._public(inner)
                if len(table) > 1 or table.num_columns != 1:
                    raise self.refuse(
                        inner, "This sub-query is not a single value.", "Add LIMIT 1, or aggregate."
                    )
                self._see_dates(inner, table)
                inner.replace(exp.convert(table.column(0)[0].as_py()) if len(table) else exp.null())

    def _see_dates(self, node: exp.Expr, table: pa.Table) -> None:
        if any(far.is_far(column) for column in table.itercolumns()):
            raise self.refuse(node, "This sub-query has a date outside the years 1 to 9999.",
                              "Leave it out with a condition.")  # fmt: skip

    def _public(self, query: exp.Expr) -> pa.Table:
        scope = self.splitter.query(query.copy(), self.env)
        if isinstance(scope, Rows):
            raise self.refuse(
                query, "This sub-query returns rows of a private table.", "Aggregate them in it."
            )
        return self.splitter.evaluate(scope.node, self.env)

    # rows --------------------------------------------------------------------------------------------------

    def _rows(self) -> Rows:
        for part in ("limit", "offset"):
            if self.node.args.get(part) is not None:
                raise self.refuse(self.node.args[part], f"{part.upper()} over private rows would keep arbitrary ones.",
                                  "Remove it: no rows are shown, only aggregates of them, such as COUNT(*), above "
                                  "which it may stand.")  # fmt: skip
        items = list(self.node.expressions)
        qualify = self.node.args.get("qualify")
        frame = self.frame
        if qualify is not None or any(has_window(item) for item in items):
            frame, items, qualify = windowed(self.refuse, frame, self.binder, items, qualify)
        binder = frame.binder()
        listed: list[tuple[str, Expression]] = []
        for item, original in zip(items, self.node.expressions, strict=True):
            if item.is_star:
                listed += self._star(item)
            else:
                listed.append((output_name(original), binder.carried(unaliased(item))))
        seen: set[str] = set()
        for name, _ in listed:
            if name.lower() in seen:
                raise self.refuse(self.node.expressions[0], f"Two columns are named {name}.",
                                  "Give one of them another name with AS.")  # fmt: skip
            seen.add(name.lower())
        where = None if qualify is None else binder.condition(qualify.this)
        rows = frame.rows if where is None else rel.select(frame.rows, None, where)
        if self.node.args.get("distinct") is None:
            return frame.projected(rows, listed)
        return self._distinct(frame, rows, listed)

    def _distinct(self, frame: Frame, rows: Rows, listed: list[tuple[str, Expression]]) -> Rows:
        if self.node.args["distinct"].args.get("on") is not None:
            raise self.refuse(
                self.node,
                "DISTINCT ON over private rows is not supported.",
                f"Write QUALIFY row_number() OVER (PARTITION BY {self._unit} ORDER BY …) = 1.",
            )
        plain = frame.projected(rows, listed)
        if not plain.per_unit or not plain.units:
            raise self.refuse(self.node, "DISTINCT would merge rows of different units.",
                              "Select the privacy unit, too.")  # fmt: skip
        for name, column in plain.columns.items():
            if column.type is Type.OTHER:
                raise self.refuse(self.node, *about_column(plain.relation, column, name))
        return distinct(plain)

    def _star(self, item: exp.Expr) -> list[tuple[str, Expression]]:
        star = item.this if isinstance(item, exp.Column) else item
        if star.args.get("replace") or star.args.get("rename"):
            raise self.refuse(item, "REPLACE and RENAME of * are not supported here.", "List the columns.")
        left_out = {c.name.lower() for c in star.args.get("except_") or []}
        wanted = item.table if isinstance(item, exp.Column) else ""
        if wanted:
            table = self.frame.tables.get(wanted.lower())
            if table is None:
                raise self.refuse(item, f"There is no table {wanted} here.",
                                  f"The tables are {', '.join(self.frame.tables)}.")  # fmt: skip
            return [(n, c) for n, c in table.items() if n not in left_out]
        rows = self.frame.rows
        return [(n, rows.columns[n.lower()]) for n in rows.names if n.lower() not in left_out]

    # GROUP BY ----------------------------------------------------------------------------------------------

    def _group_nodes(self) -> list[exp.Expr]:
        group = self.node.args.get("group")
        if group is None:
            return []
        if group.args.get("all"):
            return [
                unaliased(item)
                for item in self.node.expressions
                if not has_aggregate(item) and list(item.find_all(exp.Column))
            ]
        if group.args.get("totals"):
            raise self.refuse(group, "WITH TOTALS is not supported.", "Use ROLLUP.")
        return [self._dereferenced(node) for node in group.expressions]

    def _dereferenced(self, node: exp.Expr) -> exp.Expr:
        """A number in GROUP BY is a place in the SELECT list; a name may be an alias of it."""
        if isinstance(node, exp.Literal) and not node.is_string:
            at = int(node.name) if node.name.isdigit() else 0
            if not 1 <= at <= len(self.node.expressions):
                raise self.refuse(
                    node, f"There is no column number {node.name}.", "Count from 1 in the SELECT list."
                )
            return unaliased(self.node.expressions[at - 1])
        if (
            isinstance(node, exp.Column)
            and not node.table
            and node.name.lower() not in self.frame.rows.columns
        ):
            for item in self.node.expressions:
                if item.alias.lower() == node.name.lower():
                    return unaliased(item)
        return node
