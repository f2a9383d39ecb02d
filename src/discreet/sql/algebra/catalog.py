"""The tables that a query may refer to: private ones with the rules of the policy, and public ones."""

from __future__ import annotations

import datetime as dt
import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Set
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet import far
from discreet.engines.identity import Identity
from discreet.engines.schema import LIST_OF, ColumnSchema, TableSchema, Type
from discreet.errors import PolicyError
from discreet.policy import ColumnPolicy, KeyReference, Policy
from discreet.policy.classes import personal_of
from discreet.policy.naming import meant
from discreet.policy.personal import Personal
from discreet.records import dataclass
from discreet.sql.expressions.clamping import clamped
from discreet.sql.expressions.expression import Call, Column, Expression, Literal
from discreet.sql.expressions.span import BOOLEANS, MICROSECOND, Span, Value, number, of_values
from discreet.sql.functions import INT64
from discreet.sql.functions import calendar as cal

if TYPE_CHECKING:
    import pyarrow as pa


NARROW = 2**16
"""A type with no more values than this bounds its column; the range of a wider one says nothing of the data."""


@dataclass(frozen=True, slots=True)
class PrivateColumn:
    """A column of a private table, as the scan reads it.

    Attributes:
        name: as the source writes it.
        type: its logical type; of OTHER only the presence of a value is read.
        scan: the expression over the raw column that enforces type and bounds.
        identity: how it tells units apart; None when by its raw values.
        physical: of OTHER, the type as the engine names it.
        instead: of OTHER, an expression of the engine that makes something readable of it; empty when there is none.
    """

    name: str
    type: Type
    scan: Expression
    identity: Identity | None = None
    physical: str = ""
    instead: str = ""

    @property
    def clamped(self) -> bool:
        """Whether the policy gives it bounds, so that the scan clamps it."""
        return isinstance(self.scan, Call) and len(self.scan.args) > 1

    @property
    def read(self) -> Expression:
        """The stored value in its logical type and without bounds, for a measure that clamps it anyway.

        Nothing computes with a column but by this and `scan`. Both widen it first, so that no arithmetic on a row is
        done in a type that is narrower than the logical one, where one person's value could overflow. A key that rows
        are only grouped by is read in its stored type (`lower.groups.clamped_groups`), and so are units.
        """
        return Call(
            "read", {"": _READ[self.type]}, (Column(self.name, self.type, Span()),), self.type, Span()
        )


