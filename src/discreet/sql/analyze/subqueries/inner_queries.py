"""Sub-queries in expressions over private rows, as columns beside the rows.

    x > (SELECT AVG(x) FROM t)                                    a number that is released first
    x > (SELECT AVG(x) FROM t AS s WHERE s.k = t.k)               one for each value of a public key
    k IN (SELECT k FROM t GROUP BY k ORDER BY COUNT(*) DESC …)    a list that is released first
    x > (SELECT AVG(x) FROM s WHERE s.u = t.u)                    a number of the rows of the same unit
    a OR t.u IN (SELECT u FROM s), a OR EXISTS (SELECT …)         whether its unit has such a row

The first three are tables of released numbers (`algebra.released`). The others are joined on the unit, each with one
row for a unit and value at most, so that no row is there more often than before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from sqlglot import exp

from discreet.engines.schema import Type
from discreet.errors import QueryRefused
from discreet.records import dataclass
from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.relation import PrivateRows
from discreet.sql.analyze.from_clause import FromClause
from discreet.sql.analyze.scope_tree import (
    OVER_GROUPS,
    Env,
    Given,
    PrivateScope,
    Scope,
    Scopes,
    left_in_place,
)
from discreet.sql.analyze.set_operations import distinct
from discreet.sql.analyze.subqueries.correlated_release import KEY, VALUE, Compared, compared, is_one_number
from discreet.sql.analyze.subqueries.exists_alone import OF_ROWS, rows_of_private, see_it_can_be_false
from discreet.sql.expressions.expression import Column
from discreet.sql.syntax.nodes import is_aggregate, with_queries

SOME, KNOWN = "__some", "__known"
"""How many values a released list has, and how many of them are not NULL."""
NAME = "__inner_"
"""Before the number of a sub-query of the same unit."""


@dataclass
class InnerQueries:
    """Reads the sub-queries in the expressions of one SELECT over private rows.

    Attributes:
        around: the statement around it.
        env: the tables of WITH.
        from_clause: the rows, with a column beside them for each sub-query that was read.
    """

    around: Scopes
    env: Env
    from_clause: FromClause

    def __post_init__(self) -> None:
        self._known: dict[str, exp.Expr] = {}

    def known(self) -> dict[str, exp.Expr]:
        """The sub-queries that stand beside the rows, by their text, with the columns in their place."""
        return dict(self._known)

    def forget(self, known: dict[str, exp.Expr]) -> None:
        """Go back to those that stood beside the rows before."""
        self._known = known

    def read(self, node: exp.Expr) -> exp.Expr:
        """Put columns in the place of the sub-queries of an expression, which is returned."""
        for inner in with_queries(node):
            if isinstance(inner, exp.In) and inner.args.get("query") is not None:
                found = self._once(inner, self._listed)
            elif isinstance(inner, exp.Exists):
                found = self._once(inner, self._there)
            elif isinstance(inner, exp.Subquery) and not isinstance(inner.parent, exp.In | exp.Any | exp.All):
                found = self._once(inner, self._number)
            else:
                continue
            if inner is node:
                if node.parent is not None:
                    node.replace(found)
                return found
            inner.replace(found)
        return node

    def read_rows(self, node: exp.Expr, groups: set[str]) -> None:
        """The same of those parts of a clause that are computed row by row: in aggregates and in groups."""
        if is_aggregate(node) or node.sql() in groups:
            self.read(node)
            return
        for child in list(node.iter_expressions()):
            if not isinstance(child, exp.Query):
                self.read_rows(child, groups)

    def _once(self, node: exp.Expr, reader: Callable[[Any], exp.Expr]) -> exp.Expr:
        """The same sub-query twice is one number."""
        text = node.sql("duckdb", comments=False)
        if text not in self._known:
            self._known[text] = reader(node)
        return self._known[text].copy()

    # Numbers -----------------------------------------------------------------------------------------------

    def _number(self, node: exp.Expr) -> exp.Expr:
        query = _inside(node)
        asked = compared(query, self._names) if is_one_number(query) else None
        if asked is not None:
            return self._by_key(node, asked)
        try:
            scope = self.around.once(query, self.env)
        except QueryRefused:
            self._see_alone(node, query)
            raise
        if isinstance(scope, PrivateScope):
            raise rows_of_private(node, self.around.refuse)
        given = self.around.given(scope, self.env, node)
        assert given is not None, "public values were put in before"
        if len(given.columns) != 1:
            raise self.around.refuse(
                node, "This sub-query is not a single value.", "Select one column in it."
            )
        if given.table.keys:
            raise self.around.refuse(node, "This sub-query may have more than one row.",
                                       "Add LIMIT 1, or aggregate.")  # fmt: skip
        column = self._given(given, [])
        (name,) = given.columns
        found = exp.column(exp.to_identifier(name, quoted=True), table=column)
        found.meta[OVER_GROUPS] = exp.Subquery(this=_inside(given.query).copy())
        return found

    def _see_alone(self, node: exp.Expr, query: exp.Query) -> None:
        """Refuse a number that compares its rows with those around it by anything but an equality."""
        own = {table.alias_or_name.lower() for table in query.find_all(exp.Table, exp.Subquery)}
        around = {column.table.lower() for column in query.find_all(exp.Column)} - own
        if around & set(self.from_clause.tables):
            raise self.around.refuse(node, "A number for each row may compare its rows with that one by = alone, in "
                                     "conditions of WHERE that stand by themselves.",
                                     "Set its columns equal to columns around it, the privacy units among them; or "
                                     "join the two tables, and aggregate their pairs.")  # fmt: skip

    def _by_key(self, node: exp.Expr, asked: Compared) -> exp.Expr:
        """A number of the rows that agree with a row in some columns."""
        item = asked.query.selects[0].unalias()
        scope = self.around.once(asked.grouped({VALUE: item}), self.env)
        others = [other for _, other in asked.pairs]
        if isinstance(scope, PrivateScope):
            name = self._joined(scope.rows, [(f"{KEY}{index}", other) for index, other in enumerate(others)])
        else:
            given = self.around.given(scope, self.env, node)
            assert given is not None
            name = self._given(given, [(f"{KEY}{index}", other) for index, other in enumerate(others)])
        alone = exp.Is(this=exp.column(f"{KEY}0", table=name), expression=exp.Null())
        value = exp.column(VALUE, table=name)
        return exp.Case(ifs=[exp.If(this=alone, true=_of_nothing(item))], default=value)

    # Lists and rows of the same unit -----------------------------------------------------------------------

    def _listed(self, node: exp.Expr) -> exp.Expr:
        query = _inside(node.args["query"])
        outer = node.this.unnest()
        asked = compared(query, self._names)
        if asked is None:
            scope = self.around.once(query, self.env)
            if not isinstance(scope, PrivateScope):
                return self._in_released(node, scope)
            rows = scope.rows
            if len(rows.names) != 1:
                raise self.around.refuse(
                    node, "IN takes a sub-query of one column.", "Select one column in it."
                )
            column = self._of_units(node, rows).columns[rows.names[0].lower()]
            return self._met(distinct(rel.select(rows, [(f"{KEY}0", column)], None)), [(f"{KEY}0", outer)])
        if len(query.selects) != 1 or not isinstance(outer, exp.Column):
            raise self.around.refuse(
                node, "This form of IN is not supported here.", "Write EXISTS (SELECT …)."
            )
        inner = query.selects[0].unalias()
        if not isinstance(inner, exp.Column):
            raise self.around.refuse(
                inner, "This form of IN is not supported here.", "Select a column in it."
            )
        met = self._of_rows(node, replace(asked, pairs=(*asked.pairs, (inner, outer))))
        return self._in_some(met, asked, inner, outer)

    def _in_some(self, met: exp.Expr, asked: Compared, inner: exp.Expr, outer: exp.Expr) -> exp.Expr:
        """Whether a value is in a list: of no rows FALSE, and unknown where it, or one of the list, is NULL."""
        if self.from_clause.is_unit(outer):
            return met  # of no row that counts is it NULL
        missing = exp.Is(this=exp.paren(inner.copy()), expression=exp.Null())
        scope = self.around.once(asked.grouped({VALUE: exp.LogicalOr(this=missing)}), self.env)
        if not isinstance(scope, PrivateScope):
            return met  # the value itself leads to the unit, and is NULL in no row that counts
        name = self._joined(
            scope.rows, [(f"{KEY}{index}", other) for index, (_, other) in enumerate(asked.pairs)]
        )
        none = exp.Is(this=exp.column(f"{KEY}0", table=name), expression=exp.Null())
        unknown = exp.or_(
            exp.Is(this=exp.paren(outer.copy()), expression=exp.Null()), exp.column(VALUE, table=name)
        )
        cases = [(met, exp.true()), (none, exp.false()), (unknown, exp.Null())]
        return exp.Case(ifs=[exp.If(this=test, true=value) for test, value in cases], default=exp.false())

    def _there(self, node: exp.Expr) -> exp.Expr:
        see_it_can_be_false(node.this, self.around.refuse, OF_ROWS)
        asked = compared(node.this.unnest(), self._names)
        if asked is None:
            raise self.around.refuse(node, "EXISTS over private rows must set its columns equal to columns around "
                                       "it, where it is no condition of WHERE by itself.",
                                       "Write it with AND, not OR; or compare with = alone, the privacy units among "
                                       "them.")  # fmt: skip
        return self._of_rows(node, asked)

    def _of_rows(self, node: exp.Expr, asked: Compared) -> exp.Expr:
        scope = self.around.once(asked.grouped({}), self.env)
        if not isinstance(scope, PrivateScope):
            raise self.around.refuse(node, "A sub-query over private rows must compare the privacy units.",
                                       "Add the equality of the units to its WHERE.")  # fmt: skip
        return self._met(
            scope.rows, [(f"{KEY}{index}", other) for index, (_, other) in enumerate(asked.pairs)]
        )

    def _of_units(self, node: exp.Expr, rows: PrivateRows) -> PrivateRows:
        if not rows.units or not rows.per_unit:
            raise self.around.refuse(node, "Private rows can be looked up by their privacy unit only.",
                                       "Select the privacy unit in the sub-query.")  # fmt: skip
        return rows

    def _met(self, rows: PrivateRows, on: list[tuple[str, exp.Expr]]) -> exp.Expr:
        """Whether a row finds a partner."""
        name = self._joined(rows, on)
        found = exp.Is(
            this=exp.column(exp.to_identifier(on[0][0], quoted=True), table=name), expression=exp.Null()
        )
        return exp.paren(exp.Not(this=found))

    def _in_released(self, node: exp.Expr, scope: Scope) -> exp.Expr:
        inside = _inside(self.around.rest(scope))
        source = exp.Subquery(this=inside.copy(), alias=exp.TableAlias(this=exp.to_identifier("listed")))
        names = inside.named_selects
        if len(names) != 1:
            raise self.around.refuse(node, "IN takes a sub-query of one column.", "Select one column in it.")
        column = exp.column(exp.to_identifier(names[0], quoted=True), table="listed")
        once = exp.Select(expressions=[exp.alias_(column, VALUE)], distinct=exp.Distinct())
        once.set("from_", exp.From(this=source))
        given = self.around.given(left_in_place(once, [scope]), self.env, node.args["query"])
        assert given is not None, "public values were put in before"
        outer = node.this
        if (
            given.columns[VALUE].type is Type.INTEGER
            and self.from_clause.binder().bind(outer).type is Type.FLOAT
        ):
            # Of whole numbers beyond 2^53 several are one fraction, which would be found once for each of them.
            once.set("expressions", [exp.alias_(exp.cast(column, "DOUBLE"), VALUE)])
            given = self.around.given(left_in_place(once, [scope]), self.env, node.args["query"])
            assert given is not None
        name = self._given(given, [(VALUE, outer)])
        there = exp.Not(this=exp.Is(this=exp.column(VALUE, table=name), expression=exp.Null()))
        # Of no values it is FALSE, even of NULL, and of a list with NULL unknown where it is not TRUE.
        counted = {SOME: exp.Count(this=exp.Star()), KNOWN: exp.Count(this=exp.column(VALUE, table="listed"))}
        both = exp.Select(expressions=[exp.alias_(count, alias) for alias, count in counted.items()])
        both.set(
            "from_",
            exp.From(this=exp.Subquery(this=once, alias=exp.TableAlias(this=exp.to_identifier("listed")))),
        )
        sizes = self.around.given(left_in_place(both, [scope]), self.env, node.args["query"])
        assert sizes is not None
        beside = self._given(sizes, [])
        some, known = (exp.column(alias, table=beside) for alias in counted)
        cases = [
            (exp.EQ(this=some, expression=exp.Literal.number(0)), exp.false()),
            (exp.Is(this=exp.paren(outer.copy()), expression=exp.Null()), exp.Null()),
            (there, exp.true()),
            (exp.LT(this=known, expression=some.copy()), exp.Null()),
        ]
        found = exp.Case(ifs=[exp.If(this=test, true=value) for test, value in cases], default=exp.false())
        found.meta[OVER_GROUPS] = exp.In(this=outer.copy(), query=exp.Subquery(this=inside.copy()))
        return found

    # Joins -------------------------------------------------------------------------------------------------

    def _names(self, source: exp.Expr) -> Collection[str] | None:
        return self.around.columns_of(source, self.env)

    def _given(self, given: Given, on: list[tuple[str, exp.Expr]]) -> str:
        """A table of released numbers beside the rows, each of which finds one row of it at most."""
        from discreet.sql.analyze.joins.multiplicity import compared_columns

        rows, name = self.from_clause.rows, given.table.name
        columns = {key: Column(c.name, c.type, c.span.null()) for key, c in given.columns.items()}
        both = self.from_clause.beside(rows, name, columns)
        tests = [exp.EQ(this=exp.column(key, table=name), expression=other.copy()) for key, other in on]
        test = both.binder().condition(exp.and_(*tests)) if tests else None
        matched = compared_columns(
            [] if test is None else [test], {column.name for column in columns.values()}
        )
        if not set(given.table.keys) <= set(matched):
            raise self.around.refuse(on[0][1], "Whole numbers that differ would be equal to one and the same fraction.",
                                     "Compare columns of one type, with CAST where they are of two.")  # fmt: skip
        relation = rel.PublicJoin(rows.relation, given.table, test, test is not None)
        self.from_clause = both.over(rel.replaced(rows, relation))
        return name

    def _joined(self, rows: PrivateRows, on: list[tuple[str, exp.Expr]]) -> str:
        """Other rows of the same unit beside the rows, each of which finds one of them at most."""
        from discreet.sql.analyze.joins.joins import Clause, join_private

        before = self.from_clause
        name = f"{NAME}{next(self.around.inner_numbers)}"
        tests = [
            exp.EQ(this=exp.column(exp.to_identifier(key, quoted=True), table=name), expression=other.copy())
            for key, other in on
        ]
        join = exp.Join(this=exp.to_table(name))
        both = join_private(before, name, rows, Clause(join, tuple(tests), (), True, ""), [])
        seen = replace(
            both.rows, columns=before.rows.columns, names=before.rows.names, units=before.rows.units
        )
        self.from_clause = FromClause(both.text, seen, both.tables, before.ambiguous, before.held)
        return name


def _inside(node: exp.Expr) -> exp.Query:
    """The query in sub-query parentheses."""
    query = node.unnest()
    assert isinstance(query, exp.Query)
    return query


def _of_nothing(item: exp.Expr) -> exp.Expr:
    """The value of an expression of aggregates where there are no rows: a count is 0, and anything else NULL."""

    def empty(node: exp.Expr) -> exp.Expr:
        if not is_aggregate(node):
            return node
        counted = isinstance(node.this if isinstance(node, exp.Filter) else node, exp.Count)
        return exp.Literal.number(0) if counted else exp.Null()

    return item.copy().transform(empty)


def reads_given(node: exp.Expr) -> bool:
    """Whether a node stands for a sub-query over released numbers alone."""
    return node.meta_get(OVER_GROUPS) is not None


def over_groups(node: exp.Expr, key_of: Callable[[exp.Expr], exp.Expr | None]) -> exp.Expr | None:
    """A condition on rows as one on groups, where it reads nothing but keys and released numbers; None for any other.

    Args:
        node: the condition, with columns in the place of its sub-queries.
        key_of: the column of a key in the noisy table for an expression over the rows; None where it is no key.
    """
    noted = node.meta_get(OVER_GROUPS)
    if isinstance(noted, exp.Subquery):
        return noted.copy()
    if isinstance(noted, exp.In):
        inside = over_groups(noted.this, key_of)
        return None if inside is None else exp.In(this=inside, query=noted.args["query"].copy())
    key = key_of(node)
    if key is not None:
        return key
    if isinstance(node, exp.Column | exp.Query):
        return None
    out = node.copy()
    for name, value in node.args.items():
        if isinstance(value, list):
            moved = [over_groups(part, key_of) if isinstance(part, exp.Expr) else part for part in value]
            if any(new is None and old is not None for new, old in zip(moved, value, strict=True)):
                return None
            out.set(name, moved)
        elif isinstance(value, exp.Expr) and not isinstance(value, exp.DataType | exp.Identifier | exp.Var):
            new = over_groups(value, key_of)
            if new is None:
                return None
            out.set(name, new)
    return out
