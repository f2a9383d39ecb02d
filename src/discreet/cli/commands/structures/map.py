"""`discreet map`: how many rows lie in each cell of a grid, as a picture, a page or a file for map tools."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import options as opt
from discreet.cli.option_groups import grouped
from discreet.cli.place import Place
from discreet.cli.progress import Progress
from discreet.cli.remote import Remote

if TYPE_CHECKING:
    from discreet.spatial.grid import Box, Grid

SHOWN = 10
"""So many hot spots are printed."""


@dataclass(frozen=True)
class Points:
    """Which rows count, and where they are."""

    x: Annotated[str, typer.Option("--x", metavar="COLUMN", help="The column from west to east.")] = "lng"
    y: Annotated[str, typer.Option("--y", metavar="COLUMN", help="The column from south to north.")] = "lat"
    crs: Annotated[
        str, typer.Option("--crs", metavar="CODE", help="Of both columns, such as EPSG:28992 for metres.")
    ] = "EPSG:4326"
    total: Annotated[
        str | None, typer.Option("--sum", metavar="COLUMN", help="Add up a bounded column; else count.")
    ] = None
    where: Annotated[str, typer.Option("--where", metavar="CONDITION", help="Which rows, in SQL.")] = ""
    cap: Annotated[
        int | None, typer.Option("--cap", metavar="N", min=1, help="How many rows of a unit count.")
    ] = None


@dataclass(frozen=True)
class Shape:
    """The shape of the cells."""

    adaptive: Annotated[
        bool, typer.Option("--adaptive", help="Cells up to eight times as large where few rows are.")
    ] = False
    smooth: Annotated[
        int, typer.Option("--smooth", metavar="N", min=0, help="Average with N cells to each side.")
    ] = 0


@grouped
def command(
    rows: Annotated[
        str, typer.Argument(metavar="TABLE", help="The table with a point in each row.", show_default=False)
    ],
    place: Place,
    remote: Remote,
    cell: Annotated[str, typer.Option("--cell", metavar="SIZE", help="Of a cell: 3km, 500m or 0.05deg.")],
    area: Annotated[
        str, typer.Option("--area", metavar="W,S,E,N", help="West, south, east and north of the map.")
    ],
    points: Points,
    shape: Shape,
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
      discreet map sightings --cell 1km --area 4.3,51.5,6.0,52.7 -e 0.5 --cap 4 --adaptive -o map.geojson
      discreet map points --source points.csv --unit person --max-rows 2 --budget 1 --cell 3km \\
          --area 4.3,51.5,6.0,52.7 -e 0.5 -o map.png
      discreet map visits --x east --y north --crs EPSG:28992 --cell 500m --area 1e5,4e5,1.2e5,4.2e5 -e 1 --json
    """  # noqa: D301
    from discreet.release.documents import dump
    from discreet.spatial import Grid, adaptive_map, check_path, heat_map, read_area

    box = read_area(area.split(","))
    if output is not None:
        check_path(output)
    if shape.adaptive and (points.total is not None or shape.smooth):
        raise opt.Usage("--adaptive counts rows, and its cells differ in size: leave out --sum and --smooth")
    given: dict[str, Any] = {
        "area": box,
        "x": points.x,
        "y": points.y,
        "crs": points.crs,
        "where": points.where,
        "max_rows": points.cap or place.question_rows,
        "confidence": confidence,
    }
    place = _bounded(place, points.x, points.y, box, Grid.read(cell, box, points.crs))
    with Progress("counting by cells"), remote.open(place) or place.open() as session:
        if shape.adaptive:
            made = adaptive_map(session, rows, cell, epsilon, **given)
        else:
            made = heat_map(session, rows, cell, epsilon, total=points.total, **given)
    if shape.smooth:
        made = made.smooth(shape.smooth)
    if output is not None:
        made.save(output)
    if as_json:
        typer.echo(dump(made.to_geojson()))
        return
    typer.echo(str(made))
    for spot in made.hot_spots[:SHOWN]:
        middle = ((spot.box[0] + spot.box[2]) / 2, (spot.box[1] + spot.box[3]) / 2)
        typer.echo(
            f"  {middle[0]:.6g}, {middle[1]:.6g}: {spot.value:,.0f} ({spot.low:,.0f} to {spot.high:,.0f})"
        )


def _bounded(place: Place, x: str, y: str, area: Box, grid: Grid) -> Place:
    """The place with bounds of both columns: of a file without a policy they follow from the map that is asked for.

    They reach beyond the area, so that a point outside, which is clamped to them, lies in none of its cells.
    """
    from discreet.spatial.grid import WGS84

    if place.source is None:
        return place
    declared = {text.partition("=")[0].lower() for text in place.bounds or ()}
    wide, high = float(grid.width), float(grid.height)
    ends = {x: (area[0] - wide, area[2] + wide), y: (area[1] - high, area[3] + high)}
    if grid.crs == WGS84:
        ends = {
            x: (-180.0, 180.0),
            y: (-90.0, 90.0),
        }  # the same for every map, so that answers are known again
    more = [f"{name}={low!r}:{high!r}" for name, (low, high) in ends.items() if name.lower() not in declared]
    return replace(place, bounds=[*(place.bounds or ()), *more])
