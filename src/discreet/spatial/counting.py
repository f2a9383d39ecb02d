"""Counting on a grid: one GROUP BY over the public cells of an area."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol

import sqlglot

from discreet.errors import InvalidParameter, QueryRefused
from discreet.escaping import name as one_line
from discreet.quoting import quote
from discreet.rational import Number, decimal
from discreet.records import dataclass
from discreet.spatial.cell import Box, Cell
from discreet.spatial.grid import Grid
from discreet.spatial.heat_map import HeatMap
from discreet.spatial.projection import WGS84

if TYPE_CHECKING:
    from discreet.release.answer import Release


class AnySession(Protocol):
    """A session, at hand or on a server."""

    @property
    def sql(self) -> Callable[..., Release]:
        """Answers a question."""


@dataclass(frozen=True)
class PointTable:
    """The rows of a table as points of an area, for SQL.

    Attributes:
        table: its name.
        x: the column from west to east.
        y: the column from south to north.
        area: west, south, east and north.
        total: a column to add up; None to count.
        where: a condition on the rows, or nothing.
        people: the column of the privacy unit, to count units in place of rows; None for rows.
    """

    table: str
    x: str
    y: str
    area: Box
    total: str | None
    where: str
    people: str | None = None

    @property
    def name(self) -> str:
        """Of the number of a cell."""
        return ("n" if self.people is None else "people") if self.total is None else self.total

    @property
    def axes(self) -> tuple[str, str]:
        """Both columns, quoted."""
        return quote(self.x), quote(self.y)

    def grouped(self, keys: Mapping[str, str]) -> str:
        """The statement with the number `map_value` of each group of some keys, by their names."""
        (across, up), (west, south, east, north) = self.axes, map(_decimal, self.area)
        inside = [f"{across} >= {west} AND {across} < {east}", f"{up} >= {south} AND {up} < {north}"]
        if self.where:
            inside.append(f"({_condition(self.where)})")
        number = "COUNT(*)" if self.total is None else f"SUM({quote(self.total)})"
        if self.people is not None:
            number = f"COUNT(DISTINCT {quote(self.people)})"
        listed = ", ".join(f"{key} AS {name}" for name, key in keys.items())
        places = _places(keys)
        return (
            f"SELECT {listed}, {number} AS map_value FROM {quote(self.table)} "
            f"WHERE {' AND '.join(inside)} GROUP BY {places} ORDER BY {places}"
        )


def heat_map(
    session: AnySession,
    table: str,
    size: str,
    epsilon: Number,
    *,
    area: Box,
    x: str = "lng",
    y: str = "lat",
    crs: str = WGS84,
    total: str | None = None,
    people: str | None = None,
    where: str = "",
    max_rows: int | None = None,
    max_groups: int | None = None,
    confidence: float = 0.95,
) -> HeatMap:
    """Count the rows of a table, or add up a column, in each cell of a grid.

    Args:
        session: of `protect` or `connect`.
        table: with a point in each row.
        size: of a cell: `3km`, `500m`, `0.05deg`.
        epsilon: of the whole map.
        area: west, south, east and north, in the units of the columns. It is public: choose it without the data.
        x: the column from west to east; it has bounds in the policy.
        y: the column from south to north; it has bounds in the policy.
        crs: the reference system of both columns.
        total: a bounded column to add up; by default rows are counted.
        people: the column of the privacy unit, to count people: each once in a cell, and in `max_groups` cells.
        where: a condition in SQL on the rows.
        max_rows: how many rows of a unit count; by default as the policy says. Few rows of each observer make the
            noise small; those that count are a fair choice.
        max_groups: in how many cells a unit is counted with `people`; by default in `max_rows`.
        confidence: of all intervals together.

    Returns:
        One cell for each place of the grid in the area, those without rows too.

    Raises:
        InvalidParameter: the size or the area cannot be read. Nothing was charged.
        Every error of `Session.sql` is raised too.

    Privacy: that of `Session.sql`, which answers it as one GROUP BY over public keys: Laplace noise of scale
    max_rows / epsilon in each cell of a count.

    Example:
        >>> import pyarrow as pa
        >>> import discreet as dp
        >>> seen = pa.table({"lat": [52.1, 52.3], "lng": [4.9, 5.1]})
        >>> session = dp.protect(seen, privacy_unit="row", budget=3, bounds={"lat": (52, 53), "lng": (4, 6)})
        >>> len(heat_map(session, "data", "0.5deg", 1, area=(4, 52, 6, 53)).cells)
        8
    """
    box = read_area(area)
    grid = Grid.read(size, box, crs)
    points = PointTable(table, x, y, box, total, where, people)
    across, up = grid.keys(*points.axes)
    asked: dict[str, Any] = {"max_rows": max_rows, "max_groups": max_groups, "confidence": confidence}
    answer, rows = counted(session, points, {"map_row": up, "map_column": across}, epsilon, asked)
    cells = [
        Cell(column, row, grid.box(column, row), value, low, high)
        for row, column, value, low, high in rows
        if grid.meets(column, row, box)
    ]
    return HeatMap(points.name, cells, grid, answer.epsilon, answer.confidence, tuple(map(str, answer.notes)))


def counted(
    session: AnySession,
    points: PointTable,
    keys: Mapping[str, str],
    epsilon: Number,
    asked: Mapping[str, Any],
) -> tuple[Release, list[tuple[Any, ...]]]:
    """Ask for the number of each group of some keys, with intervals that hold together.

    No count is below zero, so that the interval of a count reaches up to zero at least: noise makes the numbers below.

    Returns:
        The answer, and a row for each group: its keys, the number, and the ends of its interval.

    Raises:
        InvalidParameter: both a sum and people are wanted.
        Every error of `Session.sql` is raised too.
    """
    if points.people is not None and points.total is not None:
        raise InvalidParameter("A map counts people or adds up a column, not both.", "Leave one of them out.")
    if points.people is not None:
        _see_unit(session, points.table, points.people)
    answer = ask(session, points, keys, epsilon, simultaneous=True, **asked)
    found = answer.to_dict()
    if points.total is None:
        found["map_value_high"] = [max(0.0, high) for high in found["map_value_high"]]
    wanted = (*keys, "map_value", "map_value_low", "map_value_high")
    return answer, list(zip(*(found[name] for name in wanted), strict=True))


def _see_unit(session: AnySession, table: str, column: str) -> None:
    """See that a column is the privacy unit: the distinct values of another one would be no people.

    Raises:
        InvalidParameter: it is not, as the policy says.
    """
    unit = _unit(session, table)
    if unit is None or unit.lower() == column.lower():
        return
    where = one_line(table)
    if unit == "row":
        raise InvalidParameter(
            f"Each row of {where} is one unit, so that a map of rows counts units already.",
            "Leave people out.",
        )
    raise InvalidParameter(
        f"{one_line(column)} is not the privacy unit of {where}: a map counts people by {one_line(unit)}.",
        f"Write people={one_line(unit)}, or leave it out to count rows.",
    )


def _unit(session: AnySession, table: str) -> str | None:
    """The column of the privacy unit of a table, `row`, or None where it stands in another table or nobody says."""
    policy = getattr(session, "policy", None)
    if policy is not None:
        found = {name.lower(): entry for name, entry in policy.tables.items()}.get(table.lower())
        return None if found is None or found.through is not None else found.privacy_unit
    listed = getattr(session, "tables", None)
    for entry in listed() if listed is not None else ():
        if str(entry.get("table_name", "")).lower() == table.lower():
            named = entry.get("privacy_unit")
            return named if isinstance(named, str) and "." not in named else None
    return None


def ask(
    session: AnySession, points: PointTable, keys: Mapping[str, str], epsilon: Number, **asked: object
) -> Release:
    """Ask for the number of each group of some keys; a refusal of the groups says that they are cells.

    Raises:
        Every error of `Session.sql`.
    """
    try:
        return session.sql(points.grouped(keys), epsilon, **asked)
    except QueryRefused as refused:
        place = refused.place
        columns = {points.x, points.y, *points.axes}
        if place and (
            place == _places(keys) or (place not in columns and any(place in key for key in keys.values()))
        ):
            west, south, east, north = map(_decimal, points.area)
            refused.add_note(
                f"The groups are the cells of the map, from {west} to {east} in {points.x} and from {south} to {north} "
                f"in {points.y}: see that this lies within the bounds of both columns, or take larger cells."
            )
        raise


def read_area(area: object) -> Box:
    """Read west, south, east and north.

    Raises:
        InvalidParameter: these are not four numbers, or the ends are in the wrong order.
    """
    if not isinstance(area, Sequence) or isinstance(area, str | bytes) or len(area) != 4:
        raise InvalidParameter(
            "The area is not four numbers: west, south, east and north.", "Write area=(4.3, 51.5, 6.0, 52.7)."
        )
    west, south, east, north = (float(decimal(end, "area")) for end in area)
    for least, most, low, high in (("west", "east", west, east), ("south", "north", south, north)):
        if low >= high:
            ends = f"({min(west, east)}, {min(south, north)}, {max(west, east)}, {max(south, north)})"
            raise InvalidParameter(
                f"The {least} end of the area, {low}, is not below its {most} end, {high}.",
                f"Write area={ends if west != east and south != north else '(4.3, 51.5, 6.0, 52.7)'}: west, south, "
                "east, north.",
            )
    return west, south, east, north


def _places(keys: Mapping[str, str]) -> str:
    return ", ".join(str(place) for place in range(1, len(keys) + 1))


def _condition(text: str) -> str:
    try:
        return sqlglot.parse_one(text, dialect="duckdb").sql("duckdb", comments=False)
    except sqlglot.errors.SqlglotError:
        pass
    raise InvalidParameter("The condition cannot be read.", "Write where=\"bird = 'owl' AND year >= 2020\".")


def _decimal(number: float) -> str:
    return format(Decimal(repr(number)), "f")
