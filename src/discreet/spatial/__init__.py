"""Maps: noisy numbers for the cells of public grids, on the earth."""

from discreet.spatial.adaptive import adaptive_map
from discreet.spatial.cell import Cell
from discreet.spatial.counting import heat_map, read_area
from discreet.spatial.grid import Grid
from discreet.spatial.heat_map import HeatMap, check_path
from discreet.spatial.hexagons import Hexagons, hexagon_map
from discreet.spatial.nest import NestAttack, nest_attack

__all__ = [
    "Cell", "Grid", "HeatMap", "Hexagons", "NestAttack", "adaptive_map", "check_path", "heat_map", "hexagon_map",
    "nest_attack", "read_area",
]  # fmt: skip
