"""Cells of maps: squares of a grid, written as plain arithmetic, and hexagons of H3."""

from __future__ import annotations

from sqlglot import exp

from discreet.engines.hexagons import installed
from discreet.engines.schema import Type
from discreet.rational import decimal
from discreet.sql import functions as fn
from discreet.sql.analyze.binding.binder import Binder, Form
from discreet.sql.expressions.expression import Call, Expression, Literal
from discreet.sql.expressions.span import Span
from discreet.sql.functions.names import TYPE_WORDS

F, I, T = Type.FLOAT, Type.INTEGER, Type.TEXT
FINEST, WIDEST = 1e-9, 1e15
"""The sizes of a cell."""
_GRID = "Write grid(x, y, 3000), or grid(lng, lat, 0.05, 0.03) for cells that are not square."


def _grid(binder: Binder, node: exp.Expr) -> Expression:
    """`column:row` of the cell of a point, each the whole part of a quotient."""
    nodes = list(node.expressions)
    if len(nodes) not in (3, 4):
        raise binder.refuse(node, "grid takes two numbers and the size of a cell.", _GRID)
    sides = [_size(binder, size) for size in (nodes[2], nodes[-1])]
    places = [binder.bind(coordinate) for coordinate in nodes[:2]]
    if all(
        place.span.bounded and place.span.width < decimal(side.value)
        for place, side in zip(places, sides, strict=True)
    ):
        raise binder.refuse(
            node,
            "A cell is larger than all that the bounds of both columns leave, so that a map of them shows nothing.",
            "Write a smaller size, in the units of the columns: grid(lng, lat, 0.05) where they are degrees.",
        )
    column, row = (
        _place(binder, coordinate, side) for coordinate, side in zip(nodes[:2], sides, strict=True)
    )
    span = Span(nullable=column.span.nullable or row.span.nullable)
    return Call("grid", {"": "({0} || ':' || {1})"}, (column, row), T, span)


def _size(binder: Binder, node: exp.Expr) -> Literal:
    size = binder.bind(node)
    if isinstance(size, Literal) and size.type in (I, F) and size.value is not None:
        number = float(size.value)  # type: ignore[arg-type]
        if FINEST <= number <= WIDEST:
            return Literal(number, F)
    raise binder.refuse(node, "The size of a cell must be a literal number above zero.", _GRID)


def _place(binder: Binder, node: exp.Expr, size: Literal) -> Expression:
    coordinate = binder.bind(node)
    if coordinate.type not in (I, F):
        raise binder.refuse(
            node, f"grid takes numbers, not {TYPE_WORDS[coordinate.type]}.", "Convert it with CAST."
        )
    # The whole number of 64 bits, and NULL beyond them, so that all engines write it alike.
    return fn.must("to_text", fn.must("floor_whole", fn.must("divide", coordinate, size)))


def _h3(binder: Binder, node: exp.Expr) -> Expression:
    if not installed():
        raise binder.refuse(
            node,
            "h3_cell needs the library h3, which is not installed where the data is asked.",
            'Run pip install "discreet[maps]" there, or write grid(lng, lat, 0.05).',
        )
    return binder.call(node, "h3_cell", list(node.expressions))


FORMS_BY_NAME: dict[str, Form] = {"grid": _grid, "h3_cell": _h3, "h3_latlng_to_cell_string": _h3}
"""The last name is that of DuckDB's extension for the same text."""
