"""The FROM clause of a scope over private rows: which relation it is, and what its columns are called."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet import far
from discreet.engines.schema import Type
from discreet.errors import QueryRefused
from discreet.policy.naming import twins
from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.multiplicity import most_alike, unique_on
from discreet.sql.algebra.public_data import arrow_kind, spelled
from discreet.sql.algebra.relation import Rows
from discreet.sql.analyze.binder import Binder
from discreet.sql.analyze.opaque_columns import about_column
from discreet.sql.analyze.same_units import see_same_units
from discreet.sql.expressions.expression import Call, Column, Expression, leaves
from discreet.sql.expressions.span import Span, number, of_values
from discreet.sql.functions import call
from discreet.sql.syntax.refusal import refuse

if TYPE_CHECKING:
    import pyarrow as pa

FEW = 10_000
"""A public column with no more values than this has a domain, so it can be grouped by."""
MOST_ROWS = 2**40
"""A join raises the cap to no more rows of a unit than this: noise for them could not be drawn at most epsilons."""


@dataclass(frozen=True)
class Frame:
    """The sources that a scope over private rows reads.

    Attributes:
        text: the analyst's query, for pointing at places in it.
        rows: the relation; its `columns` are those that can be named without a table.
        tables: the columns of each source by its name.
        ambiguous: names that more than one source has.
        held: the columns, by internal name, that hold the unit.
    """

    text: str
    rows: Rows
    tables: Mapping[str, Mapping[str, Column]]
    ambiguous: frozenset[str]
    held: frozenset[str]

    def column(self, node: exp.Column) -> Expression:
        """The meaning of a column of the query."""
        name = node.name.lower()
        if node.table:
            table = self.tables.get(node.table.lower())
            if table is None:
                raise refuse(node, self.text, f"There is no table {node.table} here.",
                             f"The tables are {', '.join(self.tables)}.")  # fmt: skip
            found = table.get(name)
        else:
            if name in self.ambiguous:
                owner = next(t for t, columns in self.tables.items() if name in columns)
                raise refuse(node, self.text, f"More than one table has a column {node.name}.",
                             f"Write {owner}.{node.name}, say.")  # fmt: skip
            found = self.rows.columns.get(name)
        if found is None:
            near = difflib.get_close_matches(name, list(self.rows.columns), n=1)
            hint = f"Did you mean {near[0]}?" if near else f"The columns are {', '.join(self.rows.names)}."
            raise refuse(node, self.text, f"There is no column {node.name}.", hint)
        return found

    def binder(self, column: Callable[[exp.Column], Expression] | None = None) -> Binder:
        """Reads expressions over the rows; with `column`, by another meaning of their columns."""
        return Binder(self.text, column or self.column, partial(about_column, self.rows.relation))

    def filtered(self, where: Expression) -> Frame:
        """The rows that satisfy a condition."""
        return self.over(rel.select(self.rows, None, where))

    def over(self, rows: Rows) -> Frame:
        """Another relation with the same columns."""
        return Frame(self.text, rows, self.tables, self.ambiguous, self.held)

    def beside(self, rows: Rows, name: str, columns: Mapping[str, Column]) -> Frame:
        """More columns beside the ones there are, to be named as those of a table."""
        return Frame(self.text, rows, {**self.tables, name: columns}, self.ambiguous, self.held)

    def projected(self, rows: Rows, items: list[tuple[str, Expression]]) -> Rows:
        """The rows with other columns; those that hold the unit still do."""
        out = rel.select(rows, items, None)
        units = {name.lower() for name, item in items if isinstance(item, Column) and item.name in self.held}
        return replace(out, units=frozenset(units))


def single(text: str, name: str, rows: Rows) -> Frame:
    """One source."""
    held = frozenset(rows.columns[u].name for u in rows.units)
    return Frame(text, rows, {name: rows.columns}, frozenset(), held)


def inner(name: str, column: str) -> str:
    """The internal name of a column of one of several sources; no two columns have the same, whatever their names hold.

    Example:
        >>> inner("x", "y.v"), inner("x.y", "v")
        ('x.y.v', 'x!.y.v')
    """
    return f"{name.replace('!', '!!').replace('.', '!.')}.{column}"


def prefixed(text: str, name: str, rows: Rows) -> Frame:
    """One source of several: its columns get internal names that no other source has."""
    items = tuple((inner(name, key), column) for key, column in rows.columns.items())
    columns = {key: Column(inner(name, key), c.type, c.span) for key, c in rows.columns.items()}
    moved = Rows(
        rel.Select(rows.relation, items, None),
        columns,
        rows.names,
        rows.per_unit,
        rows.max_rows,
        rows.units,
        rows.fixed,
    )
    return single(text, name, moved)


def conjuncts(node: exp.Expr | None) -> list[exp.Expr]:
    """The conditions that AND ties together."""
    if node is None:
        return []
    if isinstance(node, exp.And):
        return conjuncts(node.this) + conjuncts(node.expression)
    return conjuncts(node.this) if isinstance(node, exp.Paren) else [node]


def all_of(conditions: Iterable[Expression]) -> Expression | None:
    """The conjunction of conditions; None when there are none."""
    out: Expression | None = None
    for condition in conditions:
        out = condition if out is None else call("and", out, condition)
    return out


@dataclass(frozen=True)
class Clause:
    """One JOIN of a query.

    Attributes:
        node: the join.
        on: its conditions, still unread.
        using: the names of USING.
        outer: whether rows on its left without a partner are kept.
        kind: `SEMI`, `ANTI` or empty.
        keeps: whether rows on its right without a partner are kept.
        natural: whether it is on all columns that both sides have.
    """

    node: exp.Join
    on: tuple[exp.Expr, ...]
    using: tuple[str, ...]
    outer: bool
    kind: str
    keeps: bool = False
    natural: bool = False


def read_join(text: str, node: exp.Join) -> Clause:
    """Read the words of a join.

    Raises:
        QueryRefused: it is of a kind that could produce rows without a unit.
    """
    side, kind, method = (str(node.args.get(k) or "").upper() for k in ("side", "kind", "method"))
    if method not in ("", "NATURAL") or kind not in ("", "INNER", "CROSS", "OUTER", "SEMI", "ANTI"):
        raise refuse(node.this, text, f"A {method or side or kind} JOIN with private rows is not supported.",
                     "Use JOIN, LEFT JOIN, SEMI JOIN or ANTI JOIN.")  # fmt: skip
    using = tuple(u.name.lower() for u in node.args.get("using") or [])
    plain = kind in ("", "OUTER")
    return Clause(node, tuple(conjuncts(node.args.get("on"))), using, side in ("LEFT", "FULL") and plain,
                  kind if kind in ("SEMI", "ANTI") else "", side in ("RIGHT", "FULL") and plain,
                  method == "NATURAL")  # fmt: skip


def join_private(left: Frame, name: str, rows: Rows, clause: Clause, elsewhere: list[exp.Expr]) -> Frame:
    """Join private rows with private rows on the privacy unit.

    Args:
        left: what has been read so far.
        name: of the other source.
        rows: the other source.
        clause: the join.
        elsewhere: conditions of WHERE, in which the equality of the units may stand; it is taken out of them.
    """
    return join_frames(left, prefixed(left.text, name, rows), clause, elsewhere)


def join_frames(left: Frame, right: Frame, clause: Clause, elsewhere: list[exp.Expr]) -> Frame:
    """Join two frames of private rows, whose internal names differ, on the privacy unit."""
    rows = right.rows
    if clause.natural:
        clause = replace(clause, using=tuple(c for c in left.rows.columns if c in rows.columns))
    if not (left.rows.per_unit and rows.per_unit):
        raise refuse(clause.node.this, left.text,
                     "Rows that are one unit each cannot be joined with private "
                     "rows: a pair would belong to two units.",
                     "Declare the column that names the unit in the policy.")  # fmt: skip
    see_same_units(clause.node.this, left.text, left.rows, rows)
    both = _side_by_side(left, right, clause.using)
    binder = both.binder()
    rest, equal = [], False
    for node in clause.on:
        if _equates(node, both, left.held, right.held):
            equal = True
        else:
            rest.append(binder.condition(node))
    for shared in clause.using:
        a, b = left.rows.columns.get(shared), right.rows.columns.get(shared)
        if a is None or b is None:
            raise refuse(
                clause.node, left.text, f"Not both tables have a column {shared}.", "Write ON a.x = b.y."
            )
        if a.name in left.held and b.name in right.held:
            equal = True
        else:
            rest.append(_equal(clause.node, left, a, b))
    if not equal and not clause.outer and not clause.kind:
        for node in list(elsewhere):
            if _equates(node, both, left.held, right.held):
                elsewhere.remove(node)
                equal = True
    if not equal:
        unit = next(iter(left.rows.units), "unit")
        theirs = next(iter(rows.units), "unit")
        raise refuse(clause.node.this, left.text,
                     "A join of private tables must be on the privacy unit, or a "
                     "row would belong to two units.",
                     f"Add ON {next(iter(left.tables))}.{unit} = {next(iter(right.tables))}.{theirs}.")  # fmt: skip
    on = all_of(rest)
    if clause.kind:
        relation: rel.Relation = rel.Matching(
            left.rows.relation, right.rows.relation, on, clause.kind == "ANTI"
        )
        return left.over(rel.replaced(left.rows, relation))
    cap, fixed, partners = _pairs(left, right, both, rest, clause, elsewhere)
    relation = rel.Join(left.rows.relation, right.rows.relation, on, clause.outer, partners, partners > 1)
    held = left.held if clause.outer else left.held | right.held
    return _joined(both, relation, cap, fixed, held, nullable=set(right.tables) if clause.outer else set())


def join_public(
    left: Frame, name: str, data: pa.Table, number_: int, clause: Clause, elsewhere: list[exp.Expr]
) -> Frame:
    """Join private rows with a public table on anything; a row of the result belongs to its private row's unit.

    How many partners a row can find is counted in the public table: as many rows as are alike there in the columns that
    are set equal to something. The cap allows for all of them. Where other conditions leave fewer, nobody can tell how
    many: then the cap stays and the rows are bounded again where they are aggregated, which is said in a warning.
    Where each row is one unit nothing is bounded there, and the cap allows for all that can be.
    """
    if clause.kind:
        raise refuse(clause.node.this, left.text, f"{clause.kind} JOIN with a public table is not supported.",
                     "Write WHERE x IN (SELECT … FROM …).")  # fmt: skip
    return join_public_tables(left, {name: data}, number_, clause, elsewhere)


def join_public_tables(
    left: Frame, data: Mapping[str, pa.Table], number_: int, clause: Clause, elsewhere: list[exp.Expr]
) -> Frame:
    """The same with several public tables whose rows stand side by side already."""
    tables: dict[str, dict[str, Column]] = {}
    named: dict[str, pa.ChunkedArray] = {}
    for name, one in data.items():
        same = twins(one.column_names)
        if same:
            raise refuse(clause.node.this, left.text, f"{name} has two columns {same[0]} and {same[1]}, but case does "
                         "not count in a query.", "Rename one of them with AS.")  # fmt: skip
        one = spelled(one)
        tables[name] = {}
        for field in one.column_names:
            column = public_column(inner(name, field.lower()), one.column(field))
            if column is not None:
                tables[name][field.lower()] = column
        # A column that no expression can read is not sent to the engine, which may not know its type.
        for field in [f for f in one.column_names if f.lower() in tables[name]] or one.column_names:
            named[inner(name, field.lower())] = one.column(field)
    readable = {field: column for one in reversed(tables.values()) for field, column in one.items()}
    if clause.natural:
        clause = replace(clause, using=tuple(c for c in left.rows.columns if c in readable))
    right_rows = Rows(left.rows.relation, readable, tuple(readable), True, 1)
    both = _side_by_side(
        left, Frame(left.text, right_rows, tables, frozenset(), frozenset()), clause.using, clause.keeps
    )
    binder = both.binder()
    conditions = [binder.condition(node) for node in clause.on]
    for shared in clause.using:
        a, b = left.rows.columns.get(shared), readable.get(shared)
        if a is None or b is None:
            raise refuse(
                clause.node, left.text, f"Not both tables have a column {shared}.", "Write ON a.x = b.y."
            )
        conditions.append(_equal(clause.node, left, a, b))
    if not clause.outer and not clause.keeps and not conditions:
        # FROM a, b WHERE a.x = b.y: the equality decides how many partners a row has
        conditions = [
            binder.condition(n) for n in elsewhere if isinstance(n, exp.EQ) and _names(n, both, readable)
        ]
    import pyarrow as pa

    rows = pa.table(named)
    columns = {column.name: column for one in tables.values() for column in one.values()}
    partners, exact = _partners(rows, conditions, both, columns, () if clause.outer else elsewhere)
    table = rel.PublicTable(f"__public_{number_}", rows)
    much = left.rows.max_rows * partners > MOST_ROWS
    allowed = partners == 1 or not left.rows.per_unit or (exact and not much)
    relation = rel.PublicJoin(
        left.rows.relation, table, all_of(conditions), clause.outer, partners, not allowed, clause.keeps
    )
    cap = left.rows.max_rows * partners if allowed else left.rows.max_rows
    return _joined(both, relation, cap, left.rows.fixed and allowed, left.held,
                   nullable=set(data) if clause.outer else set())  # fmt: skip


def public_column(internal: str, values: pa.ChunkedArray) -> Column | None:
    """A column of a public table, with the span of its values; None when its type cannot be read."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = arrow_kind(values.type)
    if kind is None:
        return None
    if far.is_far(values):  # a date that Python cannot hold: nothing is known of its span
        return Column(internal, kind, Span(nullable=True))
    distinct = values.unique() if not pa.types.is_floating(values.type) else None
    domain = None
    span = Span(nullable=True)
    if distinct is not None and len(distinct) <= FEW:
        domain = tuple(v for v in distinct.to_pylist() if v is not None)
        span = of_values(domain)
    elif kind in (Type.INTEGER, Type.FLOAT, Type.DATE, Type.TIMESTAMP) and len(values):
        ends = pc.min_max(values).as_py()
        lo, hi = (None if ends[k] is None else number(ends[k]) for k in ("min", "max"))
        span = Span(lo, hi, True)
    return Column(internal, kind, span)


