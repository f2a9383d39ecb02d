"""Joins of private rows with private rows, on their unit, and with public tables, on anything."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Set
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.policy.naming import twins
from discreet.records import dataclass
from discreet.sql.algebra import key_paths
from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.public_data import public_column, spelled
from discreet.sql.algebra.relation import PrivateRows
from discreet.sql.analyze.binding.opaque_columns import about_column
from discreet.sql.analyze.joins.same_units import see_same_units
from discreet.sql.expressions.expression import Column, Expression
from discreet.sql.functions import call
from discreet.sql.syntax.nodes import conjunct_nodes
from discreet.sql.syntax.refusal import refuse

if TYPE_CHECKING:
    import pyarrow as pa

from discreet.sql.analyze.from_clause import FromClause, all_of, inner, prefixed
from discreet.sql.analyze.joins.multiplicity import (
    MOST_ROWS,
    compared_columns,
    pairs_of,
    partners_of,
    reads_new,
)


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
        comma: whether it says nothing, so that WHERE says it, and it may as well stand later.
        asof: whether each row finds the nearest partner alone.
        beside: the sources since the last comma, where USING looks for its columns; none where it looks in all.
    """

    node: exp.Join
    on: tuple[exp.Expr, ...]
    using: tuple[str, ...]
    outer: bool
    kind: str
    keeps: bool = False
    natural: bool = False
    comma: bool = False
    asof: bool = False
    beside: tuple[str, ...] = ()


def read_join(text: str, node: exp.Join) -> Clause:
    """Read the words of a join.

    Raises:
        QueryRefused: it is of a kind that could produce rows without a unit.
    """
    side, kind, method = (str(node.args.get(k) or "").upper() for k in ("side", "kind", "method"))
    if method not in ("", "NATURAL", "ASOF") or kind not in ("", "INNER", "CROSS", "OUTER", "SEMI", "ANTI"):
        raise refuse(node.this, text, f"A {method or side or kind} JOIN with private rows is not supported.",
                     "Use JOIN, LEFT JOIN, SEMI JOIN or ANTI JOIN.")  # fmt: skip
    using = tuple(u.name.lower() for u in node.args.get("using") or [])
    on, plain = tuple(conjunct_nodes(node.args.get("on"))), kind in ("", "OUTER")
    return Clause(node, on, using, side in ("LEFT", "FULL") and plain, kind if kind in ("SEMI", "ANTI") else "",
                  side in ("RIGHT", "FULL") and plain, method == "NATURAL",
                  not (on or using or side or kind or method), method == "ASOF")  # fmt: skip


def join_private(
    left: FromClause, name: str, rows: PrivateRows, clause: Clause, elsewhere: list[exp.Expr]
) -> FromClause:
    """Join private rows with private rows on the privacy unit.

    Args:
        left: the sources read so far.
        name: of the other source.
        rows: the other source.
        clause: the join.
        elsewhere: conditions of WHERE, in which the equality of the units may stand; it is taken out of them.
    """
    return join_on_unit(left, prefixed(left.text, name, rows), clause, elsewhere)


def join_on_unit(
    left: FromClause, right: FromClause, clause: Clause, elsewhere: list[exp.Expr]
) -> FromClause:
    """Join two FROM clauses over private rows, whose internal names differ, on the privacy unit."""
    rows = right.rows
    if clause.natural:
        clause = replace(clause, using=tuple(c for c in _within(left, clause) if c in rows.columns))
    if not (left.rows.per_unit and rows.per_unit):
        raise refuse(clause.node.this, left.text,
                     "Rows that are one unit each cannot be joined with private "
                     "rows: a pair would belong to two units.",
                     "Declare the column that names the unit in the policy.")  # fmt: skip
    see_same_units(clause.node.this, left.text, left.rows, rows)
    both = side_by_side(left, right, clause.using)
    rest = _beside_the_unit(left, right, both, clause, elsewhere)
    on = all_of(rest)
    if clause.kind:
        relation: rel.Relation = rel.Matching(
            left.rows.relation, right.rows.relation, on, clause.kind == "ANTI"
        )
        return left.over(rel.replaced(left.rows, relation))
    cap, fixed, partners = pairs_of(left, right, both, rest, clause.outer, elsewhere)
    relation = rel.Join(left.rows.relation, right.rows.relation, on, clause.outer, partners, partners > 1)
    held = left.held if clause.outer else left.held | right.held
    return joined(both, relation, cap, fixed, held, nullable=set(right.tables) if clause.outer else set())


