"""The types of the columns of CSV files: the policy decides them, never a value in them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from discreet.errors import PolicyError, QueryRefused
from discreet.policy import KeyReference, Policy
from discreet.policy.declarations import ColumnPolicy
from discreet.policy.values import type_of_values

if TYPE_CHECKING:
    from discreet.engines.engine import Engine

Rules = Mapping[str, ColumnPolicy]


def of_policy(policy: Policy, source: object) -> dict[str, Any]:
    """The types that a policy gives to the columns of a source, as `open_source` takes them."""
    rules = {name: table.columns for name, table in policy.tables.items() if not table.public}
    if isinstance(source, Mapping):
        shown = [name for name, table in policy.tables.items() if table.public]
        return {name: _types(columns, source, shown, _one(source, name)) for name, columns in rules.items()}
    return _types(next(iter(rules.values())), {}, ()) if len(rules) == 1 else {}


def of_arguments(
    source: object,
    table: str | None,
    bounds: Mapping[str, object] | None,
    keys: Mapping[str, object] | None,
    types: Mapping[str, object] | None,
    public: Iterable[str],
) -> dict[str, Any]:
    """The types that the arguments of `protect` give. Their faults are reported once the policy is made."""
    rules: dict[str, dict[str, object]] = {}
    for part, given in (("bounds", bounds), ("keys", keys), ("type", types)):
        for column, value in (given or {}).items():
            rules.setdefault(column.lower(), {})[part] = value
    declared = {}
    for column, rule in rules.items():
        try:
            declared[column] = ColumnPolicy(**rule)
        except PolicyError:
            continue
    if not isinstance(source, Mapping):
        return _types(declared, {}, ())
    hidden = {name.lower() for name in public}
    private = [name for name in source if name.lower() not in hidden]
    names = [name for name in private if table is None or name.lower() == table.lower()]
    return {name: _types(declared, source, public, source[name]) for name in names}


def _one(sources: Mapping[str, object], table: str) -> object:
    """The source of a table, or None; the policy is compared with the tables once they are open."""
    return next((source for name, source in sources.items() if name.lower() == table.lower()), None)


def _types(
    rules: Rules, sources: Mapping[str, object], public: Iterable[str], own: object = None
) -> dict[str, str]:
    """The types of the columns of one table; `own` is its source."""
    found = {}
    for name, rule in rules.items():
        kind = rule.type
        if kind is None and isinstance(rule.keys, KeyReference):
            kind = _of_reference(rule.keys, sources, public, own)
        elif kind is None:
            kind = type_of_values(rule.bounds, None if isinstance(rule.keys, KeyReference) else rule.keys)
        if kind is not None:
            found[name] = kind
    return found


def _of_reference(
    keys: KeyReference, sources: Mapping[str, object], public: Iterable[str], own: object
) -> str | None:
    """The type of the public column that keys refer to; it is not opened for a table that has types of its own."""
    from discreet.engines.schema import Type, find
    from discreet.engines.sources import open_source, takes_types

    name = next((name for name in sources if name.lower() == keys.table.lower()), None)
    if name is None or not takes_types(own):
        return None
    engine = open_source({name: sources[name]}, public=public)
    try:
        column = find(engine.schema()[name], keys.column)
        return None if column is None or column.type is Type.OTHER else column.type.name.lower()
    finally:
        engine.close()


def advised(error: QueryRefused, policy: Policy, engine: Engine) -> QueryRefused:
    """The refusal, with the line to write where a column of a CSV file may have been read in another type than meant.

    It depends on the question, the policy and the header line alone.
    """
    files: frozenset[str] = getattr(engine, "csv_tables", frozenset())
    # A word in single quotes is a text, not the column of that name.
    place = re.sub(r"""("[^"]*")|'[^']*'""", r"\1", error.place.lower())
    words = re.findall(r"\w+", place)
    for name, table in policy.tables.items():
        if name.lower() not in files or table.public:
            continue
        rules = {column.lower(): rule for column, rule in table.columns.items()}
        schema = next(columns for key, columns in engine.schema().items() if key.lower() == name.lower())
        for column in schema:
            rule = rules.get(column.lower(), ColumnPolicy())
            inside = column.lower() in words if column.isidentifier() else column.lower() in place
            wanted = _wanted(error.cause, rule)
            units = {(table.privacy_unit or "").lower(), *map(str.lower, table.through or {})}
            unit = column.lower() in units
            # A frame may have columns of types of their own.
            read = schema[column].type.name in ("TEXT", "FLOAT")
            if read and rule.type in (None, "text") and inside and not unit and wanted:
                return _with(error, column, rule, wanted, name)
    return error


