"""Adaptive grids: large cells where few rows are, small ones where many are (Qardaji, Yang and Li 2013).

Half of epsilon counts coarse cells. Each is then cut by its noisy count, so that the cut is post-processing, and the
other half counts the pieces. Both counts of a coarse cell are then made one by least squares, so that the pieces add up
to it exactly. Four pieces that noise alone explains are put together again, so that a dense place is no blank.
"""

from __future__ import annotations

import functools
import math
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from discreet.mechanisms.laplace_sum.half_width import half_width
from discreet.rational import Number, epsilon_of
from discreet.spatial.cell import Box
from discreet.spatial.counting import AnySession, PointTable, ask, read_area
from discreet.spatial.grid import Grid
from discreet.spatial.heat_map import HeatMap
from discreet.spatial.pieces import put_together, unions
from discreet.spatial.projection import WGS84

if TYPE_CHECKING:
    from discreet.release.answer import Release

CUTS: Final = (8, 4, 2, 1)
"""Into how many pieces a coarse cell may be cut, each way."""
_CONSTANT: Final = 10
"""How many scales of its noise a piece is to hold. The paper's c2 = 5 is for sums over large rectangles; by cell it
errs more, and leaves pieces that no interval tells from zero."""

Place = tuple[int, int]


def adaptive_map(  # noqa: D417  most are those of `heat_map`
    session: AnySession,
    table: str,
    size: str,
    epsilon: Number,
    *,
    area: Box,
    x: str = "lng",
    y: str = "lat",
    crs: str = WGS84,
    where: str = "",
    max_rows: int | None = None,
    confidence: float = 0.95,
) -> HeatMap:
    """Count the rows of a table in cells whose size follows their number.

    Errs less than an even grid where most of the area is nearly empty. It asks two questions, each for half of epsilon.

    Args:
        size: of the finest cell; the coarsest is eight times as wide and high.
        the others: as for `heat_map`.

    Returns:
        Cells of 1, 2, 4 or 8 times the size, which fill the area.

    Raises: as `heat_map`. Where the second question fails, the first stays charged.

    Privacy: two questions of `Session.sql` in sequence; the second depends on noisy counts of the first alone.

    Example:
        >>> import pyarrow as pa
        >>> import discreet as dp
        >>> seen = pa.table({"lat": [52.1, 52.3] * 900, "lng": [4.9, 5.1] * 900})
        >>> session = dp.protect(seen, privacy_unit="row", budget=3, bounds={"lat": (52, 53), "lng": (4, 6)})
        >>> made = adaptive_map(session, "data", "0.05deg", 1, area=(4, 52, 6, 53))
        >>> sorted({cell.side for cell in made.cells})[-1]
        8
    """
    box, loss = read_area(area), epsilon_of(epsilon)
    fine = Grid.read(size, box, crs)
    coarse = fine.coarser(CUTS[0])
    points = PointTable(table, x, y, box, None, where)
    across, up = coarse.keys(*points.axes)
    asked: dict[str, Any] = {"max_rows": max_rows, "confidence": confidence}
    first = ask(session, points, {"map_row": up, "map_column": across}, loss / 2, **asked)
    whole = {(c, r): n for r, c, n in _rows(first, "map_row", "map_column") if coarse.meets(c, r, box)}
    scale = _scale(first)
    cuts = {place: _cut(count, scale) for place, count in whole.items()}
    second = ask(session, points, _keys(points, fine, coarse, cuts), loss - loss / 2, **asked)
    parts: dict[Place, list[tuple[Place, float]]] = defaultdict(list)
    for row, column, count in _rows(second, "map_row", "map_column"):
        if None in (row, column):
            continue  # a CASE has a group for NULL, which no point is in
        place = column // CUTS[0], row // CUTS[0]
        side = CUTS[0] // cuts.get(place, CUTS[0])
        if place in cuts and row % side == column % side == 0:
            parts[place].append(((column // side, row // side), count))
    scales = scale, _scale(second)
    nodes = sum(len(pieces) + unions(pieces, cuts[place]) for place, pieces in parts.items())
    alpha = (1 - first.confidence) / max(1, nodes)

    @functools.cache
    def width(taken: int, many: int) -> float:
        return _error(scales, taken, many, 1 - alpha)

    cells = []
    for place, pieces in sorted(parts.items(), key=lambda item: item[0][::-1]):
        cut, many = cuts[place], len(pieces)
        share, gap = _weight(scales, many) / many, whole[place] - sum(count for _, count in pieces)
        found = {corner: count + share * gap for corner, count in pieces}
        cells += put_together(found, cut, fine.coarser(CUTS[0] // cut), CUTS[0] // cut, width)
    notes = tuple(dict.fromkeys(map(str, (*first.notes, *second.notes))))
    return HeatMap(points.name, cells, fine, first.epsilon + second.epsilon, first.confidence, notes)


def _rows(answer: Release, *keys: str) -> list[tuple[Any, ...]]:
    found = answer.to_dict()
    return list(zip(*(found[name] for name in (*keys, "map_value")), strict=True))


def _scale(answer: Release) -> float:
    """The scale of the noise of a count, from the half-width of its intervals; too large by a fraction of a step."""
    widths = (high - low for low, high in zip(answer["map_value_low"], answer["map_value_high"], strict=True))
    return (max(widths, default=0) / 2 + 1) / -math.log(1 - answer.confidence)


def _cut(count: float, scale: float) -> int:
    """How fine a coarse cell is cut: pieces hold about `_CONSTANT` scales of the noise."""
    wanted = math.sqrt(max(0.0, count) / (_CONSTANT * scale))
    return min(CUTS, key=lambda cut: abs(math.log2(max(wanted, 1) / cut)))


def _keys(points: PointTable, fine: Grid, coarse: Grid, cuts: Mapping[Place, int]) -> dict[str, str]:
    """The corner of the piece of a row, in finest cells: a CASE over the coarse cells of each cut.

    Corners that are of no piece have no rows, and their noise is dropped.
    """
    across, up = coarse.keys(*points.axes)
    wide = 1 + max((abs(column) for column, _ in cuts), default=0) * 2
    code = f"{up} * {wide} + {across}"
    used = sorted(set(cuts.values())) or [1]
    tests = [
        f"{code} IN ({', '.join(str(row * wide + column) for (column, row), cut in cuts.items() if cut == fineness)})"
        for fineness in used[1:]
    ]

    def case(values: list[str]) -> str:
        branches = " ".join(
            f"WHEN {test} THEN {value}" for test, value in zip(tests, values[1:], strict=True)
        )
        return f"CASE {branches} ELSE {values[0]} END" if branches else values[0]

    sides = [CUTS[0] // cut for cut in used]
    corners = [[f"{key} * {side}" for key in fine.coarser(side).keys(*points.axes)] for side in sides]
    columns, rows = ([corner[axis] for corner in corners] for axis in (0, 1))
    return {"map_row": case(rows), "map_column": case(columns)}


def _weight(scales: tuple[float, float], pieces: int) -> float:
    """How much of the gap between a coarse count and the sum of its pieces the pieces take: least squares."""
    a, b = scales[0] ** 2, pieces * scales[1] ** 2
    return b / (a + b)


def _error(scales: tuple[float, float], taken: int, pieces: int, confidence: float) -> float:
    """The half-width of the interval of the sum of some pieces: their noise, their sisters' and the coarse count's."""
    share = taken * _weight(scales, pieces) / pieces
    own, sisters = [scales[1] * (1 - share)] * taken, [scales[1] * share] * (pieces - taken)
    return float(half_width([*own, *sisters, scales[0] * share], confidence))
