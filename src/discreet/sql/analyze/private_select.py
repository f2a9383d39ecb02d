"""One SELECT over private rows: which kind of scope it is, and its filter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

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
from discreet.sql.analyze.splitting import Env, Public, Scope, Splitting
from discreet.sql.analyze.subqueries.correlated import BEYOND, Inside, looked_up
from discreet.sql.analyze.subqueries.inner_queries import InnerQueries, over_groups, reads_given
from discreet.sql.analyze.subqueries.matching import in_by_key
from discreet.sql.analyze.subqueries.public_values import PublicValues
from discreet.sql.analyze.units.scope import UnitScope
from discreet.sql.analyze.units.windows import windowed
from discreet.sql.expressions.expression import Column, Expression
from discreet.sql.syntax.nodes import has_aggregate, has_window, reads_rows, unaliased, with_queries
from discreet.sql.syntax.parse import output_name
from discreet.sql.syntax.select_lists import as_groups, constant

if TYPE_CHECKING:
    pass


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
        self.inner = InnerQueries(splitter, env, frame)
        self.public = PublicValues(splitter, env)
        self.waiting: list[exp.Expr] = []

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
        self._filter()
        for child in self._clauses():
            self.public.put_in(child)
        if self.node.args.get("group") is None and not any(map(has_aggregate, self.node.expressions)):
            self._as_groups()
        if not self._aggregates():
            self._keep_all(self.waiting)
            for child in self._clauses():
                self._beside(child)
            return self._rows()
        groups = {node.sql() for node in self._group_nodes()}
        for child in self._clauses():
            self.inner.frame = self.frame
            self.inner.read_rows(child, groups)
            self.frame = self.inner.frame
        nodes = [node for node in self._group_nodes() if not constant(node)]
        if any(self._is_unit(n) for n in nodes) or self._by_key(nodes):
            self._keep_all(self.waiting)
            return UnitScope(self.splitter, self.node, self.env, self.frame, nodes).rows()
        conditions = self._of_groups(nodes)
        return Public(ReleaseScope(self.splitter, self.node, self.env, self.frame, nodes, conditions).post())

    def _clauses(self) -> list[exp.Expr]:
        """The clauses behind WHERE."""
        values = [self.node.args.get(key) for key in ("expressions", "group", "having", "order", "qualify")]
        listed = [one for value in values for one in (value if isinstance(value, list) else [value])]
        return [one for one in listed if isinstance(one, exp.Expr)]

    def _aggregates(self) -> bool:
        """Whether the rows are aggregated."""
        if any(self.node.args.get(part) is not None for part in ("group", "having")):
            return True
        clauses = [*self.node.expressions, *(self.node.args.get(part) for part in ("order", "qualify"))]
        return any(clause is not None and has_aggregate(clause) for clause in clauses)

    def _beside(self, node: exp.Expr) -> exp.Expr:
        """Read the sub-queries of an expression as columns beside the rows."""
        self.inner.frame = self.frame
        read = self.inner.read(node)
        self.frame = self.inner.frame
        return read

    def _keep_all(self, conditions: list[exp.Expr]) -> None:
        """Keep the rows that satisfy conditions with sub-queries beside the rows."""
        for node in conditions:
            read = self._beside(node)
            self.frame = self.frame.filtered(self.binder.condition(read))

    def _of_groups(self, nodes: list[exp.Expr]) -> list[exp.Expr]:
        """The conditions that keys and released numbers decide alone, which take whole groups; rows by the others.

        They say of every row of a group the same, so that the rows need not wait for the number.
        """
        keys = [self.binder.bind(node) for node in nodes if not has_aggregate(node)]

        def key_of(node: exp.Expr) -> exp.Expr | None:
            return node if reads_rows(node) and self._bound(node) in keys else None

        out: list[exp.Expr] = []
        for node in self.waiting:
            frame, known = self.frame, self.inner.known()
            read = self._beside(node.copy())
            if over_groups(read, key_of) is not None:
                out.append(read)
                self.frame = frame
                self.inner.forget(known)
            else:
                self.frame = self.frame.filtered(self.binder.condition(read))
        return out

    def _bound(self, node: exp.Expr) -> Expression | None:
        try:
            return self.binder.bind(node)
        except QueryRefused:
            return None

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
            place = self.splitter.place()
            if reads_given(node):
                self.waiting.append(node)
            elif not self._matches(node):
                self.splitter.back_to(place)  # of a look-up that it is not
                self.public.put_in(node)
                if any(isinstance(one, exp.Query) for one in with_queries(node)):
                    self.waiting.append(node)
                else:
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
        place = self.splitter.place()
        try:
            scope = self.splitter.query(query.copy(), self.env)
        except QueryRefused:
            self.splitter.back_to(place)
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
