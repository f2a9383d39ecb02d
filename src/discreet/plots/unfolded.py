"""A release whose measures are lists, maps or structs, with a row for each number in them, to be drawn as any other."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from discreet.far import values
from discreet.records import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.plots.release_rows import DrawableRelease

PLACE = "place"
"""The name of the key of the numbers of a list, which count from 1."""
_HISTOGRAM = re.compile(
    r"""\bhistogram\s*\(\s*(?:\w+\s*\.\s*)?(\w+|"(?:[^"]|"")+")\s*\)(?:\s+AS\s+(\w+|"(?:[^"]|"")+"))?""",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Unfolded:
    """The attributes of a release that are drawn; see `release_rows.DrawableRelease`."""

    values: pa.Table
    low: Mapping[str, Any]
    high: Mapping[str, Any]
    whole: DrawableRelease

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.values.column_names)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.whole, name)


def unfolded(shown: DrawableRelease, keys: Sequence[str], name: str) -> Unfolded:
    """The numbers of a measure that holds several, each in a row of its own, with the keys of its row and its place.

    Args:
        shown: the release.
        keys: the columns that name its rows.
        name: of the measure.
    """
    import pyarrow as pa

    rows: list[int] = []
    places: list[Any] = []
    columns: dict[str, list[Any]] = {end: [] for end in "vlh"}
    nested = (values(column) for column in (shown.values.column(name), shown.low[name], shown.high[name]))
    for row, ends in enumerate(zip(*nested, strict=True)):
        if ends[0] is None:
            continue
        value, low, high = map(_pairs, ends)
        rows += [row] * len(value)
        places += [place for place, _ in value]
        for end, pairs in zip("vlh", (value, low, high), strict=True):
            columns[end] += [held if isinstance(held, int | float | Decimal) else None for _, held in pairs]
    place = _counted(shown, name) or PLACE
    while place in shown.columns:
        place += "_"
    table = {key: shown.values.column(key).take(pa.array(rows, pa.int64())) for key in keys}
    numbers, low_ends, high_ends = (pa.array(column) for column in columns.values())
    table |= {place: pa.array(places), name: numbers}
    return Unfolded(pa.table(table), {name: low_ends}, {name: high_ends}, shown)


def _counted(shown: DrawableRelease, name: str) -> str:
    """The column whose values the keys of a map are, where the question says so: that of HISTOGRAM; else empty."""
    import pyarrow as pa

    if not pa.types.is_map(shown.values.schema.field(name).type):
        return ""
    found = [
        (_bare(column), _bare(called))
        for column, called in _HISTOGRAM.findall(getattr(shown, "question", ""))
    ]
    own = {column for column, called in found if called.lower() == name.lower()}
    columns = own or {column for column, called in found if not called}
    return columns.pop() if len(columns) == 1 else ""


def _bare(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def _pairs(held: Any) -> list[tuple[Any, Any]]:
    """The numbers of a list, a map or a struct, each with its place or name."""
    if isinstance(held, dict):
        return [*held.items()]
    if held and isinstance(held[0], tuple):
        return list(held)
    return [*enumerate(held, 1)]