def _side_by_side(left: Frame, right: Frame, using: tuple[str, ...], right_first: bool = False) -> Frame:
    """Both frames beside each other; of the columns of USING those on the right are meant where these are kept."""
    for name in right.tables:
        if name in left.tables:
            raise QueryRefused(f"Two sources are named {name}.", "Give one of them another name with AS.")
    tables = {**left.tables, **right.tables}
    shared = (set(left.rows.columns) | left.ambiguous) & (set(right.rows.columns) | right.ambiguous)
    shared |= right.ambiguous
    columns = {**right.rows.columns, **left.rows.columns}
    if right_first:
        columns |= {name: right.rows.columns[name] for name in using if name in right.rows.columns}
    rows = Rows(
        left.rows.relation, columns, left.rows.names, left.rows.per_unit, left.rows.max_rows, left.rows.units
    )
    return Frame(left.text, rows, tables, frozenset((left.ambiguous | shared) - set(using)), left.held)


def _joined(
    both: Frame, relation: rel.Relation, cap: int, fixed: bool, held: frozenset[str], nullable: Set[str]
) -> Frame:
    tables = {
        name: {
            key: Column(c.name, c.type, c.span.null()) if name in nullable else c
            for key, c in columns.items()
        }
        for name, columns in both.tables.items()
    }
    names: list[str] = []
    columns: dict[str, Column] = {}
    meant = {column.name for column in both.rows.columns.values()}
    for first in (True, False):  # of columns of one name, the one that USING means
        for table in tables.values():
            for key, column in table.items():
                if key not in columns and (not first or column.name in meant):
                    columns[key] = column
                    names.append(key)
    units = frozenset(key for key, column in columns.items() if column.name in held)
    rows = Rows(relation, columns, tuple(names), both.rows.per_unit, cap, units, fixed)
    return Frame(both.text, rows, tables, both.ambiguous, held)


