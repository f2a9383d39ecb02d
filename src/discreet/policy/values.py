"""Reads the values that a steward writes: exact numbers, bounds and keys."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

from discreet.accounting.tally import RULES, Rule
from discreet.errors import InvalidParameter
from discreet.policy.problems import PolicyModel, wrong
from discreet.rational import decimal

Bound: TypeAlias = Fraction | dt.date | dt.datetime
Key: TypeAlias = str | int | bool | dt.date

MAX_KEYS = 10_000_000
COLUMN_TYPES = ("text", "integer", "float", "boolean", "date", "timestamp")
"""How a column of a CSV file may be read."""
_RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)")
MAX_ROWS = 2**31 - 1
MAX_ITEMS = 1000
"""The most items of a list that may count as rows: a row is read as often."""


class KeyReference(PolicyModel):
    """The keys of a column are the values of a column of a public table.

    Attributes:
        table: name of a public table of the policy.
        column: name of its column.
    """

    table: str
    column: str


def number(value: object) -> Fraction:
    """Read an exact number."""
    try:
        return decimal(value)
    except InvalidParameter as error:
        cause, fix = error.cause, error.fix
    raise wrong(cause.replace("value", "It", 1), fix)


def epsilon(value: object) -> Fraction:
    """Read an epsilon: above zero."""
    found = number(value)
    if found <= 0:
        raise wrong("It must be above zero.", "Give a positive number such as 1.")
    return found


def delta(value: object) -> Fraction:
    """Read a delta: at least 0 and below 1."""
    found = number(value)
    if not 0 <= found < 1:
        raise wrong("It must be at least 0 and below 1.", "Give 0, or a tiny number such as 1e-9.")
    return found


def accountant(value: object) -> Rule:
    """Read the name of a rule of composition."""
    if isinstance(value, str) and value in RULES:
        return value
    raise wrong("No accountant has this name.", 'Write "pure", "zcdp" or "pld".')


def version(value: object) -> str:
    """Read the name of a version of the data."""
    if (
        isinstance(value, str)
        and len(value) <= 40
        and re.fullmatch(r"([a-z0-9]+(?:[._-][a-z0-9]+)*)?", value)
    ):
        return value
    raise wrong("The version is not up to 40 of a-z, 0-9 and single . _ - between.", 'Write such as "2025".')


def place(value: object) -> object:
    """Refuse a text that names no place; the opening of the source checks the rest."""
    if isinstance(value, str):
        if not value.strip() or re.fullmatch(r"(parquet|csv|duckdb|spark|ibis):/*", value):
            raise wrong("It names no place.", 'Write for instance "parquet:visits.parquet".')
        if not value.isprintable():
            raise wrong("It has a character in it that is not shown.", "Write the place plainly.")
    return value


def rows(value: object) -> int | None:
    """Read a number of rows: whole, at least 1 and of 31 bits; None stays."""
    if value is None:
        return None
    found = number(value)
    if found.denominator != 1 or found < 1:
        raise wrong("It must be a whole number, at least 1.", "Decide how many rows of one unit may count.")
    if found > MAX_ROWS:
        raise wrong(
            f"It must be at most {MAX_ROWS:,}.", "Decide how many rows of one unit may count, such as 3."
        )
    return int(found)


def items(value: object) -> int | None:
    """Read a number of items of a list: whole, from 1 to `MAX_ITEMS`; None stays."""
    if value is None:
        return None
    found = number(value)
    if found.denominator != 1 or not 1 <= found <= MAX_ITEMS:
        raise wrong(
            f"It must be a whole number from 1 to {MAX_ITEMS:,}.",
            "Decide how many items of one row may count as rows, such as 5.",
        )
    return int(found)


def _bound(value: object) -> Bound:
    value = _own(value)
    if _missing(value):
        raise wrong(
            "A bound is missing (None, NaT or NA).",
            "Give both: the least and the greatest value that counts.",
        )
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).replace(tzinfo=None) if value.tzinfo else value
    if isinstance(value, dt.date):
        return value
    if isinstance(value, str) and re.match(r"\d{4}-\d", value):
        try:
            return (
                dt.date.fromisoformat(value) if len(value) <= 10 else _bound(dt.datetime.fromisoformat(value))
            )
        except ValueError:
            pass
        raise wrong("A bound is not a date.", "Write it like 2024-01-31 or 2024-01-31T12:00:00.")
    return number(value)


def bounds(value: object) -> tuple[Bound, Bound] | None:
    """Read a pair of bounds of one kind, the lower below the upper; None stays."""
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, Iterable) or len(pair := tuple(value)) != 2:
        raise wrong("Bounds are a pair.", "Write bounds = [lo, hi].")
    lo, hi = _bound(pair[0]), _bound(pair[1])
    if type(lo) is not type(hi):
        raise wrong(
            "The two bounds are of different kinds.", "Give two numbers, two dates or two date-times."
        )
    if not lo < hi:  # type: ignore[operator]
        raise wrong("The lower bound is not below the upper bound.", "Give lo < hi.")
    return lo, hi


def keys(value: object) -> tuple[Key, ...] | KeyReference | None:
    """Read keys: a reference, or distinct values of one type without null, in the order given; None stays."""
    if value is None or isinstance(value, KeyReference):
        return value
    if isinstance(value, str):
        ends = _RANGE.fullmatch(value)
        if ends:
            raise wrong(
                "A policy writes no range of keys in one text.",
                f'Write bounds = [{ends[1]}, {ends[2]}], type = "integer", or a list of all keys.',
            )
        table, dot, column = value.rpartition(".")
        if not (table and dot and column):
            raise wrong(
                "Keys written as one text are a column of a public table.", 'Write "table.column" or a list.'
            )
        return KeyReference(table=table, column=column)
    if isinstance(value, Mapping):
        return KeyReference(**value)
    return _distinct(_plain(value))


def through(value: object) -> dict[str, KeyReference] | None:
    """Read the columns that hold a key of another table; None stays."""
    if value is None:
        return None
    if not isinstance(value, Mapping) or not value:
        raise wrong(
            "It is not a set of columns and their keys.", 'Write through = { order_id = "orders.id" }, say.'
        )
    return {str(column): _reference(key) for column, key in value.items()}


def _reference(value: object) -> KeyReference:
    if isinstance(value, KeyReference):
        return value
    if isinstance(value, Mapping):
        return KeyReference(**value)
    table, dot, column = value.rpartition(".") if isinstance(value, str) else ("", "", "")
    if not (table and dot and column):
        raise wrong("It names no column of another table.", 'Write "table.column", as in "orders.id".')
    return KeyReference(table=table, column=column)


def column_type(value: object) -> str | None:
    """Read how a column of a CSV file is read; None stays."""
    if value is None:
        return None
    name = str(getattr(value, "name", value)).lower()
    if name not in COLUMN_TYPES:
        raise wrong("No type has this name.", f"Write one of {', '.join(COLUMN_TYPES)}.")
    return name


def type_of_values(bounds: tuple[Bound, Bound] | None, keys: tuple[Key, ...] | None) -> str | None:
    """The type of a column whose bounds or keys are declared, by their spelling; None without both.

    Bounds do not tell whole numbers from others: [0, 1] may bound shares. So they make the column a float.

    Example:
        >>> type_of_values((Fraction(0), Fraction(104)), None), type_of_values(None, ("a", "b"))
        ('float', 'text')
    """
    if keys:
        kinds: dict[type, str] = {bool: "boolean", int: "integer", str: "text"}
        return kinds.get(type(keys[0]), "date")
    if bounds is None:
        return None
    return "float" if isinstance(bounds[0], Fraction) else _MOMENTS[type(bounds[0])]


_MOMENTS: dict[type, str] = {dt.datetime: "timestamp", dt.date: "date"}


_OWN: frozenset[type] = frozenset({bool, int, float, str, dt.date, dt.datetime, type(None)})


def _own(value: Any) -> object:
    """The date, time stamp, text or whole number that a member of an Enum, a NumPy or a pandas value is.

    A policy keeps these only: so its digest, its TOML and the name of its ledger are those of the plain value. A
    time stamp ends at its microseconds, as no engine keeps more of it. Other values stay.

    Example:
        >>> import enum
        >>> _own(enum.IntEnum("Level", "LOW HIGH").HIGH)
        2
    """
    if type(value) in _OWN or _missing(value):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, dt.datetime):
        return dt.datetime.combine(dt.date(value.year, value.month, value.day), value.timetz())
    if isinstance(value, dt.date):
        return dt.date(value.year, value.month, value.day)
    if type(value).__name__ == "datetime64":
        # Nanoseconds would become a whole number.
        return value.astype("datetime64[us]").item() if isinstance(value.item(), int) else value.item()
    return value


def _missing(value: object) -> bool:
    """Whether a value is None, or the missing moment or value of pandas, which need not be installed."""
    return value is None or type(value).__name__ in ("NaTType", "NAType")


def _plain(value: object) -> list[object]:
    """Turn a list, array, Series or Arrow column into Python values."""
    # An array of moments in nanoseconds would become whole numbers.
    moments = getattr(getattr(value, "dtype", None), "kind", "") == "M"
    for method in () if moments else ("to_pylist", "tolist", "to_list"):
        if hasattr(value, method):
            return list(getattr(value, method)())
    if isinstance(value, Mapping) or not isinstance(value, Iterable):
        raise wrong(f"Keys cannot be made from a {type(value).__name__}.", 'Give a list, or "table.column".')
    return [
        each.item() if hasattr(each, "item") and type(each).__name__ != "datetime64" else each
        for each in value
    ]


def _distinct(values: list[object]) -> tuple[Key, ...]:
    if not set(map(type, values)) <= _OWN:
        values = [_own(each) for each in values]
    # NaN is the only one of the others that differs from itself.
    values = [each for each in values if not _missing(each) and each == each]
    kinds = set(map(type, values))
    if kinds == {float} and all(each.is_integer() for each in values):  # type: ignore[attr-defined]
        values, kinds = [int(each) for each in values], {int}  # type: ignore[call-overload]
    if any(issubclass(kind, dt.datetime) for kind in kinds):
        if any(each.time() != dt.time() or each.tzinfo for each in values):  # type: ignore[attr-defined]
            raise wrong("Keys cannot be date-times.", "Give dates, and group by the date of the column.")
        values, kinds = [each.date() for each in values], {dt.date}  # type: ignore[attr-defined]
    if not values:
        raise wrong("There are no keys.", "List at least one key.")
    if len(kinds) > 1:
        raise wrong(
            "The keys are of more than one type.", "Give texts, integers, booleans or dates, not a mixture."
        )
    if not issubclass(next(iter(kinds)), str | int | dt.date):
        raise wrong(
            f"Keys cannot be of type {next(iter(kinds)).__name__}.",
            "Give texts, integers, booleans or dates.",
        )
    found = tuple(dict.fromkeys(values))
    if kinds == {int} and not all(-(2**63) <= key < 2**63 for key in (min(found), max(found))):  # type: ignore[type-var,operator]
        raise wrong("A key does not fit into 64 bits.", "Give smaller keys.")
    if len(found) > MAX_KEYS:
        raise wrong(f"There are more than {MAX_KEYS:,} keys.", "Group by something coarser.")
    return found  # type: ignore[return-value]