def _beside_the_unit(
    left: FromClause, right: FromClause, both: FromClause, clause: Clause, elsewhere: list[exp.Expr]
) -> list[Expression]:
    """The conditions of a join beside the equality of the units, which must be among them or in WHERE."""
    binder = both.binder()
    rest, equal = [], False
    for node in clause.on:
        if _equates(node, both, left.held, right.held):
            equal = True
        else:
            rest.append(binder.condition(node))
    for a, b in shared(left, right.rows.columns, clause):
        if a.name in left.held and b.name in right.held:
            equal = True
        else:
            rest.append(same_columns(clause.node, left, a, b))
    if not equal and not clause.outer and not clause.kind:
        for node in list(elsewhere):
            if _equates(node, both, left.held, right.held):
                elsewhere.remove(node)
                equal = True
    if not equal:
        path = key_paths.between(left.rows.relation, right.rows.relation)
        if not clause.outer and not clause.kind:
            rest += _of_the_path(path, both, elsewhere)
        equal = path.joined(rest)
    if not equal:
        unit, theirs = next(iter(left.rows.units), "unit"), next(iter(right.rows.units), "unit")
        name = next(iter(right.tables))
        condition = path.condition(left.tables, name)
        raise refuse(clause.node.this, left.text,
                     "A join of private tables must be on the privacy unit, or a "
                     "row would belong to two units.",
                     (f"Add ON {condition}." if condition else _between(name, right.rows))
                     or f"Add ON {next(iter(left.tables))}.{unit} = {name}.{theirs}.")  # fmt: skip
    return rest


def _between(name: str, rows: PrivateRows) -> str:
    """The advice to join the table that leads to the unit; empty where the rows name it themselves."""
    table = rel.scans(rows.relation)[0].table
    if rows.units or table.step is None:
        return ""
    parent = table.step.parent.name
    keys = " AND ".join(f"{name}.{own} = {parent}.{key}" for own, key in table.step.columns)
    return f"The unit of {name} is found through {parent}: join it before, and this ON {keys}."


def _of_the_path(path: key_paths.KeyPath, both: FromClause, elsewhere: list[exp.Expr]) -> list[Expression]:
    """The conditions of WHERE that compare parts of a key on the path to the unit; they are taken out of it."""
    found = []
    for node in list(elsewhere):
        if (
            isinstance(node, exp.EQ)
            and isinstance(node.this, exp.Column)
            and isinstance(node.expression, exp.Column)
        ):
            try:
                condition = both.binder().condition(node)
            except QueryRefused:
                continue  # of a table that comes later
            if path.part(condition):
                elsewhere.remove(node)
                found.append(condition)
    return found


def shared(left: FromClause, right: Mapping[str, Column], clause: Clause) -> Iterator[tuple[Column, Column]]:
    """The columns of both sides that USING names."""
    columns = _within(left, clause)
    for shared in clause.using:
        a, b = columns.get(shared), right.get(shared)
        if a is None or b is None:
            raise refuse(
                clause.node, left.text, f"Not both tables have a column {shared}.", "Write ON a.x = b.y."
            )
        yield a, b


def _within(left: FromClause, clause: Clause) -> Mapping[str, Column]:
    """The columns that a join by names sees on its left: a comma binds less than JOIN."""
    if not clause.beside:
        return left.rows.columns
    tables = [left.tables[name] for name in clause.beside if name in left.tables]
    return {name: column for table in reversed(tables) for name, column in table.items()}


def join_public(
    left: FromClause,
    name: str,
    data: pa.Table,
    number_: int,
    clause: Clause,
    elsewhere: list[exp.Expr],
    one_of: Collection[str] | None = None,
) -> FromClause:
    """Join private rows with a public table on anything; a row of the result belongs to its private row's unit.

    How many partners a row can find is counted in the public table: as many rows as are alike there in the columns that
    are set equal to something. The cap allows for all of them. Where other conditions leave fewer, nobody can tell how
    many: then the cap stays and the rows are bounded again where they are aggregated, which is said in a warning.
    Where each row is one unit nothing is bounded there, and the cap allows for all that can be.
    """
    if clause.kind:
        raise refuse(clause.node.this, left.text, f"{clause.kind} JOIN with a public table is not supported.",
                     "Write WHERE x IN (SELECT … FROM …).")  # fmt: skip
    return join_public_tables(left, {name: data}, number_, clause, elsewhere, one_of)


