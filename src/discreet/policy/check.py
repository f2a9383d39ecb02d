"""Compares a policy with the schema of the data; sees names and types, never data."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from discreet.policy.naming import meant, twins
from discreet.policy.path import unit_of
from discreet.policy.problems import Problem, complain, instead
from discreet.policy.values import KeyReference

if TYPE_CHECKING:
    from discreet.policy.declarations import ColumnPolicy, TablePolicy
    from discreet.policy.personal import Personal


class SchemaColumn(Protocol):
    """The part of a column's schema that a policy is compared with; `type` is an enum or its name."""

    @property
    def name(self) -> str:
        """The name, as the source writes it."""

    @property
    def type(self) -> Any:
        """The logical type: an enum, or its name."""


RENAME = "Rename one of them in the source, for instance through a view."


UNSHOWN = (
    "Name the columns as the data does, a file in its first line. The names are not shown here: where the policy has "
    "none of them, they may be a row of the data."
)


def check(
    tables: Mapping[str, TablePolicy],
    schemas: Mapping[str, Mapping[str, SchemaColumn]],
    from_text: Collection[str] = (),
) -> None:
    """Compare; see `Policy.check`."""
    problems: list[Problem] = []
    schemas = {name: _SourceColumns.of(name, schema, tables, from_text) for name, schema in schemas.items()}
    for name, table in tables.items():
        place = f"tables.{name}"
        sources = meant(name, schemas)
        if len(sources) != 1:
            problems.append(
                (place, *_none_or_many(name, sources, "The data has no table of this name.", list(schemas)))
            )
            continue
        schema = schemas[sources[0]]
        there = unit_of(table, tables)
        problems += _names(place, name, table, schema, "" if there is None else there[0])
        unit = None if table.through else _found(table.privacy_unit or "", schema)
        problems += step_faults(place, table, schema, schemas) if table.through else []
        if table.privacy_unit != "row" and unit is not None:
            problems += _nameless(f"{place}.privacy_unit", unit)
        if table.personal is not None:
            problems += class_faults(f"{place}.personal", table.personal, schema)
        for column, declared in table.columns.items():
            own = _found(column, schema)
            if own is not None:
                item = getattr(own.type, "item", None)
                kind = str(getattr(own, "physical", "")) or (_kind(own) if item is None else item.name)
                problems += _unfit(f"{place}.columns.{column}", kind, declared, schemas)
                if declared.max_items is not None and item is None:
                    cause, fix = f"A column of type {kind} has no items.", "Remove it: only a list has items."
                    problems.append((f"{place}.columns.{column}.max_items", cause, fix))
    if problems:
        complain(problems)


def _names(
    place: str, name: str, table: TablePolicy, schema: Mapping[str, SchemaColumn], elsewhere: str
) -> list[Problem]:
    """Say which columns are not there, and which could be two; `elsewhere` is the table that a unit seems to name."""
    named = [(f"{place}.columns.{column}", column) for column in table.columns]
    named += [(f"{place}.through.{column}", column) for column in table.through or {}]
    if table.privacy_unit not in (None, "row") and not table.through:
        named.append((f"{place}.privacy_unit", str(table.privacy_unit)))
    problems: list[Problem] = []
    declared: dict[str, str] = {}
    for key, column in named:
        found = meant(column, schema)
        if len(found) != 1:
            missing = f"The table {name} has no column {column}."
            if key.endswith(".privacy_unit") and elsewhere and not found:
                fix = f'Say by which column of this one: through = {{ COLUMN = "{elsewhere}.KEY" }}.'
                problems.append((key, f"The unit stands in the table {elsewhere}.", fix))
                continue
            problems.append((key, *_none_or_many(column, found, missing, _names_of(schema))))
            continue
        if getattr(schema[found[0]], "twin", False):
            cause = f"Several columns of the table {name} are called {column} but for case."
            problems.append((key, cause, RENAME))
        twin = declared.setdefault(column.lower(), found[0])
        if twin != found[0]:
            problems.append((key, *_alike([twin, found[0]])))
    alike = twins(schema) if table.public else []
    if alike:
        problems.append((place, *_alike(alike)))
    return problems


