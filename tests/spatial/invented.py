"""Sightings with two hot spots, and a session over them."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache

import numpy as np
import pyarrow as pa

import discreet as dp
from discreet.spatial import Grid, HeatMap, adaptive_map
from discreet.spatial.heat_map import CellLayout
from tests import shared

AREA = (4.3, 51.5, 6.0, 52.7)


@cache
def sightings(rows: int = 30_000, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    third = rows // 3
    spots = [(52.1, 5.1, 0.08), (51.9, 4.6, 0.05)]
    lat = [*(rng.normal(lat, spread, third) for lat, _, spread in spots), rng.uniform(51.5, 52.7, third)]
    lng = [*(rng.normal(lng, spread, third) for _, lng, spread in spots), rng.uniform(4.3, 6.0, third)]
    observer = rng.integers(0, rows // 3, 3 * third)
    return pa.table({"observer": observer, "lat": np.concatenate(lat), "lng": np.concatenate(lng)})


def session(table: pa.Table, max_rows: int = 20, budget: int = 10**6) -> dp.Session:
    """Over a table whose units have fewer rows than count, so that the truth is that of plain numpy."""
    bounds = {"lat": (50, 54), "lng": (3, 8)}
    return shared.protect(table, privacy_unit="observer", max_rows=max_rows, budget=budget, bounds=bounds)


@cache
def finest() -> HeatMap:
    """An adaptive map of the sightings, at epsilon 1/2, drawn once for all tests that look at it."""
    return adaptive_map(session(sightings(), 4), "data", "1km", "1/2", area=AREA)


def truth(table: pa.Table, grid: CellLayout, where: float = -math.inf) -> Counter[tuple[int, int]]:
    """How many sightings of the area lie in each cell, above a latitude."""
    assert isinstance(grid, Grid)
    lat, lng = (table[name].to_numpy() for name in ("lat", "lng"))
    west, south, east, north = AREA
    kept = (lng >= west) & (lng < east) & (lat >= south) & (lat < north) & (lat > where)
    places = (
        np.floor(at[kept] / float(side)).astype(int).tolist()
        for at, side in ((lng, grid.width), (lat, grid.height))
    )
    return Counter(zip(*places, strict=True))
