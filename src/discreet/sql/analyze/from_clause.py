"""The FROM clause of a scope over private rows: its relation, and the names of its columns."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from sqlglot import exp

from discreet.records import dataclass
from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.relation import PrivateRows
from discreet.sql.analyze.binding.binder import Binder
from discreet.sql.analyze.binding.opaque_columns import about_column
from discreet.sql.analyze.binding.special_forms import expression_binder
from discreet.sql.expressions.expression import Column, Expression
from discreet.sql.functions import call
from discreet.sql.syntax.nodes import path_of
from discreet.sql.syntax.refusal import refuse


@dataclass(frozen=True)
class FromClause:
    """The sources that a scope over private rows reads.

    Attributes:
        text: the analyst's query, for pointing at places in it.
        rows: the relation; its `columns` are those that can be named without a table.
        tables: the columns of each source by its name.
        ambiguous: names that more than one source has.
        held: the columns, by internal name, that hold the unit.
    """

    text: str
    rows: PrivateRows
    tables: Mapping[str, Mapping[str, Column]]
    ambiguous: frozenset[str]
    held: frozenset[str]

    def column(self, node: exp.Column) -> Expression:
        """The meaning of a column of the query, or of a field of a struct by its path."""
        path = path_of(node)
        whole = ".".join(path)
        table = self.tables.get(path[0]) if len(path) > 1 else None
        found = None if table is None else table.get(".".join(path[1:]))
        if found is None:
            if whole in self.ambiguous:
                owner = next(t for t, columns in self.tables.items() if whole in columns)
                raise refuse(node, self.text, f"More than one table has a column {node.name}.",
                             f"Write {owner}.{node.name}, say.")  # fmt: skip
            found = self.rows.columns.get(whole)
        if found is None and len(path) > 1 and table is None and path[0] not in self.rows.columns:
            raise refuse(node, self.text, f"There is no table {node.parts[0].name} here.",
                         f"The tables are {', '.join(self.tables)}.")  # fmt: skip
        if found is None:
            raise refuse(node, self.text, f"There is no column {node.name}.", self._meant(node))
        return found

    def knows(self, name: str) -> bool:
        """Whether a source has a column of a name in lower case, or several have one."""
        return name in self.ambiguous or name in self.rows.columns

    def fields(self, node: exp.Expr) -> Mapping[str, Column]:
        """The fields of a struct that a column of the query names, by the rest of their paths."""
        if not isinstance(node, exp.Column):
            return {}
        path = path_of(node)
        for columns, begun in ((self.tables.get(path[0], {}), path[1:]), (self.rows.columns, path)):
            start = ".".join(begun) + "."
            found = {name[len(start) :]: column for name, column in columns.items() if name.startswith(start)}
            if begun and found:
                return found
        return {}

    def is_unit(self, node: exp.Expr) -> bool:
        """Whether an expression is a column that holds the unit."""
        if not isinstance(node, exp.Column):
            return False
        bound = self.binder().bind(node)
        return isinstance(bound, Column) and bound.name in self.held

    @property
    def unit(self) -> str:
        """The name of the privacy unit here, for advice."""
        return next(iter(sorted(self.rows.units)), "unit")

    def _meant(self, node: exp.Column) -> str:
        """The likely meanings of a name that no column has, each in the spelling to type."""
        named = {name.lower(): name for name in self.rows.names}
        name = node.name.lower()
        begun = [each for each in named if len(name) > 2 and each.startswith(name)]
        near = begun[:1] or difflib.get_close_matches(name, named, n=1)
        columns = f"The columns are {', '.join(map(_typed, named.values()))}."
        said = f"Did you mean {_typed(named[near[0]])}?" if near else columns
        if not _as_a_text(node, bool(near)):
            return said
        return f"If it is a text, write it in single quotes: {exp.Literal.string(node.name).sql('duckdb')}. {said}"

    def binder(self, column: Callable[[exp.Column], Expression] | None = None) -> Binder:
        """Reads expressions over the rows; with `column`, by another meaning of their columns."""
        return expression_binder(self.text, column or self.column, self._about)

    def _about(self, column: Expression, name: str) -> tuple[str, str]:
        """Cause and fix of the refusal of a column that cannot be read as a whole."""
        cause, fix = about_column(self.rows.relation, column, name)
        path, columns = name.lower(), self.rows.columns
        starts = (f"{path}.", f"{path.partition('.')[2]}.")
        fields = [
            _typed(n)
            for n in self.rows.names
            if n.lower().startswith(starts) and columns[n.lower()].type != column.type
        ]
        return cause, f"Name a field of it, such as {fields[0]}, or write COUNT({name})." if fields else fix

    def filtered(self, where: Expression) -> FromClause:
        """The rows that satisfy a condition."""
        return self.over(rel.select(self.rows, None, where))

    def over(self, rows: PrivateRows) -> FromClause:
        """Another relation with the same columns."""
        return FromClause(self.text, rows, self.tables, self.ambiguous, self.held)

    def beside(self, rows: PrivateRows, name: str, columns: Mapping[str, Column]) -> FromClause:
        """More columns beside the ones there are, to be named as those of a table."""
        return FromClause(self.text, rows, {**self.tables, name: columns}, self.ambiguous, self.held)

    def projected(self, rows: PrivateRows, items: list[tuple[str, Expression]]) -> PrivateRows:
        """The rows with other columns; those that hold the unit still do."""
        out = rel.select(rows, items, None)
        units = {name.lower() for name, item in items if isinstance(item, Column) and item.name in self.held}
        return replace(out, units=frozenset(units))


def _typed(name: str) -> str:
    """A name in the spelling to type: in double quotes where it is no word."""
    return (
        name
        if all(part.isidentifier() for part in name.split("."))
        else exp.to_identifier(name, quoted=True).sql("duckdb")
    )


def _as_a_text(node: exp.Column, near: bool) -> bool:
    """Whether a text may have been meant: it is compared with, or chosen, and no column is called nearly so."""
    if node.table or not isinstance(node.parent, exp.Predicate | exp.If | exp.Case):
        return False
    right = isinstance(node.parent, exp.Predicate) and node.arg_key != "this"
    return (right or not near) if node.this.quoted else right and not near


def single(text: str, name: str, rows: PrivateRows) -> FromClause:
    """One source."""
    held = frozenset(rows.columns[u].name for u in rows.units)
    return FromClause(text, rows, {name: rows.columns}, frozenset(), held)


def inner(name: str, column: str) -> str:
    """The internal name of a column of one of several sources. No two columns have the same, for all possible names.

    Example:
        >>> inner("x", "y.v"), inner("x.y", "v")
        ('x.y.v', 'x!.y.v')
    """
    return f"{name.replace('!', '!!').replace('.', '!.')}.{column}"


def prefixed(text: str, name: str, rows: PrivateRows) -> FromClause:
    """One source of several: its columns get internal names that no other source has."""
    items = tuple((inner(name, key), column) for key, column in rows.columns.items())
    columns = {key: Column(inner(name, key), c.type, c.span) for key, c in rows.columns.items()}
    moved = PrivateRows(
        rel.Select(rows.relation, items, None),
        columns,
        rows.names,
        rows.per_unit,
        rows.max_rows,
        rows.units,
        rows.fixed,
    )
    return single(text, name, moved)


def all_of(conditions: Iterable[Expression]) -> Expression | None:
    """The conjunction of conditions; None when there are none."""
    out: Expression | None = None
    for condition in conditions:
        out = condition if out is None else call("and", out, condition)
    return out
