"""Public sub-queries in expressions over private rows: their values stand in the place of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from discreet import far
from discreet.sql.algebra.relation import Rows
from discreet.sql.analyze.splitting import Env, Public, Splitting
from discreet.sql.analyze.subqueries.released_tables import standing_alone, waits
from discreet.sql.syntax.nodes import with_queries

if TYPE_CHECKING:
    import pyarrow as pa

MOST_VALUES = 10_000
"""The most values that a public sub-query of IN may have."""


class PublicValues:
    """Evaluates the public sub-queries of one SELECT over private rows.

    Args:
        splitter: of the statement.
        env: the tables of WITH that they may name.
    """

    def __init__(self, splitter: Splitting, env: Env) -> None:
        self.splitter = splitter
        self.env = env

    def put_in(self, node: exp.Expr) -> None:
        """Replace public sub-queries by their values: they cost nothing and do not wait for a release."""
        for inner in with_queries(node):
            if isinstance(inner, exp.In | exp.Subquery) and self._waits(inner):
                continue  # it is released, or read beside the rows, or refused where it is read
            if isinstance(inner, exp.In) and inner.args.get("query"):
                table = self._public(inner.args["query"])
                self._see_dates(inner, table)
                values = [v for v in table.column(0).unique().to_pylist() if v is not None]
                if len(values) > MOST_VALUES or not values:
                    raise self.splitter.refuse(inner, f"This sub-query has {len(values):,} values; from 1 to "
                                               f"{MOST_VALUES:,} are allowed.",
                                               "Join with the public table instead.")  # fmt: skip
                inner.set("query", None)
                inner.set("expressions", [exp.convert(v) for v in values])
            elif isinstance(inner, exp.Subquery):
                if isinstance(inner.parent, exp.In | exp.Exists):
                    continue
                table = self._public(inner)
                if len(table) > 1 or table.num_columns != 1:
                    raise self.splitter.refuse(
                        inner, "This sub-query is not a single value.", "Add LIMIT 1, or aggregate."
                    )
                self._see_dates(inner, table)
                inner.replace(exp.convert(table.column(0)[0].as_py()) if len(table) else exp.null())

    def _waits(self, node: exp.Expr) -> bool:
        """Whether a part of the statement reads private rows, or numbers that are released from them."""
        for table in node.find_all(exp.Table):
            name = table.name.lower()
            known = self.env.get(name)
            if isinstance(known, Rows) or (known is None and name in self.splitter.catalog.private):
                return True
            if isinstance(known, Public) and waits(standing_alone(table, self.env)):
                return True
        return False

    def _see_dates(self, node: exp.Expr, table: pa.Table) -> None:
        if any(far.is_far(column) for column in table.itercolumns()):
            raise self.splitter.refuse(node, "This sub-query has a date outside the years 1 to 9999.",
                              "Leave it out with a condition.")  # fmt: skip

    def _public(self, query: exp.Expr) -> pa.Table:
        scope = self.splitter.query(query.copy(), self.env)
        if isinstance(scope, Rows):
            raise self.splitter.refuse(
                query, "This sub-query returns rows of a private table.", "Aggregate them in it."
            )
        return self.splitter.evaluate(scope.node, self.env)
