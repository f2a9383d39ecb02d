"""The rows of a release as pictures need them, and the kind of picture that fits their keys."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

from discreet.escaping import picture
from discreet.far import FarDate
from discreet.far import values as values_of

if TYPE_CHECKING:
    import pyarrow as pa

MOST_BARS, MOST_GRID_CELLS, MOST_SERIES = 40, 10_000, 4
ALL, NONE, EMPTY = "all", "none", '""'
_TOTALS = re.compile(r"\b(ROLLUP|CUBE|GROUPING\s+SETS)\s*\(|\bWITH\s+(ROLLUP|CUBE)\b", re.IGNORECASE)


class DrawableRelease(Protocol):
    """The attributes that a release must have to be drawn; `discreet.Release` has them."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        ...

    @property
    def values(self) -> pa.Table:
        """The answer."""
        ...

    @property
    def low(self) -> Mapping[str, Any]:
        """The lower ends of the intervals by column."""
        ...

    @property
    def high(self) -> Mapping[str, Any]:
        """The upper ends."""
        ...

    @property
    def confidence(self) -> float:
        """Of the intervals."""
        ...

    @property
    def epsilon(self) -> Fraction:
        """The loss that it cost."""
        ...


def rows_of(shown: DrawableRelease, keys: Sequence[str], measures: Sequence[str]) -> list[dict[str, Any]]:
    """Plain rows: `k <key>`, and for each measure `v`, `l` and `h` with its name; None where there is no number."""
    columns: dict[str, list[Any]] = {f"k {key}": values_of(shown.values.column(key)) for key in keys}
    for name in measures:
        columns[f"v {name}"] = [_number(value) for value in values_of(shown.values.column(name))]
        columns[f"l {name}"] = [_number(value) for value in values_of(shown.low[name])]
        columns[f"h {name}"] = [_number(value) for value in values_of(shown.high[name])]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def is_key(shown: DrawableRelease, name: str) -> bool:
    """Whether a column may name a group, which no float does, nor a value that holds several."""
    import pyarrow as pa

    kind = shown.values.schema.field(name).type
    return not (pa.types.is_floating(kind) or pa.types.is_nested(kind))


def _number(value: Any) -> float | None:
    if value is None or isinstance(value, bool | str | bytes | dt.date | dt.timedelta | FarDate):
        return None
    number = float(value)
    return number if math.isfinite(number) else None


def has_interval(row: Mapping[str, Any], name: str) -> bool:
    """Whether a number has an interval."""
    return row[f"l {name}"] is not None and row[f"h {name}"] is not None


def kind_of(rows: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> str:
    """The kind of picture that fits the keys: a grid, points, series or bars."""
    if len(keys) == 2 and all(len({row[f"k {key}"] for row in rows}) > 2 for key in keys):
        cells = math.prod(len({row[f"k {key}"] for row in rows}) for key in keys)
        return "grid" if cells <= MOST_GRID_CELLS else "bars"
    if len(keys) == 1 and len(rows) > 10:
        values = [row[f"k {keys[0]}"] for row in rows]
        if all(map(ordered, values)) and (len(rows) > MOST_BARS or joined([rows], keys[0])):
            return "points"
    return "bars" if line_of(rows, keys) is None else "series"


def line_of(rows: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> str | None:
    """The key along which more rows than bars are drawn as few series, each of the other keys' groups one; or None."""
    if len(keys) < 2 or len(rows) <= MOST_BARS:
        return None
    many = max(keys, key=lambda key: len({row[f"k {key}"] for row in rows}))
    if not all(ordered(row[f"k {many}"]) for row in rows):
        return None
    return many if len(series_of(rows, [key for key in keys if key != many])) <= MOST_SERIES else None


def series_of(
    rows: Sequence[Mapping[str, Any]], others: Sequence[str], nothing: str = NONE
) -> dict[str, list[Mapping[str, Any]]]:
    """The rows of each group of some keys, by its name, in the order of the keys."""
    found: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault(tuple(row[f"k {key}"] for key in others), []).append(row)
    try:
        order = sorted(found)
    except TypeError:  # NULL beside texts, say
        order = list(found)
    named: dict[str, list[Mapping[str, Any]]] = {}
    for group in order:
        name = label_of(found[group][0], others, nothing)
        while name in named:
            name += " "
        named[name] = found[group]
    return named


def steps(values: Sequence[Any]) -> bool:
    """Whether keys are places on a line, which points may be joined along: dates, or numbers at even steps.

    Whole numbers with gaps here and there are codes: nothing lies between 0401 and 0502.
    """
    if any(isinstance(value, dt.date) for value in values):
        return True
    ordered = sorted(set(map(float, values)))
    gaps = [after - before for before, after in pairwise(ordered)]
    return not gaps or max(gaps) <= 1.001 * min(gaps)


def joined(groups: Iterable[Sequence[Mapping[str, Any]]], key: str) -> bool:
    """Whether the points of each group are joined along a key.

    Rows of a group that share the key differ in another one, which the answer leaves out: a line through them all would
    zigzag.
    """
    keys = [[row[f"k {key}"] for row in group] for group in groups]
    apart = all(len(set(own)) == len(own) for own in keys)
    return apart and steps(list(dict.fromkeys(value for own in keys for value in own)))


def ordered(value: Any) -> bool:
    """Whether a key lies on a line: a number or a date."""
    return isinstance(value, int | float | dt.date) and not isinstance(value, bool)


def label_of(row: Mapping[str, Any], keys: Sequence[str], nothing: str = NONE) -> str:
    """The name of a row: its keys."""
    return " · ".join(text_of(row[f"k {key}"], nothing) for key in keys) or ALL


def nothing_of(shown: DrawableRelease) -> str:
    """The meaning of a key that is NULL: all groups in the totals of a question with ROLLUP and the like, else none."""
    return ALL if _TOTALS.search(getattr(shown, "question", "")) else NONE


def text_of(value: Any, nothing: str = NONE) -> str:
    """A key in the letters of an axis; the empty text is written as in tables."""
    if value is None:
        return nothing
    return f"{value:g}" if isinstance(value, float) else picture(str(value)) or EMPTY


def sorted_values(values: set[Any]) -> list[Any]:
    """Keys in order; of kinds that have none, NULL first and the rest by their texts."""
    try:
        return sorted(values)
    except TypeError:  # NULL beside texts, say
        return sorted(values, key=lambda value: (value is not None, str(value)))


def reach_of(shown: DrawableRelease) -> float:
    """By which factor intervals of one number each are too short for all cells of a map together.

    The tails of Laplace noise are exponential, and those of sums of it no heavier from there on: a chance of a/m
    instead of a lies log(m/a)/log(1/a) times as far out, so that by the union bound all m cells hold together.
    """
    if getattr(shown, "simultaneous", False):
        return 1.0
    chance = 1 - shown.confidence
    return 1 + math.log(max(1, len(shown.values))) / -math.log(chance)


def is_explained(row: Mapping[str, Any], name: str, reach: float = 1.0) -> bool:
    """Whether the noise alone could have made a number of a map: zero lies within its reach."""
    value, low, high = (row.get(f"{field} {name}") for field in "vlh")
    if value is None or low is None or high is None:
        return False
    return bool(value - reach * (value - low) <= 0 <= value + reach * (high - value))