def _wanted(cause: str, rule: ColumnPolicy) -> str:
    """The type that would help; empty where none would."""
    if rule.keys is not None:
        return ""
    if rule.bounds is not None:  # a number, and whole numbers are wanted; dates need no type
        # The other side is no number: a type of its own helps nobody.
        if re.search("a text|a boolean", cause):
            return ""
        number = type_of_values(rule.bounds, None) == "float"
        return "integer" if number and re.search("not public|a number|an integer|as one text", cause) else ""
    if "not public" in cause:
        return "integer"
    if "a text" not in cause:
        return ""
    if re.search(r"\b(hour|minute|second)\b.* (takes a time stamp|does not take)", cause):
        return "timestamp"
    if "an integer" in cause:
        return "integer"
    if "a date" in cause or "a time stamp" in cause or "extract(" in cause:
        return "date"
    return "boolean" if "a boolean" in cause else "float"


def _or(fix: str) -> str:
    """A fix as the second of two.

    Example:
        >>> _or("Write it in quotes."), _or("")
        ('Or write it in quotes.', '')
    """
    return f"Or {fix[0].lower()}{fix[1:]}" if re.match("[A-Z][a-z]+ ", fix) else fix


def _in_the_question(cause: str, column: str) -> str:
    """The groups of something computed, named in the question itself; empty for the column alone."""
    found = re.fullmatch(r"The groups of (.*) are not public\.", cause, re.DOTALL)
    place = found[1] if found else column
    if place.strip('"').lower() == column.lower():
        return ""
    whole = f"floor({place})" if place.upper().startswith("CLAMP(") else f"clamp({place}, 0, 100)"
    return f"Or name the groups in the question: WHERE {place} IN ('A', 'B'), or of whole numbers {whole}. "


def _with(error: QueryRefused, column: str, rule: ColumnPolicy, wanted: str, table: str) -> QueryRefused:
    from discreet.policy import toml

    name, rest = toml.key(column), _or(error.fix)
    seen = "a number with a fraction" if rule.bounds is not None else "a text"
    bounds = "" if rule.bounds is None else f"bounds = {toml.value(rule.bounds)}, "
    line = f'{name} = {{ {bounds}type = "{wanted}" }}'
    option = f"--type {shlex.quote(f'{column}={wanted}')}, or types="
    # A type alone would be refused again: for want of bounds, or of groups.
    if rule.bounds is None and "takes a number" in error.cause:
        line, option = (
            f"{name} = {{ bounds = [0, 100] }}",
            f"--bounds {shlex.quote(f'{column}=0:100')}, or bounds=",
        )
        rest = "Choose the bounds without looking at the data."
    elif rule.bounds is None and "not public" in error.cause:
        whole = f'{name} = {{ bounds = [0, 100], type = "integer" }}'
        line = f'{name} = {{ keys = ["A", "B"] }}, or of whole numbers {whole},'
        option = f"--keys {shlex.quote(f'{column}=A,B')}, or keys="
        rest = (
            f"{_in_the_question(error.cause, column)}Choose them without looking at the data; or give a delta, and "
            "groups of many units are found."
        )
    fix = (
        f"{column} is read as {seen}, for no value of a CSV file or of a frame of pandas decides a type; "
        f"if it is something else, write {line} under "
        f"[tables.{toml.key(table)}.columns] of the policy (without one {option}). {rest}"
    )
    return QueryRefused(
        error.cause,
        fix.strip(),
        place=error.place,
        line=error.line,
        column=error.column,
        picture=error.picture,
    )
