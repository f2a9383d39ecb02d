"""Sub-queries over the rows of the same unit: EXISTS with more conditions, IN, ANY and ALL.

    EXISTS (SELECT … WHERE s.u = t.u AND s.v < t.x)      a row of t is kept where its unit has such a row in s
    t.x IN (SELECT s.v FROM s WHERE s.u = t.u)           EXISTS … AND s.v = t.x
    (t.u, t.x) IN (SELECT s.u, s.v FROM s)               the same
    t.x > ANY (SELECT s.v …)                             EXISTS … AND t.x > s.v
    t.x > ALL (SELECT s.v …)                             NOT EXISTS … AND (t.x > s.v) IS NOT TRUE
    t.x NOT IN (SELECT s.v …)                            t.x <> ALL (…)

Privacy: whether a row is kept depends on the rows of its own unit alone, and no row is there more often than before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.records import dataclass
from discreet.sql import functions as fn
from discreet.sql.algebra import key_paths
from discreet.sql.algebra.relation import PrivateRows
from discreet.sql.analyze.binding.binder import Binder
from discreet.sql.analyze.binding.comparisons import by_type
from discreet.sql.analyze.from_clause import FromClause, all_of, prefixed
from discreet.sql.expressions.expression import Column, Expression, Literal
from discreet.sql.syntax.nodes import conjunct_nodes, path_of

COMPARED: Mapping[type[exp.Expr], str] = {
    exp.EQ: "eq", exp.NEQ: "ne", exp.LT: "lt", exp.LTE: "le", exp.GT: "gt", exp.GTE: "ge",
}  # fmt: skip
BEYOND = (
    "joins",
    "group",
    "having",
    "limit",
    "offset",
    "qualify",
    "distinct",
    "with_",
    "windows",
    "laterals",
)
"""Parts of a sub-query that are not understood here."""
INSIDE = "__inside"
"""Before the internal names of the columns of a sub-query."""
Refuse = Callable[[exp.Expr | None, str, str], QueryRefused]


@dataclass(frozen=True)
class Lookup:
    """One of these forms, taken apart.

    Attributes:
        query: the sub-query.
        outer: the expressions compared with its columns; none for EXISTS.
        name: of the comparison.
        anti: whether rows with a match are left out.
        every: whether a match is a row for which the comparison is not true.
    """

    query: exp.Select
    outer: tuple[exp.Expr, ...] = ()
    name: str = "eq"
    anti: bool = False
    every: bool = False


def looked_up(node: exp.Expr) -> Lookup | None:
    """A condition of WHERE as a lookup; None where it is none."""
    anti = False
    while isinstance(node, exp.Not | exp.Paren):
        anti ^= isinstance(node, exp.Not)
        node = node.this
    if isinstance(node, exp.Exists):
        query = _select(node.this)
        return None if query is None else Lookup(query, anti=anti)
    if isinstance(node, exp.In) and node.args.get("query") is not None:
        query, outer = _select(node.args["query"]), node.this.unnest()
        listed = tuple(outer.expressions) if isinstance(outer, exp.Tuple) else (outer,)
        if query is None or len(listed) != len(query.expressions):
            return None
        return (
            Lookup(query, listed, "eq", anti, every=False)
            if not anti
            else Lookup(query, listed, "ne", True, True)
        )
    name, right = COMPARED.get(type(node)), node.args.get("expression")
    if name is None or not isinstance(right, exp.Any | exp.All):
        return None
    query = _select(right.this)
    if query is None or len(query.expressions) != 1 or anti:
        return None
    every = isinstance(right, exp.All)
    return Lookup(query, (node.this,), name, every, every)


def _select(node: exp.Expr | None) -> exp.Select | None:
    inner = node.unnest() if isinstance(node, exp.Subquery) else node
    if not isinstance(inner, exp.Select) or inner.args.get("from_") is None:
        return None
    return inner


class Inside:
    """The rows of a sub-query beside those of the query around it.

    Args:
        text: of the question.
        source: the rows that the sub-query reads.
        name: of those.
        outside: the rows around it.
    """

    def __init__(self, text: str, source: PrivateRows, name: str, outside: FromClause) -> None:
        # A name of its own: the sub-query may read a table that is read around it, under the same name.
        own = prefixed(text, INSIDE, source)
        self.from_clause = FromClause(text, own.rows, {name: own.rows.columns}, frozenset(), own.held)
        self.outside = outside
        self.binder = self.from_clause.binder(self._column)

    def conditions(self, asked: Lookup, refuse: Refuse) -> Expression | None:
        """The conditions on a match beside being of the same unit.

        Raises:
            QueryRefused: by `refuse`, nothing says that it is of the same unit.
        """
        where = asked.query.args.get("where")
        rest: list[Expression] = []
        linked = False
        for node in conjunct_nodes(None if where is None else where.this):
            if isinstance(node, exp.EQ) and self._links(self.binder, self.binder, node.this, node.expression):
                linked = True
            else:
                rest.append(self.binder.condition(node))
        tests: list[Expression] = []
        around = self.outside.binder()
        for out, item in zip(asked.outer, asked.query.expressions, strict=False):
            inner = item.unalias()
            if self._links(around, self.binder, out, inner):
                linked = True
                continue
            nodes = [out, inner]
            bound = around.aligned(by_type([around.bind(out), self.binder.bind(inner)]), nodes)
            tests.append(
                around.apply(item, "eq" if asked.every and len(asked.outer) > 1 else asked.name, bound, nodes)
            )
        path = key_paths.between(self.outside.rows.relation, self.from_clause.rows.relation)
        if not linked and not path.joined([*rest, *tests]):
            named = next(iter(self.from_clause.tables))
            inner = "other" if named in self.outside.tables else named
            condition = path.condition(self.outside.tables, inner)
            if condition:
                apart = f"Name the inner table apart: FROM {named} AS other"
                raise refuse(asked.query, "A sub-query over private rows must compare the privacy units, or a whole "
                             "key that leads to them.",
                             f"{'Add' if inner == named else apart} WHERE {condition}.")  # fmt: skip
            if not (self.outside.rows.units and self.from_clause.rows.units):
                raise refuse(asked.query, "A sub-query over private rows must compare the privacy units, "
                             "and rows that are one unit each have no column for it.",
                             "Declare the column that names the unit as privacy_unit in the policy.")  # fmt: skip
            ours = next(iter(sorted(self.outside.rows.units)), "unit")
            theirs = next(iter(sorted(self.from_clause.rows.units)), "unit")
            outer = next(iter(self.outside.tables))
            raise refuse(asked.query, "A sub-query over private rows must compare the privacy units.",
                         f"Add WHERE {named}.{theirs} = {outer}.{ours}." if named != outer else
                         f"Name the inner table apart: FROM {named} AS other WHERE other.{theirs} = {outer}.{ours}."
                         )  # fmt: skip
        if asked.every and tests:
            # Of several columns at once a match is a row that is equal, or may be; of one, a row that is not as asked.
            tests = [_not_true(tests[0])] if len(asked.outer) == 1 else [_not_false(test) for test in tests]
        return all_of([*rest, *tests])

    def _column(self, node: exp.Column) -> Expression:
        """The column that a name stands for: one of the sub-query first, as SQL has it."""
        path = path_of(node)
        mine = (len(path) > 1 and path[0] in self.from_clause.tables) or ".".join(
            path
        ) in self.from_clause.rows.columns
        return (self.from_clause if mine else self.outside).column(node)

    def _links(self, binder: Binder, other: Binder, a: exp.Expr, b: exp.Expr) -> bool:
        """Whether two columns are the unit, one of either side."""
        if not (isinstance(a, exp.Column) and isinstance(b, exp.Column)):
            return False
        try:
            names = {found.name for found in (binder.column(a), other.column(b)) if isinstance(found, Column)}
        except QueryRefused:
            return False
        return bool(names & self.from_clause.held) and bool(names & self.outside.held)


def _not_true(test: Expression) -> Expression:
    known = fn.variadic("coalesce", [test, Literal(False, test.type)])
    turned = fn.call("not", known)
    assert turned is not None
    return turned


def _not_false(test: Expression) -> Expression:
    return fn.variadic("coalesce", [test, Literal(True, test.type)])