def _equates(node: exp.Expr, both: Frame, left: frozenset[str], right: frozenset[str]) -> bool:
    """Whether a condition says that the units of both sides are the same."""
    if not (
        isinstance(node, exp.EQ)
        and isinstance(node.this, exp.Column)
        and isinstance(node.expression, exp.Column)
    ):
        return False
    try:
        a, b = both.column(node.this), both.column(node.expression)
    except QueryRefused:
        return False
    assert isinstance(a, Column)
    assert isinstance(b, Column)
    return (a.name in left and b.name in right) or (b.name in left and a.name in right)


def _names(node: exp.Expr, both: Frame, right: Mapping[str, Column]) -> bool:
    """Whether a condition reads a column of the right side, and nothing that is not there yet."""
    internal = {c.name for c in right.values()}
    try:
        found = [both.column(c) for c in node.find_all(exp.Column)]
    except QueryRefused:
        return False
    names = {c.name for c in found if isinstance(c, Column)}
    return bool(names & internal)


def _read_of(
    elsewhere: Iterable[exp.Expr], both: Frame, right: Mapping[str, Column]
) -> list[Expression | None]:
    """The conditions of WHERE that read a column of the right side; None for one that cannot be read by itself."""
    out: list[Expression | None] = []
    for node in elsewhere:
        if _names(node, both, right):
            try:
                out.append(both.binder().condition(node))
            except QueryRefused:
                out.append(None)
    return out


