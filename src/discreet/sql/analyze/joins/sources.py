"""The sources of a FROM clause, put together one after the other."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.sql.analyze.from_clause import FromClause, prefixed, single
from discreet.sql.analyze.joins.laterals import of_outer
from discreet.sql.analyze.scope_tree import Env, PrivateScope, Scope, Scopes, left_in_place
from discreet.sql.syntax.join_groups import TIED, in_parentheses

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.sql.analyze.joins.joins import Clause


class Sources:
    """The sources of a scope over private rows, of which one at least holds private rows.

    Args:
        around: the statement around it.
        holders: the FROM and the joins.
        scopes: of the sources.
        conditions: of WHERE. Those that say how sources are joined are taken out, and conditions of inner joins of
            public tables in front of the first private one are added.
        env: the tables of WITH.
    """

    def __init__(
        self,
        around: Scopes,
        holders: Sequence[exp.Expr],
        scopes: Sequence[Scope],
        conditions: list[exp.Expr],
        env: Env,
    ) -> None:
        self.around = around
        self.holders = holders
        self.scopes = scopes
        self.conditions = conditions
        self.env = env
        self.names = [
            holder.this.alias_or_name.lower() or f"from{index}" for index, holder in enumerate(holders)
        ]

    def from_clause(self) -> FromClause:
        """All sources, joined."""
        text, names = self.around.text, self.names
        grouped = next((holder.this for holder in self.holders if in_parentheses(holder.this)), None)
        if grouped is not None:
            raise self.around.refuse(
                grouped,
                "Joins in parentheses are not read here, because an outer join or a later join hangs on them.",
                "Write the joins one after the other, or (SELECT … FROM a JOIN b …) AS c in their place.",
            )
        start = self.scopes[0]
        if len(self.holders) == 1:
            assert isinstance(start, PrivateScope)
            return single(text, names[0], start.rows)
        from discreet.sql.analyze.joins.joins import read_join

        clauses = [
            read_join(text, h if isinstance(h, exp.Join) else exp.Join(this=h.this)) for h in self.holders
        ]
        clauses = self._since_commas(clauses)
        order = list(range(len(self.holders)))
        first = next(index for index in order if isinstance(self.scopes[index], PrivateScope))
        met = clauses[first]
        if first > 0 and (met.outer or met.keeps or met.natural or met.using or met.asof):
            return self._joined(self._public_first(first, met), order[first + 1 :], clauses)
        if first > 0:
            # Public tables in front change places with the first private one, which an inner join allows.
            if any(c.outer or c.kind or c.using or c.keeps or c.natural for c in clauses[: first + 1]):
                raise self.around.refuse(
                    self.holders[first].this,
                    "Private rows must stand left of a LEFT, SEMI or ANTI JOIN and of USING.",
                    f"Write FROM {names[first]} first.",
                )
            self.conditions += [c for clause in clauses[: first + 1] for c in clause.on]
            clauses[: first + 1] = [replace(clause, on=(), comma=True) for clause in clauses[: first + 1]]
            order.insert(0, order.pop(first))
        return self._joined(self._prefixed(order[0]), order[1:], clauses)

    def _since_commas(self, clauses: Sequence[Clause]) -> list[Clause]:
        """The joins with the sources since the last comma, which binds less than JOIN."""
        out, start = [], 0
        for index, clause in enumerate(clauses):
            if clause.comma and not clause.node.meta.get(TIED):
                start = index
            if not 0 < start < index:
                out.append(clause)
                continue
            if clause.keeps:
                raise self.around.refuse(
                    self.holders[index].this,
                    "A RIGHT or FULL JOIN behind a comma keeps rows of a part of FROM alone.",
                    "Put the sources that it joins into a sub-query of FROM.",
                )
            out.append(replace(clause, beside=tuple(self.names[start:index])))
        return out

    def _prefixed(self, index: int) -> FromClause:
        scope = self.scopes[index]
        assert isinstance(scope, PrivateScope)
        return prefixed(self.around.text, self.names[index], scope.rows)

    def _public_first(self, first: int, clause: Clause) -> FromClause:
        """Public tables, then a LEFT, RIGHT, FULL or NATURAL JOIN, or USING, with the first private rows."""
        from discreet.sql.analyze.joins.joins import join_public_tables

        if clause.asof:
            raise self.around.refuse(
                self.holders[first].this,
                "The private rows of an ASOF JOIN stand on its left side.",
                f"Write FROM {self.names[first]} ASOF JOIN {self.names[0]}.",
            )
        if clause.kind:
            raise self.around.refuse(
                self.holders[first].this,
                f"A public table has no rows to keep by a {clause.kind} JOIN with private rows.",
                f"Write FROM {self.names[first]} JOIN {self.names[0]} first.",
            )
        number = next(self.around.public_numbers)
        data = self._public_tables(first)
        if clause.natural and clause.beside:
            raise self.around.refuse(
                self.holders[first].this,
                "A NATURAL JOIN behind a comma is on the columns of a part of FROM alone.",
                "Name the columns with USING.",
            )
        data = {
            name: data[name] for name in (*clause.beside, *data)
        }  # the first one with a column of USING is meant
        turned = replace(clause, outer=clause.keeps, keeps=clause.outer, beside=())
        return join_public_tables(self._prefixed(first), data, number, turned, self.conditions)

    def _public_tables(self, first: int) -> Mapping[str, pa.Table]:
        """The rows of the public tables in front of the first private one, joined as they say, by name."""
        data = {
            name: self.around.evaluate(scope, self.env)
            for name, scope in zip(self.names[:first], self.scopes, strict=False)
        }
        if first == 1:
            return data
        listed = [(name, field) for name, table in data.items() for field in table.column_names]
        items = [
            exp.alias_(
                exp.column(exp.to_identifier(field, quoted=True), table=exp.to_identifier(name, quoted=True)),
                f"c{index}",
            )
            for index, (name, field) in enumerate(listed)
        ]
        query = exp.Select(expressions=items)
        query.set("from_", exp.From(this=self.holders[0].this.copy()))
        query.set("joins", [holder.copy() for holder in self.holders[1:first]])
        joined = self.around.evaluate(left_in_place(query, self.scopes[:first]), self.env)
        return {
            name: joined.select(
                [f"c{index}" for index, (own, _) in enumerate(listed) if own == name]
            ).rename_columns([field for own, field in listed if own == name])
            for name in data
        }

    def _joined(self, from_clause: FromClause, order: list[int], clauses: Sequence[Clause]) -> FromClause:
        """Join further sources to a FROM clause."""
        from discreet.sql.analyze.joins.chain import Chain
        from discreet.sql.analyze.joins.joins import join_private
        from discreet.sql.analyze.joins.outer_joins import keeping

        waiting, stuck = list(order), {-1}
        chain = Chain(self.names, [self._columns(index) for index in range(len(self.names))], self.conditions)
        while waiting:
            index = waiting.pop(0)
            scope, clause = self.scopes[index], clauses[index]
            if not isinstance(scope, PrivateScope):
                movable = [w for w in waiting if clauses[w].comma]
                alone = (
                    index + 1 == len(clauses) or clauses[index + 1].comma
                )  # others are joined to this one as they say
                after = chain.after(index, waiting, movable) if clause.comma and alone else None
                if after is not None:
                    waiting.insert(waiting.index(after) + 1, index)
                    continue
                from_clause = self._with_public(from_clause, index, clause)
                continue
            if clause.asof:
                raise self.around.refuse(
                    clause.node.this,
                    "An ASOF JOIN of private rows with each other is not supported.",
                    "Write JOIN on the privacy unit and the inequality, and keep the last row of each with QUALIFY "
                    "row_number() OVER (PARTITION BY … ORDER BY … DESC) = 1.",
                )
            tried = list(self.conditions)
            join = keeping if clause.keeps else join_private
            try:
                from_clause = join(from_clause, self.names[index], scope.rows, clause, tried)
            except QueryRefused:
                # FROM customer, lineitem, orders: a table that is on the path between them may come later.
                stuck.add(index)
                later = [w for w in waiting if isinstance(self.scopes[w], PrivateScope) and clauses[w].comma]
                first = next((w for w in later if w not in stuck), -1)
                if first < 0 or not clause.comma:
                    raise
                waiting = [first, index, *(w for w in waiting if w != first)]
                continue
            self.conditions[:], stuck = tried, {-1}
        return from_clause

    def _columns(self, index: int) -> Collection[str]:
        """The names of the columns of a source, in lower case, where they are known."""
        if len(self.holders) < 3:
            return ()
        return self.around.columns_of(self.holders[index].this, self.env) or ()

    def _with_public(self, from_clause: FromClause, index: int, clause: Clause) -> FromClause:
        """Join a public source, or one of released numbers."""
        from discreet.sql.analyze.joins.joins import join_public
        from discreet.sql.analyze.joins.unnest import join_items, of_rows

        scope, name, node = self.scopes[index], self.names[index], self.holders[index].this
        if of_rows(node):
            number = next(self.around.public_numbers)
            return join_items(from_clause, name, node, number, clause, self.around.refuse)
        try:
            released = self.around.given(scope, self.env, exp.to_table(name))
            data = self.around.evaluate(scope, self.env) if released is None else None
        except QueryRefused as error:
            private = {alias: known.rows.columns for alias, known in zip(self.names, self.scopes, strict=True)
                       if isinstance(known, PrivateScope)}  # fmt: skip
            raise of_outer(error, node, private, self.around.refuse) from None
        if released is not None:
            from discreet.sql.analyze.joins.released import join_released

            return join_released(from_clause, name, released, clause, self.conditions)
        assert data is not None
        number = next(self.around.public_numbers)
        if clause.asof:
            from discreet.sql.analyze.joins.asof import join_asof

            return join_asof(from_clause, name, data, number, clause, self.around.refuse)
        return join_public(from_clause, name, data, number, clause, self.conditions)
