"""Heat maps: the error of a cell beside the naive way and diffprivlib at equal privacy, and the time of a picture.

30,000 invented sightings, two thirds of them around two places; each watcher has four, so that no cap drops any, and a
watcher is added or removed with all four, at epsilon 1/2. An error is the root mean square over all finest cells of
`RUNS` maps; a large cell gives its share to each of them. The naive way asks for each cell by itself with an even
share of epsilon; its error is that of the formula. diffprivlib has two-way histograms of rows and none of people, so it
is asked for a fourth of epsilon; it rounds counts up to zero, and is compared with ours rounded alike. No library for
adaptive cells or private maps could be installed from PyPI.
"""

from __future__ import annotations

import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

import discreet as dp
from benchmarks.line import Line
from benchmarks.peers.environments import CannotInstall, python_of
from discreet.spatial import Grid, HeatMap, adaptive_map, heat_map

RUNS: Final = 5
AREA: Final = (4.3, 51.5, 6.0, 52.7)
MOST: Final = 4
EPSILON: Final = 0.5
ROWS: Final = 30_000
LIMIT: Final = 2.0
"""Seconds of the processor for the SVG of 5,625 cells."""

Counts = dict[tuple[int, int], float]

THEIRS: Final = """
import sys
import numpy as np
from diffprivlib.tools import histogram2d
given = np.load(sys.argv[1])
made = [
    histogram2d(given["x"], given["y"], epsilon=float(given["epsilon"]), bins=given["bins"], range=given["range"])[0]
    for _ in range(int(given["runs"]))
]
np.save(sys.argv[2], np.array(made))
"""


def lines() -> Iterator[Line]:
    """Errors at two sizes of a cell, then the time of a picture."""
    table = sightings()
    asked = dp.protect(table, privacy_unit="observer", max_rows=MOST, budget=10**6,
                       bounds={"lat": (50, 54), "lng": (3, 8)})  # fmt: skip
    for size in ("1km", "3km"):
        yield from _errors(size, table, asked)
    made = heat_map(asked, "data", "0.02deg", EPSILON, area=(4.3, 51.5, 5.8, 53.0))
    seconds = _drawn(made)
    yield Line(f"SVG of {len(made.cells):,} cells: processor time", seconds, "limit", LIMIT, seconds / LIMIT,
               f"<= {LIMIT:g} s", seconds <= LIMIT)  # fmt: skip