@dataclass(frozen=True, slots=True)
class Link:
    """Columns that hold a key on the path to the unit, in which rows that are equal are of one unit.

    Attributes:
        key: the table of the key and its columns, in lower case and in order.
        columns: where they are held, in that order.
    """

    key: tuple[str, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UnitStep:
    """The step from a table to the one that has its unit, or leads on to it.

    Attributes:
        parent: the table that it leads to.
        columns: pairs of a column here and a column there, as the source spells them.
        told: the same, as columns of the engine's view that tell the values apart.
    """

    parent: PrivateTable
    columns: tuple[tuple[str, str], ...]
    told: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class PrivateTable:
    """A private table.

    Attributes:
        name: as the policy writes it.
        columns: by lower-case name.
        unit: the column that names the privacy unit, at the end of the path; None when each row is one unit.
        max_rows: how many rows of a unit are kept.
        source: the name of the table in the data; empty when it is `name`.
        step: the first step to the table that has the unit; None when it is this one.
        links: the keys on paths that columns of this table hold.
        per_group: how many rows of a unit are kept in one group of a question; None for no further limit.
    """

    name: str
    columns: Mapping[str, PrivateColumn]
    unit: PrivateColumn | None
    max_rows: int
    source: str = ""
    step: UnitStep | None = None
    links: tuple[Link, ...] = ()
    per_group: int | None = None

    @property
    def own_unit(self) -> str:
        """The column of this table that names the unit, in lower case; empty when none does."""
        return "" if self.unit is None or self.step is not None else self.unit.name.lower()

    @property
    def path(self) -> tuple[PrivateTable, ...]:
        """This table and those on the way to its unit, which stands in the last one."""
        return (self,) if self.step is None else (self, *self.step.parent.path)

    @property
    def unit_words(self) -> str:
        """The unit and the first step to it, as the data spells them; empty when each row is one unit."""
        if self.unit is None or self.step is None:
            return "" if self.unit is None else self.unit.name
        steps = " and ".join(f"{own} = {self.step.parent.name}.{key}" for own, key in self.step.columns)
        return f"{self.path[-1].name}.{self.unit.name} through {steps}"

    @property
    def unit_kind(self) -> str:
        """The identity of units; those of two tables may be compared where it is the same."""
        if self.unit is None:
            return ""
        return self.unit.type.name if self.unit.identity is None else self.unit.identity.kind


@dataclass(frozen=True, slots=True)
class Catalog:
    """Everything a query may refer to.

    Attributes:
        private: private tables by lower-case name.
        public: public tables by lower-case name, whole.
        unit_factor: by how much one neighbour step multiplies the contribution of one unit: 1 when a unit is
            added or removed, 2 when one is replaced by another.
        personal: the table that names the classes of people who allow different epsilons, and these.
    """

    private: Mapping[str, PrivateTable]
    public: Mapping[str, pa.Table]
    unit_factor: int
    personal: tuple[str, Personal] | None = None

    @classmethod
    def build(
        cls, policy: Policy, schemas: Mapping[str, TableSchema], public: Mapping[str, pa.Table]
    ) -> Catalog:
        """Join the policy with the schema of the data.

        Args:
            policy: checked against the schemas before.
            schemas: of every table of the source.
            public: the contents of the tables that the policy calls public.

        Raises:
            PolicyError: a key refers to a public table or column that is not there.
        """
        folded = {name.lower(): table for name, table in public.items()}
        private: dict[str, PrivateTable] = {}
        for name, declared in policy.tables.items():
            if declared.public:
                continue
            (source,) = meant(name, schemas)
            schema = schemas[source]
            own = declared.privacy_unit != "row" and not declared.through
            unit = _only_column(declared.privacy_unit or "", schema) if own else None
            rules = {_only_column(c, schema): rule for c, rule in declared.columns.items()}
            if declared.personal is not None:
                rules = _with_classes(
                    rules, schema[_only_column(declared.personal.column, schema)], declared.personal
                )
            steps = {_only_column(c, schema) for c in declared.through or {}} | _keys_of(name, policy, schema)
            columns = {
                column.name.lower(): _column(name, column, rules.get(key), key == unit, folded)
                for key, column in visible(schema, {*rules, *steps} | ({unit} if unit else set())).items()
            }
            unit_column = None if unit is None else columns[unit.lower()]
            private[name.lower()] = PrivateTable(name, columns, unit_column, declared.max_rows or 1, source,
                                                 per_group=declared.max_rows_per_group)  # fmt: skip
        private = with_paths(private, policy)
        factor = 2 if policy.neighbours == "replace_one" else 1
        return cls(private, folded, factor, personal_of(policy.tables))


def _with_classes(
    rules: dict[str, ColumnPolicy], column: ColumnSchema, personal: Personal
) -> dict[str, ColumnPolicy]:
    """The rules of the columns of a table, where the classes of people are the keys of theirs."""
    own = rules.get(column.name)
    if own is not None and own.keys is not None:
        return rules
    names = [int(name) if column.type is Type.INTEGER else name for name in personal.shares]
    return {**rules, column.name: ColumnPolicy(keys=names, type=None if own is None else own.type)}


def _keys_of(name: str, policy: Policy, schema: TableSchema) -> set[str]:
    """The columns of a table that others name as keys."""
    steps = [key for table in policy.tables.values() for key in (table.through or {}).values()]
    return {_only_column(key.column, schema) for key in steps if key.table.lower() == name.lower()}


def with_paths(private: Mapping[str, PrivateTable], policy: Policy) -> dict[str, PrivateTable]:
    """The private tables with the steps to their units, and with the keys on paths that their columns hold."""
    out = dict(private)
    for name, declared in policy.tables.items():
        own = name.lower()
        keys = sorted((declared.through or {}).items(), key=lambda step: step[1].column.lower())
        if keys:
            parent = keys[0][1].table.lower()
            link = (parent, *(key.column.lower() for _, key in keys))
            for table, columns in ((own, tuple(c.lower() for c, _ in keys)), (parent, link[1:])):
                found = Link(link, columns)
                if found not in out[table].links:
                    out[table] = replace(out[table], links=(*out[table].links, found))
    for name in policy.tables:
        if name.lower() in out:
            out[name.lower()] = _stepped(name.lower(), out, policy)
    return out


def _stepped(name: str, private: dict[str, PrivateTable], policy: Policy) -> PrivateTable:
    """A table with its step, whose parent has its own; the policy saw that no path leads round."""
    table = private[name]
    through = policy.tables[table.name].through
    if not through or table.step is not None:
        return table
    parent_name = next(iter(through.values())).table.lower()
    private[parent_name] = parent = _stepped(parent_name, private, policy)
    pairs = [(table.columns[own.lower()], parent.columns[key.column.lower()]) for own, key in through.items()]
    columns = tuple((own.name, other.name) for own, other in pairs)
    told = tuple((_told(own), _told(other)) for own, other in pairs)
    return replace(table, unit=parent.unit, step=UnitStep(parent, columns, told))


def _told(column: PrivateColumn) -> str:
    """The column of the engine's view in which values are alike exactly when the engine holds them equal."""
    return column.name if column.identity is None else column.identity.column


def _column(
    table: str, column: ColumnSchema, rule: ColumnPolicy | None, is_unit: bool, public: Mapping[str, pa.Table]
) -> PrivateColumn:
    """A column as the scan reads it, with the rules of the policy for it."""
    span = Span()
    if column.lo is not None and column.hi is not None and column.hi - column.lo < NARROW:
        span = Span(Fraction(column.lo), Fraction(column.hi))
    bounds = None
    if Type.BOOLEAN in (column.type, column.type.item):
        span = BOOLEANS
    if rule is not None and rule.bounds is not None:
        ends = [end if isinstance(end, Fraction) else number(end) for end in rule.bounds]
        assert ends[0] is not None
        assert ends[1] is not None
        bounds = (ends[0], ends[1])
        span = Span(*bounds)
    if rule is not None and rule.keys is not None:
        values = _keys(rule.keys, public, f"tables.{table}.columns.{column.name}.keys")
        span = Span(span.lo, span.hi, True, of_values(values).domain, listed=True)
    if column.type.item is not None:
        most = None if rule is None or rule.max_items is None else Fraction(rule.max_items)
        span, bounds = Span(Fraction(0), most, items=span), None
    identity = column.identity if isinstance(column.identity, Identity) else None
    # The value shown of a unit is a function of the unit: never one of several values that are equal.
    told = is_unit and identity is not None and identity.kind == column.type.name
    read = identity.column if told and identity is not None else column.name
    measured = bounds is not None or column.type is Type.BOOLEAN
    if column.required and measured and not is_unit and (rule is None or rule.keys is None):
        span = span.null(False)
    scan = scan_of(read, column.type, bounds, span)
    return PrivateColumn(column.name, column.type, scan, identity, column.physical, column.instead)


def visible(schema: TableSchema, declared: Set[str]) -> dict[str, ColumnSchema]:
    """The columns that a query can name, in which case does not count.

    Of columns that differ by case alone, only the one that the policy declares can be seen, or none.
    """
    alike = Counter(name.lower() for name in schema)
    return {
        name: column
        for name, column in schema.items()
        if name in declared or (alike[name.lower()] == 1 and not column.twin)
    }


def _only_column(name: str, names: Iterable[str]) -> str:
    """The one column that the policy means; a check before saw that there is one."""
    (found,) = meant(name, names)
    return found


def scan_of(name: str, kind: Type, bounds: tuple[Fraction, Fraction] | None, span: Span) -> Expression:
    """The expression that reads a raw column: one logical type, NaN as NULL, values outside bounds clamped.

    Where the span says that there is no NULL, one that turns up all the same is the least value, or FALSE: that is
    enforced as bounds are, and not believed.
    """
    raw = Column(name, kind, Span())
    if bounds is None:
        sql = _SCAN[kind] if span.nullable else f"COALESCE({_SCAN[kind]}, FALSE)"
        return Call("scan", {"": sql}, (raw,), kind, span)
    sql = f"({clamped(_READ[kind], '{1}', '{2}', exact=kind is not Type.FLOAT)})"
    if not span.nullable:
        sql = f"COALESCE({sql}, {{1}})"
    return Call("scan", {"": sql}, (raw, *(Literal(_edge(end, kind), kind) for end in bounds)), kind, span)


_READ: dict[Type, str] = {
    Type.INTEGER: "CAST({0} AS BIGINT)",
    Type.FLOAT: "CAST({0} AS DOUBLE)",
    Type.BOOLEAN: "{0}",
    Type.TEXT: "CAST({0} AS VARCHAR)",
    Type.DATE: "{0}",
    Type.TIMESTAMP: "CAST({0} AS TIMESTAMP)",
    # An opaque value goes no further than this: behind it there is TRUE or NULL, which every engine can compare, order
    # and hash.
    Type.OTHER: "CASE WHEN {0} IS NOT NULL THEN TRUE END",
    # A list is cut and its items are read where they become rows.
    **dict.fromkeys(LIST_OF.values(), "{0}"),
}
_SCAN: dict[Type, str] = {**_READ, Type.FLOAT: "NULLIF(CAST({0} AS DOUBLE), CAST('NaN' AS DOUBLE))"}


def _edge(bound: Fraction, kind: Type) -> Value:
    if kind is Type.INTEGER:
        return max(min(int(bound), INT64), -INT64 - 1)  # else the cast fails, once there is a row
    if kind is Type.FLOAT:
        return float(bound)
    moment = dt.datetime(1970, 1, 1) + MICROSECOND * int(bound) * (cal.DAY if kind is Type.DATE else 1)
    return moment.date() if kind is Type.DATE else moment


def _keys(
    keys: tuple[Value, ...] | KeyReference, public: Mapping[str, pa.Table], where: str
) -> tuple[Value, ...]:
    if not isinstance(keys, KeyReference):
        return keys
    table = public.get(keys.table.lower())
    if table is None:
        raise PolicyError(f"There is no public table {keys.table}.", f"Add [tables.{keys.table}] public = true.",
                          key=where)  # fmt: skip
    column = next(iter(meant(keys.column, table.column_names)), None)
    if column is None:
        near = difflib.get_close_matches(keys.column, table.column_names, n=1)
        hint = f"Did you mean {keys.table}.{near[0]}?" if near else f"It has {', '.join(table.column_names)}."
        raise PolicyError(f"The public table {keys.table} has no column {keys.column}.", hint, key=where)
    values = far.values(table.column(column).unique().drop_null())
    if any(isinstance(value, far.FarDate) for value in values):
        raise PolicyError(f"{keys.table}.{keys.column} holds a date outside the years 1 to 9999.",
                          "Remove it from the public table.", key=where)  # fmt: skip
    if not values:
        raise PolicyError(f"{keys.table}.{keys.column} holds no key.", "Fill the public table.", key=where)
    return tuple(values)
