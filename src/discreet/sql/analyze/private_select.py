"""One SELECT over private rows: its filter, and the class of its scope."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from discreet.engines.schema import Type
from discreet.errors import QueryRefused
from discreet.policy.naming import folded
from discreet.sql.algebra.relation import PrivateRows
from discreet.sql.analyze.distinct_on import first_rows, on_of, shown
from discreet.sql.analyze.from_clause import FromClause, all_of
from discreet.sql.analyze.public_values import with_public_values
from discreet.sql.analyze.scope_tree import NUMBER, Env, PrivateScope, ReleaseScope, Scope, ScopeKind, Scopes
from discreet.sql.analyze.selected_columns import written_out
from discreet.sql.analyze.subqueries.exists_alone import rows_of_private, see_it_can_be_false
from discreet.sql.analyze.subqueries.inner_queries import InnerQueries, over_groups, reads_given
from discreet.sql.expressions.expression import Expression
from discreet.sql.syntax.column_aliases import ColumnAliases
from discreet.sql.syntax.nodes import (
    has_aggregate,
    has_window,
    holds,
    is_aggregate,
    reads_rows,
    unaliased,
    with_queries,
)
from discreet.sql.syntax.select_lists import as_groups, constant


class PrivateSelect:
    """Reads one SELECT over one FROM clause of private rows.

    Args:
        around: the statement around it.
        node: the SELECT.
        env: the tables of WITH.
        from_clause: the rows of FROM.
        conditions: of WHERE, as far as they do not say how the sources are joined.
        sources: the scopes of FROM, by name.
    """

    def __init__(
        self,
        around: Scopes,
        node: exp.Select,
        env: Env,
        from_clause: FromClause,
        conditions: list[exp.Expr],
        sources: Mapping[str, Scope],
    ) -> None:
        self.around = around
        self.place = self.node = node
        self.env = env
        self.from_clause = from_clause
        self.conditions = conditions
        self.sources = sources
        self.refuse = around.refuse
        self.inner = InnerQueries(around, env, from_clause)
        self.waiting: list[exp.Expr] = []

    def scope(self) -> Scope:
        """Decide which kind of scope this is."""
        for part, word in (("windows", "WINDOW"), ("laterals", "LATERAL"), ("connect", "CONNECT"), ("match", "MATCH"),
                           ("pivots", "PIVOT"), ("sample", "SAMPLE"), ("into", "INTO")):  # fmt: skip
            if self.node.args.get(part):
                raise self.refuse(self.node, f"{word} over private rows is not supported.", "Remove it.")
        distinct = self.node.args.get("distinct")
        on = None if distinct is None else distinct.args.get("on")
        if on is not None and any(self.from_clause.is_unit(shown(self.node, key)) for key in on_of(on)):
            self.node = first_rows(self.node)
        self.node = written_out(self.node, _whole_columns(self.from_clause.rows), self.refuse)
        self.aliases = ColumnAliases(self.node, self.from_clause.knows, self.refuse)
        self.conditions = [self.aliases.in_condition(node) for node in self.conditions]
        self._filter()
        for child in _clauses(self.node):
            with_public_values(child, self.around, self.env)
        select = self._grouped()
        if select is None:
            return self._rows()
        nested = [child for child in _clauses(select) if holds(child, exp.Query)]
        texts = {node.sql() for node in self._group_nodes(select)} if nested else set()
        for child in nested:
            self.inner.from_clause = self.from_clause
            self.inner.read_rows(child, texts)
            self.from_clause = self.inner.from_clause
        groups = [node for node in self._group_nodes(select) if not constant(node)]
        if any(self.from_clause.is_unit(n) for n in groups) or self._by_key(groups):
            from discreet.sql.analyze.units.scope import UnitScope

            self._keep_all()
            rows = UnitScope(self.around, select, self.env, self.from_clause, groups).rows()
            return PrivateScope(kind=ScopeKind.PER_UNIT, node=self.place, rows=rows, sources=self.sources)
        conditions = self._of_groups(groups)
        return ReleaseScope(kind=ScopeKind.RELEASE, node=self.place, sources=self.sources, select=select,
                            from_clause=self.from_clause, groups=groups, conditions=conditions,
                            inside=self._inside(select))  # fmt: skip

    def _rows(self) -> PrivateScope:
        from discreet.sql.analyze.row_scope import rows_of

        self.node = self.aliases.in_list()
        self._keep_all()
        for child in _clauses(self.node):
            self._beside(child)
        rows = rows_of(self.node, self.from_clause, self.refuse)
        return PrivateScope(kind=ScopeKind.ROWS, node=self.place, rows=rows, sources=self.sources)

    def _grouped(self) -> exp.Select | None:
        """The SELECT as one over groups of rows; None where it is one over the rows.

        SELECT DISTINCT of anything but units is read as the groups that have rows.
        """
        node = self.node
        group, having = node.args.get("group"), node.args.get("having")
        if group is None and not any(map(has_aggregate, node.expressions)):
            grouped = as_groups(self.aliases.in_list())
            if grouped is not None and not any(
                self.from_clause.is_unit(unaliased(i)) for i in node.expressions
            ):
                return grouped
        clauses = [*node.expressions, *(node.args.get(k) for k in ("order", "qualify"))]
        aggregated = any(c is not None and has_aggregate(c) for c in clauses)
        return self.aliases.over_groups() if group is not None or having is not None or aggregated else None

    def _by_key(self, nodes: list[exp.Expr]) -> bool:
        """Whether rows of one group are of one unit, because the groups have a key on the path to the unit."""
        from discreet.sql.algebra.key_paths import groups_by_key

        binder = self.from_clause.binder()
        bound = [binder.bind(n) for n in nodes if isinstance(n, exp.Column)]
        return groups_by_key(self.from_clause.rows.relation, bound)

    def _filter(self) -> None:
        """Read WHERE."""
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
            if reads_given(node):
                self.waiting.append(node)
                continue
            if holds(node, exp.Query):
                from discreet.sql.analyze.subqueries.lookups import matched

                found = matched(node, self.from_clause, self.around, self.env)
                if found is not None:
                    self.from_clause = found
                    continue
            holder = exp.paren(node, copy=False)
            # A refusal looks at the tables around it.
            holder.parent = self.node
            with_public_values(holder, self.around, self.env)
            node = holder.this
            if any(isinstance(inner, exp.Query) for inner in with_queries(node)):
                self.waiting.append(node)
            else:
                plain.append(self.from_clause.binder().condition(node))
        where = all_of(plain)
        if where is not None:
            self.from_clause = self.from_clause.filtered(where)

    def _beside(self, node: exp.Expr) -> exp.Expr:
        """Read the sub-queries of an expression as columns beside the rows."""
        self.inner.from_clause = self.from_clause
        read = self.inner.read(node)
        self.from_clause = self.inner.from_clause
        return read

    def _keep_all(self) -> None:
        """Keep the rows that satisfy conditions with sub-queries beside the rows."""
        for node in self.waiting:
            read = self._beside(node)
            self.from_clause = self.from_clause.filtered(self.from_clause.binder().condition(read))

    def _of_groups(self, nodes: list[exp.Expr]) -> list[exp.Expr]:
        """The conditions that keys and released numbers decide alone, which take whole groups; rows by the others.

        They say of every row of a group the same, so that the rows need not wait for the number.
        """
        keys = [self.from_clause.binder().bind(node) for node in nodes if not has_aggregate(node)]

        def key_of(node: exp.Expr) -> exp.Expr | None:
            return node if reads_rows(node) and self._bound(node) in keys else None

        out: list[exp.Expr] = []
        for node in self.waiting:
            from_clause, known = self.from_clause, self.inner.known()
            read = self._beside(node.copy())
            if over_groups(read, key_of) is not None:
                out.append(read)
                self.from_clause = from_clause
                self.inner.forget(known)
            else:
                self.from_clause = self.from_clause.filtered(self.from_clause.binder().condition(read))
        return out

    def _bound(self, node: exp.Expr) -> Expression | None:
        try:
            return self.from_clause.binder().bind(node)
        except QueryRefused:
            return None

    def _inside(self, select: exp.Select) -> list[Scope]:
        """The scopes of the sub-queries of a release, which stand beside its groups."""
        found: list[Scope] = []

        def read(node: exp.Expr) -> None:
            if isinstance(node, exp.Query):
                scope = self.around.once(node.unnest(), self.env)
                if isinstance(scope, PrivateScope):
                    raise rows_of_private(node, self.refuse)
                if scope.kind is not ScopeKind.PUBLIC:
                    see_it_can_be_false(node, self.refuse)
                node.meta[NUMBER] = len(found)
                found.append(scope)
            elif not is_aggregate(node):
                for child in list(node.iter_expressions()):
                    read(child)

        for clause in (*select.expressions, *(select.args.get(k) for k in ("having", "qualify", "order"))):
            if clause is not None:
                read(clause)
        for part in ("limit", "offset", "distinct"):
            if select.args.get(part) is not None:
                for scope in self.around.inside(select.args[part], self.env):
                    scope.node.meta[NUMBER] = len(found)
                    found.append(scope)
        return found

    # GROUP BY ----------------------------------------------------------------------------------------------

    def _group_nodes(self, select: exp.Select) -> list[exp.Expr]:
        group = select.args.get("group")
        if group is None:
            return []
        if group.args.get("all"):
            keys = {
                index: unaliased(item)
                for index, item in enumerate(select.expressions)
                if not has_aggregate(item) and list(item.find_all(exp.Column))
            }
            return [key for index, key in keys.items() if not self._follows(index, keys)]
        return [self._dereferenced(node, select.expressions) for node in group.expressions]

    def _follows(self, index: int, keys: Mapping[int, exp.Expr]) -> bool:
        """Whether a key is computed from other keys of the list alone, so that it divides no group of theirs."""
        others = [key for key in keys.values() if key != keys[index]]

        def reads(node: exp.Expr) -> bool:
            if node in others:
                return False
            return isinstance(node, exp.Column | exp.Query) or any(map(reads, node.iter_expressions()))

        return not reads(keys[index])

    def _dereferenced(self, node: exp.Expr, listed: list[exp.Expr]) -> exp.Expr:
        """A number in GROUP BY is a place in the SELECT list; a name may be an alias of it."""
        if isinstance(node, exp.Literal) and not node.is_string:
            number = int(node.name) if node.name.isdigit() else 0
            if not 1 <= number <= len(listed):
                raise self.refuse(
                    node, f"There is no column number {node.name}.", "Count from 1 in the SELECT list."
                )
            return unaliased(listed[number - 1])
        if (
            isinstance(node, exp.Column)
            and not node.table
            and node.name.lower() not in self.from_clause.rows.columns
        ):
            for item in listed:
                if folded(item.alias) == folded(node.name):
                    return unaliased(item)
        return node


def _clauses(node: exp.Select) -> list[exp.Expr]:
    """The clauses behind WHERE."""
    values = [node.args.get(key) for key in ("expressions", "group", "having", "order", "qualify")]
    listed = [clause for value in values for clause in (value if isinstance(value, list) else [value])]
    return [clause for clause in listed if isinstance(clause, exp.Expr)]


def _whole_columns(rows: PrivateRows) -> list[str]:
    """The columns without the fields of structs, which DuckDB does not list beside them."""
    structs = tuple(
        f"{name.lower()}." for name in rows.names if rows.columns[name.lower()].type is Type.OTHER
    )
    return [name for name in rows.names if not name.lower().startswith(structs)]