def join_public_tables(
    left: FromClause,
    data: Mapping[str, pa.Table],
    number_: int,
    clause: Clause,
    elsewhere: list[exp.Expr],
    one_of: Collection[str] | None = None,
) -> FromClause:
    """The same with several public tables whose rows stand side by side already.

    With `one_of` the caller has shown that no row finds two partners which agree in these columns.

    Raises:
        QueryRefused: two partners may differ in a column of `one_of`, for it is not compared as it stands there.
    """
    tables, named = _read(data, lambda cause, fix: refuse(clause.node.this, left.text, cause, fix))
    readable = {field: column for table in reversed(tables.values()) for field, column in table.items()}
    if clause.natural:
        clause = replace(clause, using=tuple(c for c in _within(left, clause) if c in readable))
    right_rows = PrivateRows(left.rows.relation, readable, tuple(readable), True, 1)
    both = side_by_side(
        left, FromClause(left.text, right_rows, tables, frozenset(), frozenset()), clause.using, clause.keeps
    )
    binder = both.binder()
    conditions = [binder.condition(node) for node in clause.on]
    conditions += [same_columns(clause.node, left, a, b) for a, b in shared(left, readable, clause)]
    if not clause.outer and not clause.keeps and not conditions:
        # FROM a, b WHERE a.x = b.y: the equality decides how many partners a row has
        conditions = [
            binder.condition(n) for n in elsewhere if isinstance(n, exp.EQ) and reads_new(n, both, readable)
        ]
    import pyarrow as pa

    rows = pa.table(named)
    columns = {column.name: column for table in tables.values() for column in table.values()}
    partners, exact = partners_of(rows, conditions, both, columns, () if clause.outer else elsewhere)
    if one_of is not None:
        internal = {inner(next(iter(data)), field.lower()) for field in one_of}
        if not internal <= set(compared_columns(conditions, set(columns))):
            raise refuse(clause.node.this, left.text, "Values that differ would be compared as equal.",
                         "Compare columns of one type, with CAST where they are of two.")  # fmt: skip
        partners, exact = 1, True
    table = rel.PublicTable(f"__public_{number_}", rows)
    much = left.rows.max_rows * partners > MOST_ROWS
    allowed = partners == 1 or not left.rows.per_unit or (exact and not much)
    relation = rel.PublicJoin(
        left.rows.relation, table, all_of(conditions), clause.outer, partners, not allowed, clause.keeps
    )
    cap = left.rows.max_rows * partners if allowed else left.rows.max_rows
    return joined(both, relation, cap, left.rows.fixed and allowed, left.held,
                   nullable=set(data) if clause.outer else set())  # fmt: skip


def _read(
    data: Mapping[str, pa.Table], refused: Callable[[str, str], QueryRefused]
) -> tuple[dict[str, dict[str, Column]], dict[str, pa.ChunkedArray]]:
    """The columns of public tables as expressions read them, by table and name, and all that the engine gets."""
    tables: dict[str, dict[str, Column]] = {}
    named: dict[str, pa.ChunkedArray] = {}
    for name, table in data.items():
        same = twins(table.column_names)
        if same:
            cause = f"{name} has two columns {same[0]} and {same[1]}, but case does not count in a query."
            raise refused(cause, "Rename one of them with AS.")
        table = spelled(table)
        tables[name] = {}
        for field in table.column_names:
            column = public_column(inner(name, field.lower()), table.column(field))
            if column is not None:
                tables[name][field.lower()] = column
        # A column that no expression can read is not sent to the engine, which may not know its type.
        for field in [f for f in table.column_names if f.lower() in tables[name]] or table.column_names:
            named[inner(name, field.lower())] = table.column(field)
    return tables, named


def side_by_side(
    left: FromClause, right: FromClause, using: tuple[str, ...], right_first: bool = False
) -> FromClause:
    """Both sides beside each other; of the columns of USING those on the right are meant where these are kept."""
    for name in right.tables:
        if name in left.tables:
            raise QueryRefused(f"Two sources are named {name}.", "Give one of them another name with AS.")
    tables = {**left.tables, **right.tables}
    shared = (set(left.rows.columns) | left.ambiguous) & (set(right.rows.columns) | right.ambiguous)
    shared |= right.ambiguous
    columns = {**right.rows.columns, **left.rows.columns}
    if right_first:
        columns |= {name: right.rows.columns[name] for name in using if name in right.rows.columns}
    rows = PrivateRows(
        left.rows.relation, columns, left.rows.names, left.rows.per_unit, left.rows.max_rows, left.rows.units
    )
    return FromClause(left.text, rows, tables, frozenset((left.ambiguous | shared) - set(using)), left.held)


def joined(
    both: FromClause, relation: rel.Relation, cap: int, fixed: bool, held: frozenset[str], nullable: Set[str]
) -> FromClause:
    """The FROM clause of a join: the columns of both sides, of which those of some tables may be NULL."""
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
    rows = PrivateRows(relation, columns, tuple(names), both.rows.per_unit, cap, units, fixed)
    return FromClause(both.text, rows, tables, both.ambiguous, held)


def _equates(node: exp.Expr, both: FromClause, left: frozenset[str], right: frozenset[str]) -> bool:
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


def same_columns(node: exp.Expr, left: FromClause, a: Column, b: Column) -> Expression:
    """The condition of USING, that two columns are equal."""
    if not a.type.single:
        raise refuse(node, left.text, *about_column(left.rows.relation, a, a.name.rpartition(".")[2]))
    result = call("eq", a, b)
    if result is None:
        raise refuse(
            node, left.text, "The two columns are of different types.", "Convert one with CAST in ON."
        )
    return result