def _partners(
    data: pa.Table,
    conditions: list[Expression],
    both: Frame,
    right: Mapping[str, Column],
    elsewhere: Iterable[exp.Expr],
) -> tuple[int, bool]:
    """How many rows of a public table a private row can find at most; whether nothing that is asked leaves fewer."""
    internal = {c.name for c in right.values()}
    asked = [*conditions, *_read_of(elsewhere, both, right)]
    known = [one for one in asked if one is not None]
    compared = _compared_columns(known, internal)
    exact = len(known) == len(asked) and all(
        _compared_columns([one], internal)
        for whole in known
        for one in _parts(whole)
        if _reads(one, internal)
    )
    return _most_partners(data, compared), exact


def _pairs(
    left: Frame, right: Frame, both: Frame, on: list[Expression], clause: Clause, elsewhere: list[exp.Expr]
) -> tuple[int, bool, int]:
    """How many pairs of private rows of a unit are kept, whether it cannot have more, and how many times more it may.

    A unit has at most as many pairs as both caps multiplied. Where one side has one row at most for each value that is
    compared, it has no more than the rows of the other. Conditions that compare both sides in another way leave fewer
    pairs, and nobody can tell how many: then as many are kept as before the join.
    """
    mine, other = left.rows, right.rows
    a, b = mine.max_rows, other.max_rows
    theirs = {c.name for c in other.columns.values()}
    ours = {c.name for table in left.tables.values() for c in table.values()}
    where = (
        []
        if clause.outer
        else [one for one in _read_of(elsewhere, both, other.columns) if one is None or _reads(one, ours)]
    )
    asked = [*on, *(one for one in where if one is not None)]
    found: list[tuple[int, bool]] = []
    keys = unique_on(other.relation)
    if keys is not None and keys - right.held <= set(_compared_columns(asked, theirs)):
        found.append((a, mine.fixed))
    keys = unique_on(mine.relation)
    if keys is not None and keys - left.held <= set(_compared_columns(asked, ours)):
        # Rows on the left without a partner stay, too; with a pair at all there is one such row less.
        found.append((a + b - 1, mine.fixed and other.fixed) if clause.outer else (b, other.fixed))
    if found:
        return *min(found, key=lambda one: (one[0], not one[1])), 1
    both_fixed = mine.fixed and other.fixed
    fewer = any(_reads(one, ours) and _reads(one, theirs) for one in asked) or None in where
    if (fewer and not both_fixed and min(a, b) > 1) or a * b > MOST_ROWS:
        return max(a, b), False, min(a, b)
    return a * b, both_fixed, 1