def class_faults(place: str, personal: Personal, schema: Mapping[str, SchemaColumn]) -> list[Problem]:
    """Say why a column cannot name the classes of people."""
    found = meant(personal.column, schema)
    if len(found) != 1:
        missing = f"The table has no column {personal.column}."
        return [(f"{place}.column", *_none_or_many(personal.column, found, missing, _names_of(schema)))]
    kind = _kind(schema[found[0]])
    if getattr(schema[found[0]], "twin", False):
        return [(f"{place}.column", f"Several columns are called {personal.column} but for case.", RENAME)]
    if kind not in ("TEXT", "INTEGER"):
        fix = "Name a column of texts or whole numbers."
        return [(f"{place}.column", f"A column of type {kind} names no classes.", fix)]
    if kind == "INTEGER" and not all(re.fullmatch(r"0|-?[1-9][0-9]{0,17}", name) for name in personal.shares):
        fix = 'Name the classes by their numbers, as in shares = { "1" = 0.1, "2" = 1 }.'
        return [(f"{place}.shares", "The column holds whole numbers.", fix)]
    return []


def step_faults(
    place: str,
    table: TablePolicy,
    schema: Mapping[str, SchemaColumn],
    schemas: Mapping[str, Mapping[str, SchemaColumn]],
) -> list[Problem]:
    """Say which columns of a step are not there, or hold no keys that are told apart alike on both sides."""
    problems: list[Problem] = []
    for column, key in (table.through or {}).items():
        where = f"{place}.through.{column}"
        tables = meant(key.table, schemas)
        there = schemas[tables[0]] if len(tables) == 1 else {}
        found = meant(key.column, there)
        other = there[found[0]] if len(found) == 1 else None
        if getattr(other, "twin", False):
            cause = f"Several columns of the table {key.table} are called {key.column} but for case."
            problems.append((where, cause, RENAME))
            continue
        if other is None:
            if len(tables) == 1:
                missing = f"The table {key.table} has no column {key.column}."
                problems.append((where, *_none_or_many(key.column, found, missing, _names_of(there))))
            continue
        own = _found(column, schema)
        if own is None:
            continue
        nameless = _nameless(where, own) or _nameless(where, other)
        if nameless:
            problems += nameless
        elif _told(own) != _told(other):
            cause = f"The column is told apart as {_told(own)}, {key.table}.{key.column} as {_told(other)}."
            problems.append(
                (where, cause, "Give both columns one type in the source, for instance through a view.")
            )
    return problems


def _told(column: SchemaColumn) -> str:
    """The identity of the values of a column; those of two columns may be compared where it is the same."""
    return str(getattr(getattr(column, "identity", None), "kind", None) or _kind(column))


class _SourceColumns(dict[str, SchemaColumn]):
    """The columns of a table, and whether an error may show their names.

    Those of a private CSV file are the words of its first line. They are shown where the policy names one of them at
    least; else the line may be a row of a file without a header.
    """

    shown = True

    @classmethod
    def of(
        cls,
        name: str,
        schema: Mapping[str, SchemaColumn],
        tables: Mapping[str, TablePolicy],
        from_text: Collection[str],
    ) -> _SourceColumns:
        made = cls(schema)
        table = next((declared for key, declared in tables.items() if key.lower() == name.lower()), None)
        if name.lower() in from_text and not (table is not None and table.public):
            named = [] if table is None else _named(table)
            made.shown = any(meant(column, schema) for column in named)
        return made


def _named(table: TablePolicy) -> list[str]:
    """The columns that a policy names."""
    others = [table.privacy_unit or "", table.personal.column if table.personal else ""]
    return [*table.columns, *(table.through or {}), *others]


def _names_of(schema: Mapping[str, SchemaColumn]) -> list[str] | None:
    """The names that an error may show; None where they may be data."""
    return [column.name for column in schema.values()] if getattr(schema, "shown", True) else None


def _none_or_many(name: str, found: list[str], missing: str, names: list[str] | None) -> tuple[str, str]:
    if not found:
        return missing, UNSHOWN if names is None else instead(name, names)
    return (
        f"{name} may mean {' or '.join(found)}.",
        "Write the intended name with the case that it has in the data.",
    )


