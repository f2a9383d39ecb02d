"""Heat maps: noisy numbers of the cells of an area, as pictures, tables and files."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

from discreet.errors import InvalidParameter
from discreet.escaping import json_text
from discreet.rational import show
from discreet.records import dataclass
from discreet.session.parameters import whole
from discreet.spatial.cell import Cell
from discreet.spatial.geometry import geo_parquet
from discreet.spatial.grid import Ring


class CellLayout(Protocol):
    """The kind of cells that a map has: a grid, or hexagons."""

    @property
    def words(self) -> str:
        """The size of a cell."""

    def outlines(self, cells: Sequence[Cell]) -> list[Ring]:
        """The outlines of cells as longitude and latitude."""

    def near(self, cell: Cell, reach: int) -> list[Hashable]:
        """The places of a cell and of those around it, some of which the map may not have."""


@dataclass(frozen=True)
class HeatMap:
    """The noisy numbers of all cells of an area. All intervals hold together with the confidence.

    Attributes:
        name: of the number.
        cells: of the area, from south to north and from west to east.
        grid: that they are of.
        epsilon: of the release.
        confidence: of all intervals together.
        notes: the errors that the intervals do not cover.
        smoothed: how many cells to each side were averaged; 0 for none.
    """

    name: str
    cells: Sequence[Cell]
    grid: CellLayout
    epsilon: Fraction
    confidence: float
    notes: tuple[str, ...]
    smoothed: int = 0

    @property
    def hot_spots(self) -> list[Cell]:
        """The cells that noise alone does not explain and that are above zero, the greatest first."""
        return sorted((cell for cell in self.cells if cell.low > 0), key=lambda cell: -cell.value)

    def rings(self) -> list[Ring]:
        """The outlines of the cells as longitude and latitude."""
        return self.grid.outlines(self.cells)

    def rows(self) -> list[dict[str, Any]]:
        """A mapping for each cell: its place, its number, its interval, and `explained`."""
        return [
            {
                **({"cell": cell.name} if cell.name else {"column": cell.column, "row": cell.row}),
                self.name: cell.value, f"{self.name}_low": cell.low,
                f"{self.name}_high": cell.high, **({} if cell.name else {"side": cell.side}),
                "explained": cell.explained,
            }
            for cell in self.cells
        ]  # fmt: skip

    def to_geojson(self) -> dict[str, Any]:
        """The cells as a GeoJSON FeatureCollection (RFC 7946), in degrees, with the price and its notes."""
        return {
            "type": "FeatureCollection",
            "epsilon": str(self.epsilon),
            "confidence": self.confidence,
            "notes": list(self.notes),
            "features": [
                {"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [ring]}, "properties": row}
                for ring, row in zip(self.rings(), self.rows(), strict=True)
            ],
        }

    def smooth(self, reach: int = 1) -> HeatMap:
        """Average each cell with those around it: less noise, and a bias that the data decides.

        Where neighbouring cells differ, a mean of them is off by more than its noise. Its interval is the mean of the
        intervals of its cells, so that it covers the same mean of the true numbers, and not the cell's own number.

        Args:
            reach: how many cells to each side, at least 1.

        Raises:
            InvalidParameter: reach is no whole number from 1 on, or the cells differ in size.
        """
        whole(reach, "reach")
        if any(cell.side > 1 for cell in self.cells):
            raise InvalidParameter("The cells differ in size.", "Smooth a map that is not adaptive.")
        by_place = {cell.place: cell for cell in self.cells}
        made, most = [], 0
        for cell in self.cells:
            near = [by_place[place] for place in self.grid.near(cell, reach) if place in by_place]
            most = max(most, len(near))
            made.append(
                replace(
                    cell,
                    value=sum(neighbour.value for neighbour in near) / len(near),
                    low=sum(neighbour.low for neighbour in near) / len(near),
                    high=sum(neighbour.high for neighbour in near) / len(near),
                )
            )
        note = f"smoothing: each number is the mean of up to {most} cells"
        return HeatMap(
            self.name,
            made,
            self.grid,
            self.epsilon,
            self.confidence,
            (*self.notes, note),
            self.smoothed + reach,
        )

    def plot(self, title: str = "", size: str = "slide") -> Any:
        """The map as an Altair chart; needs the extra `plots`."""
        from discreet.spatial.picture import picture_of_cells

        title = title or f"{self.name} by cells of {self.grid.words}"
        words = [
            f"Grey: noise could have made it. {len(self.hot_spots):,} cells are above it, at "
            f"{100 * self.confidence:g} % for all of them together. ε = {show(self.epsilon)}"
        ]
        if self.smoothed:
            words.append(
                "Smoothed: a number is the mean of its cell and those around it, and off where they differ."
            )
        return picture_of_cells(self.cells, self.rings(), self.name, title, words, size)

    def save(self, path: str | os.PathLike[str], title: str = "") -> Path:
        """Write the map: .png, .svg, .html (offline, with the numbers under the pointer), .geojson or .parquet.

        Raises:
            InvalidParameter: the ending is none of these, or the folder is not there.
        """
        file = check_path(path)
        kind = file.suffix.lower()
        if kind == ".geojson":
            file.write_text(json_text(json.dumps(self.to_geojson())) + "\n", "utf-8")
        elif kind == ".parquet":
            geo_parquet(file, self.rings(), self.rows())
        else:
            from discreet.plots.render import save

            save(self.plot(title), file, narrow=lambda: self.plot(title, "column"))
        return file

    def __str__(self) -> str:
        found, many = len(self.hot_spots), len(self.cells)
        return (
            f"{many:,} cell{'s' * (many != 1)} of {self.grid.words} · {found:,} above the noise · "
            f"epsilon {show(self.epsilon)} · all intervals hold together at {100 * self.confidence:g} %"
        )


_KINDS = (".png", ".svg", ".html", ".json", ".geojson", ".parquet")


def check_path(path: str | os.PathLike[str]) -> Path:
    """Check that a map can be written to a path, before anything is charged.

    Raises:
        InvalidParameter: the ending is not that of a map, or the folder is not there.
    """
    file = Path(path)
    if file.suffix.lower() not in _KINDS:
        raise InvalidParameter("The name has no ending of a map.", f"End it in {', '.join(_KINDS)}.")
    if not file.absolute().parent.is_dir():
        raise InvalidParameter(f"There is no folder {file.parent}.", "Make it first.")
    return file
