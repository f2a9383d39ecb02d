"""Cells of H3, a grid of hexagons on the earth: of points, of a box, and as a function for an engine to call.

No engine has them in its own SQL without an extension, so the library `h3` computes them in this process, or in those
of a cluster. The function never fails: a point that is none has no cell.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

NAME: Final = "discreet_h3_cell"
"""Of the function: latitude, longitude and resolution -> the index of the cell, an integer of 64 bits, or NULL."""
FINEST: Final = 15
"""The finest resolution; a cell of it is a metre wide."""
MOST: Final = 1_000_000
"""The largest number of cells of a box that are listed."""
_RADIUS_KM: Final = 6371.007
_WIDEST: Final = 60.0
"""Degrees: a wider box is cut, since the library takes one of more than 180 for one that goes the other way round."""

_POLAR: Final = 6
"""Cells: so many around a pole are taken whole, since on a plane of degrees they have no outline."""


@cache
def installed() -> bool:
    """Whether the library is there."""
    return importlib.util.find_spec("h3") is not None


def cells(
    lat: NDArray[np.float64], lng: NDArray[np.float64], resolution: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The cells of points.

    Args:
        lat: degrees, NaN for NULL.
        lng: degrees, NaN for NULL.
        resolution: of each, 0 to 15.

    Returns:
        The indices, and whether a point has none: it is NaN, infinite, beyond a pole or the antimeridian. Their index
        is 0.

    Example:
        >>> found, none = cells(np.array([52.1, np.nan]), np.array([5.1, 5.1]), np.array([7, 7]))
        >>> hex(found[0]), none.tolist()
        ('0x871969091ffffff', [False, True])
    """
    from h3.api.basic_int import latlng_to_cell

    there = (np.abs(lat) <= 90) & (np.abs(lng) <= 180) & (resolution >= 0) & (resolution <= FINEST)
    out = np.zeros(len(lat), np.int64)
    # Zero is added since -0.0 equals 0.0, and equal points have one cell.
    points = zip(
        (lat[there] + 0.0).tolist(), (lng[there] + 0.0).tolist(), resolution[there].tolist(), strict=True
    )
    out[there] = np.fromiter((latlng_to_cell(*point) for point in points), np.int64, int(there.sum()))
    return out, ~there


@lru_cache(maxsize=64)
def covering(south: float, west: float, north: float, east: float, resolution: int) -> tuple[str, ...] | None:
    """The cells that a point of a box can lie in, and a few at its edge that none does, in the order of their names.

    Args:
        south: the least latitude; places beyond a pole or the antimeridian are left out.
        west: the least longitude.
        north: the greatest latitude.
        east: the greatest longitude.
        resolution: 0 to 15.

    Returns:
        The cells as H3 writes them; None where there are more than a million.

    Example:
        >>> covering(52.1, 5.1, 52.1, 5.1, 5)
        ('8519690bfffffff',)
    """
    import h3

    south, north, west, east = max(south, -90.0), min(north, 90.0), max(west, -180.0), min(east, 180.0)
    if south > north or west > east:
        return ()
    height = math.sin(math.radians(north)) - math.sin(math.radians(south))
    size = _RADIUS_KM**2 * height * math.radians(east - west)
    # The smallest cells have 0.6 of the mean area.
    if size / h3.average_hexagon_area(resolution) > 2 * MOST:
        return None
    found: set[str] = set()
    edge = h3.average_hexagon_edge_length(resolution) / _RADIUS_KM
    for pole in (-90.0, 90.0):
        if min(abs(pole - south), abs(pole - north)) < math.degrees(_POLAR * edge):
            found.update(h3.grid_disk(h3.latlng_to_cell(pole, 0.0, resolution), _POLAR))
    for box in _pieces(south, west, north, east, edge):
        found.update(h3.h3shape_to_cells_experimental(h3.LatLngPoly(box), resolution, contain="overlap"))
    return tuple(sorted(found)) if len(found) <= MOST else None


def _pieces(
    south: float, west: float, north: float, east: float, edge: float
) -> Iterator[list[tuple[float, float]]]:
    """Boxes that the library can take, which reach so far beyond a box that no cell of it is left out.

    The library draws the edges of cells straight on a plane of degrees, and they are arcs of great circles: between its
    ends an arc of length L goes beyond that line by L^2 tan(lat) / 8. The cells next to a pole are taken whole.

    Args:
        south: of the box, as the next three.
        west: the same.
        north: the same.
        east: the same.
        edge: the length of the edges of cells, in radians.
    """
    steepest = math.tan(min(math.radians(max(-south, north)) + edge, math.pi / 2 - _POLAR * edge / 2))
    beyond = math.degrees(edge * min(0.15, edge * (0.1 + abs(steepest)))) + 1e-9
    # A degree of longitude is shorter by the cosine of the latitude.
    aside = min(beyond * math.hypot(1, steepest), 180.0)
    low, high = max(south - beyond, -90.0), min(north + beyond, 90.0)
    spans = [(max(west - aside, -180.0), min(east + aside, 180.0))]
    spans += [(180 - aside, 180.0)] * (west - aside < -180) + [(-180.0, aside - 180)] * (east + aside > 180)
    for left, right in spans:
        pieces = math.ceil((right - left) / _WIDEST)
        ends = [left + (right - left) * piece / pieces for piece in range(pieces)] + [right]
        for start, end in pairwise(ends):
            yield [(low, start), (low, end), (high, end), (high, start)]
