"""Cells of H3, which a library computes beside the engine; see `engines.hexagons`."""

from __future__ import annotations

from discreet.engines.hexagons import FINEST, NAME, covering
from discreet.sql.expressions.expression import Call, Expression, Literal
from discreet.sql.functions.table import FunctionLines, T, unknown, whole_between

LINES = FunctionLines()

LINES.define(
    "h3_cell", "h3_cell(a, b, n)", "ffi", T, unknown, f"lower(hex({NAME}({{0}}, {{1}}, {{2}})))",
    "the cell of H3 of resolution n at latitude a, longitude b; NULL beyond 90 or 180 degrees",
    literals={2: whole_between(0, FINEST, "Write h3_cell(lat, lng, 7).")},
)  # fmt: skip


def listed(expression: Expression) -> tuple[str, ...] | None:
    """Every cell that an expression can be, known from the bounds of its point; None where they are not few."""
    if not (isinstance(expression, Call) and expression.name == "h3_cell"):
        return None
    lat, lng, resolution = expression.args
    ends = [end for point in (lat.span, lng.span) for end in (point.lo, point.hi)]
    if None in ends or not isinstance(resolution, Literal) or not isinstance(resolution.value, int):
        return None
    south, north, west, east = (float(end) for end in ends if end is not None)
    return covering(south, west, north, east, resolution.value)
