"""`discreet map`: how many rows lie in each cell of a grid, as a picture, a page or a file for map tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import options as opt
from discreet.cli.option_groups import grouped
from discreet.cli.place import SourceOptions
from discreet.cli.progress import ProgressLine
from discreet.cli.remote import ServerOptions
from discreet.records import dataclass

if TYPE_CHECKING:
    from discreet.spatial import HeatMap
    from discreet.spatial.cell import Box
    from discreet.spatial.counting import AnySession

SHOWN = 10
"""So many hot spots are printed."""


@dataclass(frozen=True)
class PointOptions:
    """Which rows count, and where they are."""

    x: Annotated[str, typer.Option("--x", metavar="COLUMN", help="The column from west to east.")] = "lng"
    y: Annotated[str, typer.Option("--y", metavar="COLUMN", help="The column from south to north.")] = "lat"
    crs: Annotated[
        str, typer.Option("--crs", metavar="CODE", help="Of both columns, such as EPSG:28992 for metres.")
    ] = "EPSG:4326"
    total: Annotated[
        str | None, typer.Option("--sum", metavar="COLUMN", help="Add up a bounded column; else count.")
    ] = None
    people: Annotated[
        str | None,
        typer.Option("--people", metavar="COLUMN", help="Count each unit, of this column, once in a cell."),
    ] = None
    where: Annotated[str, typer.Option("--where", metavar="CONDITION", help="Which rows, in SQL.")] = ""
    cap: Annotated[
        int | None,
        typer.Option(
            "--cap", metavar="N", min=1, help="How many rows of a unit count; with --people, cells."
        ),
    ] = None


@dataclass(frozen=True)
class CellOptions:
    """The shape of the cells."""

    cell: Annotated[
        str | None, typer.Option("--cell", metavar="SIZE", help="Of a square cell: 3km, 500m or 0.05deg.")
    ] = None
    h3: Annotated[
        int | None,
        typer.Option(
            "--h3", metavar="RESOLUTION", min=0, max=15, help="Hexagons of H3; those of 7 have 5 km²."
        ),
    ] = None
    adaptive: Annotated[
        bool, typer.Option("--adaptive", help="Cells up to eight times as large where few rows are.")
    ] = False
    smooth: Annotated[
        int, typer.Option("--smooth", metavar="N", min=0, help="Average with N cells to each side.")
    ] = 0

    def see_whole(self, points: PointOptions) -> None:
        """Refuse options that do not go together."""
        from discreet.spatial.projection import WGS84

        if (self.cell is None) == (self.h3 is None):
            raise opt.Usage("give the size of a cell, --cell 3km, or a resolution, --h3 7")
        if self.adaptive and (points.total is not None or points.people is not None or self.smooth):
            raise opt.Usage(
                "--adaptive counts rows, and its cells differ in size: leave out --sum, --people, --smooth"
            )
        if self.h3 is not None and (self.adaptive or points.crs != WGS84):
            raise opt.Usage(
                "--h3 has cells of one size, of columns in degrees: leave out --adaptive and --crs"
            )

    def margin(self, area: Box, crs: str) -> tuple[float, float]:
        """The width and height of a cell, once it could be read."""
        from discreet.spatial import Grid, Hexagons

        if self.cell is None:
            Hexagons.read(self.h3)
            return 0.0, 0.0
        grid = Grid.read(self.cell, area, crs)
        return float(grid.width), float(grid.height)

    def counted(
        self, session: AnySession, rows: str, epsilon: str, crs: str, given: Mapping[str, Any]
    ) -> HeatMap:
        """Ask for the map."""
        from discreet.spatial import adaptive_map, heat_map, hexagon_map

        if self.cell is None:
            assert self.h3 is not None
            return hexagon_map(session, rows, self.h3, epsilon, **given)
        if self.adaptive:
            return adaptive_map(session, rows, self.cell, epsilon, crs=crs, **given)
        return heat_map(session, rows, self.cell, epsilon, crs=crs, **given)


@grouped
def command(
    rows: Annotated[
        str, typer.Argument(metavar="TABLE", help="The table with a point in each row.", show_default=False)
    ],
    place: SourceOptions,
    remote: ServerOptions,
    area: Annotated[
        str, typer.Option("--area", metavar="W,S,E,N", help="West, south, east and north of the map.")
    ],
    points: PointOptions,
    shape: CellOptions,
    epsilon: Annotated[str, typer.Option("-e", "--epsilon", metavar="EPSILON", help="Of the whole map.")],
    confidence: opt.Confidence = 0.95,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="A .png, .svg, .html, .geojson or .parquet."),
    ] = None,
    as_json: opt.Json = False,
) -> None:
    """Draw a heat map: one release for all cells of a public grid.

    Cells that noise alone could have made are grey. The intervals of all cells hold together. Choose the area and the
    size of a cell without looking at the data.

    \b
    Examples:
      discreet map sightings --cell 3km --area 4.3,51.5,6.0,52.7 -e 0.5 -o map.html
      discreet map sightings --h3 7 --area 4.3,51.5,6.0,52.7 -e 0.5 --people observer --cap 4 -o map.png
      discreet map sightings --cell 1km --area 4.3,51.5,6.0,52.7 -e 0.5 --cap 4 --adaptive -o map.geojson
      discreet map points --source points.csv --unit person --max-rows 2 --budget 1 --cell 3km \\
          --area 4.3,51.5,6.0,52.7 -e 0.5 -o map.png
      discreet map visits --x east --y north --crs EPSG:28992 --cell 500m --area 1e5,4e5,1.2e5,4.2e5 -e 1 --json
    """  # noqa: D301
    from discreet.cli.output import say
    from discreet.release.bill import Bill
    from discreet.release.documents import dump
    from discreet.spatial import check_path, read_area

    box = read_area(area.split(","))
    if output is not None:
        check_path(output)
    shape.see_whole(points)
    capped = points.cap or place.question_rows
    given: dict[str, Any] = {
        "area": box,
        "x": points.x,
        "y": points.y,
        "where": points.where,
        "max_rows": place.question_rows if points.people else capped,
        "confidence": confidence,
    }
    if not shape.adaptive:
        given |= {"total": points.total, "people": points.people}
        given["max_groups"] = points.cap if points.people else None
    with Bill():
        place = _bounded(place, points, box, shape.margin(box, points.crs))
    with Bill(), ProgressLine("counting by cells"), remote.open(place) or place.open() as session:
        made = shape.counted(session, rows, epsilon, points.crs, given)
    if shape.smooth:
        made = made.smooth(shape.smooth)
    if output is not None:
        made.save(output)
    if as_json:
        typer.echo(dump(made.to_geojson()))
    else:
        _print(made)
    if output is not None:
        say(f"wrote {output}")


def _print(made: HeatMap) -> None:
    """The map in a line, and its greatest cells."""
    typer.echo(str(made))
    spots = made.hot_spots
    if spots:
        typer.echo("  each by its middle, east before north, with its number and interval")
    for spot in spots[:SHOWN]:
        x, y = spot.middle
        named = f"{spot.name}  " if spot.name else ""
        typer.echo(f"  {named}{_end(x)}, {_end(y)}: {spot.value:,.0f} ({spot.low:,.0f} to {spot.high:,.0f})")
    if len(spots) > SHOWN:
        typer.echo(
            f"  … and {len(spots) - SHOWN:,} more above the noise: --json, or -o map.geojson, has every cell"
        )


def _end(number: float) -> str:
    """A coordinate in six digits, or in whole metres.

    Example:
        >>> _end(52.084123456), _end(6822500.0)
        ('52.0841', '6822500')
    """
    return f"{number:.6g}" if abs(number) < 1e6 else f"{number:.0f}"


def _bounded(
    place: SourceOptions, points: PointOptions, area: Box, margin: tuple[float, float]
) -> SourceOptions:
    """The place with bounds of both columns: of a file without a policy they follow from the map that is asked for.

    They reach beyond the area, so that a point outside, which is clamped to them, lies in none of its cells.
    """
    from discreet.spatial.projection import WGS84

    if place.source is None:
        return place
    declared = {text.partition("=")[0].lower() for text in place.bounds or ()}
    (wide, high), x, y = margin, points.x, points.y
    ends = {x: (area[0] - wide, area[2] + wide), y: (area[1] - high, area[3] + high)}
    if points.crs == WGS84:
        # The same for every map, so that answers are known again.
        ends = {x: (-180.0, 180.0), y: (-90.0, 90.0)}
    more = [f"{name}={low!r}:{high!r}" for name, (low, high) in ends.items() if name.lower() not in declared]
    return replace(place, bounds=[*(place.bounds or ()), *more])
