"""Aggregates behind a join that keeps public rows without a partner, in which such a row must not count.

`calendar LEFT JOIN visits` has a row for every day without a visit, all of whose private columns are NULL. These rows
are of nobody: they are groups, and no engine sees them. SQL gives the same wherever they add nothing: COUNT(v.id),
and SUM or AVG of an expression that is NULL there. COUNT(*) counts such a row once, so that in a group of one public
row it is one at least, which is post-processing. Any other aggregate that would count them is refused.

Privacy: the argument on such a row is computed from public values alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.release.noisy_schema import key_name
from discreet.sql.algebra.branches import Branch, NotTracedError, branches
from discreet.sql.algebra.relation import PublicJoin, Relation, parts
from discreet.sql.analyze.aggregates.aggregate import RequestedAggregate
from discreet.sql.dialects.duckdb import DUCKDB
from discreet.sql.expressions.expression import Expression, Literal, leaves, spell
from discreet.sql.expressions.span import Value
from discreet.sql.syntax import rewrites

UNKNOWN = "?"


class UnmatchedRows:
    """The public rows without a private partner behind one release.

    Args:
        relation: its rows.
        keys: of its groups.
    """

    def __init__(self, relation: Relation, keys: Sequence[Expression]) -> None:
        self._keys = keys
        self._branches: list[Branch] = []
        self.lost = False
        if _keeps(relation):
            try:
                self._branches = [branch for branch in branches(relation) if branch.unmatched]
            except NotTracedError:
                self.lost = True

    def answered(
        self,
        request: RequestedAggregate,
        column: exp.Expr,
        counted: str,
        refuse: Callable[[str, str], QueryRefused],
    ) -> exp.Expr:
        """An aggregate as SQL has it, with these rows.

        Args:
            request: the aggregate that is asked for.
            column: the aggregate of the private rows.
            counted: the column to count instead of everything.
            refuse: makes the refusal.

        Raises:
            QueryRefused: by `refuse`, such rows would count.
        """
        if any(
            branch.judged and self._run(branch, [], "SELECT COUNT(*) AS v FROM {}") != [0]
            for branch in self._branches
        ):
            raise refuse(
                "WHERE looks for rows of the public table without a partner, so that who is there would decide which "
                "groups are shown.",
                f"Leave that condition out, and look at the groups with HAVING COUNT({counted}) < 1.",
            )
        found = {value for branch in self._branches for value in self._of(branch, request)}
        if self.lost:
            found = {UNKNOWN}
        if request.quantity == "rows" and found == {1}:
            return exp.Greatest(this=column, expressions=[exp.Literal.number(1)], ignore_nulls=True)
        harmless: set[Value | None] = {None, 0} if request.quantity in ("rows", "sum") else {None}
        if found <= harmless:
            return column
        subject = "COUNT(*)" if request.quantity == "rows" else request.sql
        raise refuse(
            f"{subject} would count rows of the public table without a partner, too.",
            f"Write COUNT({counted}), of a column that is NULL there; or JOIN instead of LEFT JOIN, which "
            "leaves those rows out."
            if request.quantity == "rows"
            else f"Write {counted} IS NOT NULL into a FILTER: "
            f"{rewrites.filtered(request.sql, f'{counted} IS NOT NULL')}.",
        )

    def _of(self, branch: Branch, request: RequestedAggregate) -> set[Value | None]:
        """For COUNT(*) how many such rows a group has, at least and at most; else the values of the argument."""
        if request.quantity == "units":
            return set()
        if request.quantity == "rows":
            keys = [branch.over_leaves(key) for key in self._keys]
            listed = ", ".join(str(index + 1) for index in range(len(keys)))
            items = ", ".join(f"{spell(key, DUCKDB)} AS {key_name(index)}" for index, key in enumerate(keys))
            inner = f"SELECT {items}{', ' if keys else ''}COUNT(*) AS n FROM {{}}" + (
                f" GROUP BY {listed}" if keys else ""
            )
            sql = f"SELECT unnest([MIN(n), MAX(n)]) AS v FROM ({inner}) AS g"
            return set(self._run(branch, keys, sql))
        arguments = [
            branch.over_leaves(argument)
            for argument in (request.argument, request.other)
            if argument is not None
        ]
        if any(isinstance(argument, Literal) and argument.value is None for argument in arguments):
            return set()
        first, *rest = [spell(argument, DUCKDB) for argument in arguments]
        value = f"CASE WHEN {rest[0]} IS NOT NULL THEN {first} END" if rest else first
        return set(self._run(branch, arguments, f"SELECT DISTINCT {value} AS v FROM {{}}"))

    def _run(self, branch: Branch, read: Sequence[Expression], sql: str) -> list[Value | None]:
        """Run a query over the public rows of a branch."""
        from discreet.engines.sandbox import Sandbox

        prefixes = tuple(joined.prefix for joined in branch.joined)
        used = [leaf.name for expression in (*read, *branch.conditions) for leaf in leaves(expression)]
        if not all(name.startswith(prefixes) for name in used):
            return [UNKNOWN]
        tables = {
            f"p{index}": joined.table.data.rename_columns(
                [f"{joined.prefix}{name}" for name in joined.table.data.column_names]
            )
            for index, joined in enumerate(branch.joined)
        }
        where = " AND ".join(spell(condition, DUCKDB) for condition in branch.conditions) or "TRUE"
        source = f"{', '.join(tables)} WHERE {where}"
        with Sandbox(tables) as sandbox:
            found: list[Value | None] = sandbox.run(sql.replace("{}", source)).column("v").to_pylist()
        return found


def _keeps(relation: Relation) -> bool:
    own = isinstance(relation, PublicJoin) and relation.keeps
    return own or any(map(_keeps, parts(relation)))