def sightings() -> pa.Table:
    """Around two places, and everywhere."""
    rng = np.random.default_rng(1)
    third = ROWS // 3
    spots = [(52.1, 5.1, 0.08), (51.9, 4.6, 0.05)]
    lat = [*(rng.normal(y, spread, third) for y, _, spread in spots), rng.uniform(51.5, 52.7, third)]
    lng = [*(rng.normal(x, spread, third) for _, x, spread in spots), rng.uniform(4.3, 6.0, third)]
    observer = rng.permutation(np.arange(3 * third) // MOST)
    return pa.table({"observer": observer, "lat": np.concatenate(lat), "lng": np.concatenate(lng)})


def _errors(size: str, table: pa.Table, asked: dp.Session) -> Iterator[Line]:
    plain = [_map(asked, size, turn) for turn in range(RUNS)]
    adaptive = [_adaptive(asked, size, turn) for turn in range(RUNS)]
    grid, cells = plain[0].grid, len(plain[0].cells)
    assert isinstance(grid, Grid)
    exact = _exact(table, grid)
    even, smooth = (_error([one.smooth(n) if n else one for one in plain], exact) for n in (0, 1))
    zeroed, fine, fine_zeroed = (
        _error(maps, exact, least) for maps, least in ((plain, 0.0), (adaptive, -math.inf), (adaptive, 0.0))
    )
    naive = math.sqrt(2) * MOST * cells / EPSILON
    where = f"{cells:,} cells of {size}: rms error of a cell"
    for name, ours, beside, theirs, most in (
        ("even grid", even, "a question for each cell", naive, 0.1),
        ("even grid, 3 x 3 averaged", smooth, "even grid", even, None),
        ("adaptive", fine, "even grid", even, 1.0 if size == "1km" else None),
    ):
        yield _line(f"{where}, {name}", ours, beside, theirs, most)
    peer = _diffprivlib(table, grid, exact)
    if peer is not None:
        yield _line(f"{where}, even grid, zero or more", zeroed, "diffprivlib", peer, 1.1)
        yield _line(f"{where}, adaptive, zero or more", fine_zeroed, "diffprivlib", peer,
                    1.0 if size == "1km" else None)  # fmt: skip


def _line(name: str, ours: float, beside: str, theirs: float, most: float | None) -> Line:
    target = "" if most is None else f"<= {most:g}"
    return Line(name, ours, beside, theirs, ours / theirs, target, most is None or ours <= most * theirs, "")


def _map(asked: dp.Session, size: str, turn: int) -> HeatMap:
    # Another condition is another question: the same one would be answered with the same noise.
    return heat_map(asked, "data", size, EPSILON, area=AREA, where=f"observer <> {-1 - turn}")


def _adaptive(asked: dp.Session, size: str, turn: int) -> HeatMap:
    return adaptive_map(asked, "data", size, EPSILON, area=AREA, where=f"observer <> {-1 - turn}")


def _places(table: pa.Table, grid: Grid) -> tuple[Any, Any]:
    """The column and the row of the cell of each point of the area."""
    west, south, east, north = AREA
    lng, lat = (table[name].to_numpy() for name in ("lng", "lat"))
    kept = (lng >= west) & (lng < east) & (lat >= south) & (lat < north)
    return tuple(
        np.floor(at[kept] / float(side)).astype(int) for at, side in ((lng, grid.width), (lat, grid.height))
    )


def _exact(table: pa.Table, grid: Grid) -> Counts:
    places, counts = np.unique(np.stack(_places(table, grid), 1), axis=0, return_counts=True)
    return {(int(x), int(y)): float(n) for (x, y), n in zip(places, counts, strict=True)}


def _error(maps: list[HeatMap], exact: Counts, least: float = -math.inf) -> float:
    squares = [
        (max(least, cell.value / cell.side**2) - exact.get((cell.column * cell.side + i, cell.row * cell.side + j), 0))
        ** 2
        for made in maps
        for cell in made.cells
        for i in range(cell.side)
        for j in range(cell.side)
    ]  # fmt: skip
    return math.sqrt(statistics.fmean(squares))


def _diffprivlib(table: pa.Table, grid: Grid, exact: Counts) -> float | None:
    """The error of its histogram; None where it cannot be installed."""
    across, up = _places(table, grid)
    west, south, east, north = AREA
    first = math.floor(west / float(grid.width)), math.floor(south / float(grid.height))
    last = math.ceil(east / float(grid.width)), math.ceil(north / float(grid.height))
    bins = [last[0] - first[0], last[1] - first[1]]
    with tempfile.TemporaryDirectory() as folder:
        given, out = Path(folder) / "given.npz", Path(folder) / "out.npy"
        np.savez(given, x=across + 0.5, y=up + 0.5, bins=bins, range=list(zip(first, last, strict=True)),
                 epsilon=EPSILON / MOST, runs=RUNS)  # fmt: skip
        try:
            command = [python_of("diffprivlib"), "-c", THEIRS, given, out]
            subprocess.run([*map(str, command)], check=True, env={})
        except CannotInstall as why:
            print(f"diffprivlib: {why}", file=sys.stderr)
            return None
        found = np.load(out)
    right = np.zeros(bins)
    for (column, row), count in exact.items():
        right[column - first[0], row - first[1]] = count
    return math.sqrt(float(((found - right) ** 2).mean()))


def _drawn(made: HeatMap) -> float:
    """The least of three, after a warm-up."""
    with tempfile.TemporaryDirectory() as folder:
        spent = []
        for _ in range(4):
            start = time.process_time()
            made.save(Path(folder) / "map.svg")
            spent.append(time.process_time() - start)
    return min(spent[1:])
