"""Compares a policy with the schema of the data; sees names and types, never data."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from discreet.policy.problems import Problem, complain, instead
from discreet.policy.values import KeyReference

if TYPE_CHECKING:
    from discreet.policy.model import ColumnPolicy, Policy


class SchemaColumn(Protocol):
    """The part of a column's schema that a policy is compared with; `type` is an enum or its name."""

    @property
    def name(self) -> str:
        """The name, as the source writes it."""

    @property
    def type(self) -> Any:
        """The logical type: an enum, or its name."""


def check(policy: Policy, schemas: Mapping[str, Mapping[str, SchemaColumn]]) -> None:
    """Compare; see `Policy.check`."""
    folded = {name.lower(): {col.lower(): c for col, c in s.items()} for name, s in schemas.items()}
    shown = {name.lower(): [column.name for column in s.values()] for name, s in schemas.items()}
    problems: list[Problem] = []
    for name, table in policy.tables.items():
        place = f"tables.{name}"
        schema = folded.get(name.lower())
        if schema is None:
            problems.append((place, "The data has no such table.", instead(name, schemas)))
            continue
        named = [(f"{place}.columns.{column}", column) for column in table.columns]
        if table.privacy_unit not in (None, "row"):
            named.append((f"{place}.privacy_unit", str(table.privacy_unit)))
        problems += [
            (key, f"The table {name} has no column {column}.", instead(column, shown[name.lower()]))
            for key, column in named
            if column.lower() not in schema
        ]
        unit = schema.get((table.privacy_unit or "").lower())
        if table.privacy_unit != "row" and unit is not None and _kind(unit) == "OTHER":
            problems.append(
                (
                    f"{place}.privacy_unit",
                    "The column is of a type that names nobody.",
                    "Name another column.",
                )
            )
        for column, declared in table.columns.items():
            if column.lower() in schema:
                kind = _kind(schema[column.lower()])
                problems += _unfit(f"{place}.columns.{column}", kind, declared, folded)
    if problems:
        complain(problems)


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
    """Say what of a column's bounds and keys does not fit its type."""
    problems: list[Problem] = []
    if declared.type is not None and declared.type.upper() != kind:
        fix = "Remove it: it says how a column of a CSV file is read, and other sources have types of their own."
        problems.append((f"{place}.type", f"The column is of type {kind}.", fix))
    if declared.bounds is not None:
        wanted, given = _BOUND_KINDS.get(kind), _KINDS[type(declared.bounds[0])]
        if wanted is None:
            problems.append((f"{place}.bounds", f"A column of type {kind} has no bounds.", "Remove them."))
        elif wanted != given:
            problems.append(
                (f"{place}.bounds", f"The column is of type {kind}.", f"Give {wanted}, not {given}.")
            )
    keys = declared.keys
    if keys is None:
        return problems
    if kind not in _KEY_KINDS:
        fix = "Give bounds, and group by an expression such as a range of the column, with its keys."
        problems.append((f"{place}.keys", f"A column of type {kind} has no keys.", fix))
    elif isinstance(keys, KeyReference):
        table = schemas.get(keys.table.lower(), {})
        other = table.get(keys.column.lower())
        if other is None:
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
