"""What a query may refer to: private tables with what the policy says of them, and public tables."""

from __future__ import annotations

import datetime as dt
import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet import far
from discreet.engines.schema import TableSchema, Type
from discreet.errors import PolicyError
from discreet.policy import KeyReference, Policy
from discreet.sql.expressions.dialect import literal
from discreet.sql.expressions.expression import Call, Column, Expression
from discreet.sql.expressions.span import BOOLEANS, MICROSECOND, Span, Value, number, of_values
from discreet.sql.functions import calendar as cal

if TYPE_CHECKING:
    import pyarrow as pa


NARROW = 2**16
"""A type with no more values than this bounds its column; the range of a wider one says nothing of the data."""


@dataclass(frozen=True, slots=True)
class PrivateColumn:
    """A column of a private table, as it is scanned.

    Attributes:
        name: as the source writes it.
        type: its logical type; OTHER can be declared but not read.
        scan: the expression over the raw column that enforces type and bounds.
    """

    name: str
    type: Type
    scan: Expression


@dataclass(frozen=True, slots=True)
class PrivateTable:
    """A private table.

    Attributes:
        name: as the policy writes it.
        columns: by lower-case name.
        unit: the column that names the privacy unit; None when each row is one unit.
        max_rows: how many rows of a unit are kept.
    """

    name: str
    columns: Mapping[str, PrivateColumn]
    unit: PrivateColumn | None
    max_rows: int


@dataclass(frozen=True, slots=True)
class Catalog:
    """Everything a query may refer to.

    Attributes:
        private: private tables by lower-case name.
        public: public tables by lower-case name, whole.
        unit_factor: by how much one neighbour step multiplies the contribution of one unit: 1 when a unit is
            added or removed, 2 when one is replaced by another.
    """

    private: Mapping[str, PrivateTable]
    public: Mapping[str, pa.Table]
    unit_factor: int

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
            schema = next(s for n, s in schemas.items() if n.lower() == name.lower())
            columns: dict[str, PrivateColumn] = {}
            rules = {c.lower(): rule for c, rule in declared.columns.items()}
            for column in schema.values():
                rule = rules.get(column.name.lower())
                span = Span()
                if column.lo is not None and column.hi is not None and column.hi - column.lo < NARROW:
                    span = Span(Fraction(column.lo), Fraction(column.hi))
                bounds = None
                if column.type is Type.BOOLEAN:
                    span = BOOLEANS
                if rule is not None and rule.bounds is not None:
                    ends = [end if isinstance(end, Fraction) else number(end) for end in rule.bounds]
                    assert ends[0] is not None
                    assert ends[1] is not None
                    bounds = (ends[0], ends[1])
                    span = Span(*bounds)
                if rule is not None and rule.keys is not None:
                    values = _keys(rule.keys, folded, f"tables.{name}.columns.{column.name}.keys")
                    listed = of_values(values)
                    span = Span(span.lo, span.hi, True, listed.domain)
                scan = scan_of(column.name, column.type, bounds, span)
                columns[column.name.lower()] = PrivateColumn(column.name, column.type, scan)
            unit = declared.privacy_unit
            assert unit is not None
            unit_column = None if unit == "row" else columns[unit.lower()]
            private[name.lower()] = PrivateTable(name, columns, unit_column, declared.max_rows or 1)
        return cls(private, folded, 2 if policy.neighbours == "replace_one" else 1)


def scan_of(name: str, kind: Type, bounds: tuple[Fraction, Fraction] | None, span: Span) -> Expression:
    """The expression that reads a raw column: one logical type, NaN as NULL, values outside bounds clamped."""
    raw = Column(name, kind, Span())
    if bounds is None:
        return Call("scan", _SCAN[kind], (raw,), kind, span)
    lo, hi = (_edge(bound, kind) for bound in bounds)
    # The branch that nearly every row takes comes first. The last one is not ELSE, because NULL must stay NULL
    # and NaN, which compares as greater than everything, must become NULL.
    last = "{0} <= CAST('Infinity' AS DOUBLE)" if kind is Type.FLOAT else "{0} > " + hi
    sql = {
        dialect: (
            f"(CASE WHEN {read} >= {lo} AND {read} <= {hi} THEN {read} WHEN {read} < {lo} THEN {lo} "
            f"WHEN {last.replace('{0}', read)} THEN {hi} END)"
        )
        for dialect, read in _READ[kind].items()
    }
    return Call("scan", sql, (raw,), kind, span)


_READ: dict[Type, dict[str, str]] = {
    Type.INTEGER: {"": "CAST({0} AS BIGINT)"},
    Type.FLOAT: {"": "CAST({0} AS DOUBLE)"},
    Type.BOOLEAN: {"": "{0}"},
    Type.TEXT: {"": "CAST({0} AS VARCHAR)"},
    Type.DATE: {"": "{0}"},
    Type.TIMESTAMP: {"": "CAST({0} AS TIMESTAMP)"},
    Type.OTHER: {"": "{0}"},
}
_SCAN: dict[Type, dict[str, str]] = {
    **_READ,
    Type.FLOAT: {"": "NULLIF(CAST({0} AS DOUBLE), CAST('NaN' AS DOUBLE))"},
}


def _edge(bound: Fraction, kind: Type) -> str:
    if kind is Type.INTEGER:
        return f"CAST({int(bound)} AS BIGINT)"
    if kind is Type.FLOAT:
        return f"CAST('{float(bound)!r}' AS DOUBLE)"
    moment = dt.datetime(1970, 1, 1) + MICROSECOND * int(bound) * (cal.DAY if kind is Type.DATE else 1)
    return literal(moment.date() if kind is Type.DATE else moment, kind)


def _keys(
    keys: tuple[Value, ...] | KeyReference, public: Mapping[str, pa.Table], where: str
) -> tuple[Value, ...]:
    if not isinstance(keys, KeyReference):
        return keys
    table = public.get(keys.table.lower())
    if table is None:
        raise PolicyError(f"There is no public table {keys.table}.", f"Add [tables.{keys.table}] public = true.",
                          key=where)  # fmt: skip
    names = {name.lower(): name for name in table.column_names}
    column = names.get(keys.column.lower())
    if column is None:
        near = difflib.get_close_matches(keys.column, table.column_names, n=1)
        hint = f"Did you mean {keys.table}.{near[0]}?" if near else f"It has {', '.join(table.column_names)}."
        raise PolicyError(f"The public table {keys.table} has no column {keys.column}.", hint, key=where)
    values = far.values(table.column(column).unique().drop_null())
    if any(isinstance(value, far.Far) for value in values):
        raise PolicyError(f"{keys.table}.{keys.column} holds a date outside the years 1 to 9999.",
                          "Remove it from the public table.", key=where)  # fmt: skip
    if not values:
        raise PolicyError(f"{keys.table}.{keys.column} holds no key.", "Fill the public table.", key=where)
    return tuple(values)