def _reads(expression: Expression, names: set[str]) -> bool:
    return any(c.name in names for c in leaves(expression))


def _parts(condition: Expression) -> Iterable[Expression]:
    """The conditions that AND ties together."""
    if isinstance(condition, Call) and condition.name == "and":
        return [part for arg in condition.args for part in _parts(arg)]
    return [condition]


def _equal(node: exp.Expr, left: Frame, a: Column, b: Column) -> Expression:
    if a.type is Type.OTHER:
        raise refuse(node, left.text, *about_column(left.rows.relation, a, a.name.rpartition(".")[2]))
    result = call("eq", a, b)
    if result is None:
        raise refuse(
            node, left.text, "The two columns are of different types.", "Convert one with CAST in ON."
        )
    return result


def _compared_columns(conditions: list[Expression], right: set[str]) -> list[str]:
    """The public columns that are each set equal to something of the private row."""
    out = []
    for condition in conditions:
        parts = [condition]
        while parts:
            one = parts.pop()
            if not isinstance(one, Call):
                continue
            if one.name == "and":
                parts += one.args
            elif one.name == "eq":
                for side, other in (one.args, one.args[::-1]):
                    if (
                        isinstance(side, Column)
                        and side.name in right
                        and not {c.name for c in leaves(other)} & right
                    ):
                        out.append(side.name)
    return out


def _most_partners(data: pa.Table, compared: list[str]) -> int:
    return most_alike(data, [name for name in data.column_names if name in compared])