def _alike(names: list[str]) -> tuple[str, str]:
    cause = f"{' and '.join(names[:2])} differ by case alone, which does not count in a query."
    return cause, RENAME


def _found(name: str, schema: Mapping[str, SchemaColumn]) -> SchemaColumn | None:
    """The column that a name means, where it means only one."""
    found = meant(name, schema)
    return schema[found[0]] if len(found) == 1 else None


def _nameless(place: str, unit: SchemaColumn) -> list[Problem]:
    """Say why a column names no units."""
    if not getattr(unit.type, "single", _kind(unit) != "OTHER"):
        said = (
            f"The column is of the type {getattr(unit, 'physical', '') or _kind(unit)}, which names nobody."
        )
        return [(place, said, "Name another column, or a view's that makes an integer or a text of it.")]
    reason = getattr(unit, "identity", None)
    cause, fix = getattr(reason, "cause", None), getattr(reason, "fix", None)
    return [] if cause is None else [(place, str(cause), str(fix))]


_BOUND_KINDS = {"INTEGER": "numbers", "FLOAT": "numbers", "DATE": "dates", "TIMESTAMP": "date-times"}
_KEY_KINDS = {"INTEGER": "whole numbers", "TEXT": "texts", "BOOLEAN": "booleans", "DATE": "dates"}
_KINDS: dict[type, str] = {
    Fraction: "numbers",
    dt.datetime: "date-times",
    dt.date: "dates",
    bool: "booleans",
    int: "whole numbers",
    str: "texts",
}


def _kind(column: SchemaColumn) -> str:
    return str(getattr(column.type, "name", column.type))


def _unfit(
    place: str, kind: str, declared: ColumnPolicy, schemas: Mapping[str, Mapping[str, SchemaColumn]]
) -> list[Problem]:
    """List the declared bounds and keys of a column that do not fit its type."""
    problems: list[Problem] = []
    if declared.type is not None and declared.type.upper() != kind:
        fix = "Remove it: only a CSV file needs it, as other sources have types of their own."
        problems.append((f"{place}.type", f"The column is of type {kind}.", fix))
    if declared.bounds is not None:
        wanted, given = _BOUND_KINDS.get(kind), _KINDS[type(declared.bounds[0])]
        if wanted is None:
            problems.append((f"{place}.bounds", f"A column of type {kind} has no bounds.", "Remove them."))
        elif wanted != given:
            like = ", such as 2024-01-01T00:00:00" if wanted == "date-times" else ""
            problems.append(
                (f"{place}.bounds", f"The column is of type {kind}.", f"Give {wanted}{like}, not {given}.")
            )
    keys = declared.keys
    if keys is None:
        return problems
    if kind not in _KEY_KINDS:
        fix = "Give bounds, and group by an expression such as a range of the column, with its keys."
        if kind not in _BOUND_KINDS:
            fix = "Remove them, or read a view that makes an integer or a text of the column."
        problems.append((f"{place}.keys", f"A column of type {kind} has no keys.", fix))
    elif isinstance(keys, KeyReference):
        tables = meant(keys.table, schemas)
        table = schemas[tables[0]] if len(tables) == 1 else {}
        other = _found(keys.column, table)
        if getattr(other, "twin", False):
            cause = f"Several columns of the table {keys.table} are called {keys.column} but for case."
            problems.append((f"{place}.keys", cause, RENAME))
        elif other is None:
            names = [column.name for column in table.values()]
            fix = instead(keys.column, names)
            problems.append((f"{place}.keys", f"The table {keys.table} has no column {keys.column}.", fix))
        elif _kind(other) != kind:
            cause = f"The column is of type {kind}, its keys are of type {_kind(other)}."
            problems.append((f"{place}.keys", cause, "Give the public column the same type."))
    elif _KEY_KINDS[kind] != _KINDS[type(keys[0])]:
        fix = f"Give {_KEY_KINDS[kind]}, not {_KINDS[type(keys[0])]}."
        problems.append((f"{place}.keys", f"The column is of type {kind}.", fix))
    return problems
