"""The hexagons that a call can name, listed from the bounds of its point."""

from __future__ import annotations

from fractions import Fraction

import h3

from discreet.engines.schema import Type
from discreet.sql import functions as fn
from discreet.sql.algebra.keys import public_values
from discreet.sql.expressions.expression import Column, Literal
from discreet.sql.expressions.span import Span
from discreet.sql.functions.places.hexagons import listed

LAT = Column("lat", Type.FLOAT, Span(Fraction(52), Fraction("52.2")))
LNG = Column("lng", Type.FLOAT, Span(Fraction(5), Fraction("5.2")))


def test_bounds_of_both_list_the_cells() -> None:
    call = fn.call("h3_cell", LAT, LNG, Literal(6, Type.INTEGER))
    assert call is not None
    names = listed(call)
    assert names is not None
    assert list(names) == sorted(names)
    assert h3.latlng_to_cell(52.1, 5.1, 6) in names
    assert public_values(call) == names


def test_without_bounds_or_with_too_many_there_are_none() -> None:
    free = Column("lat", Type.FLOAT, Span())
    wide = Column("lat", Type.FLOAT, Span(Fraction(-90), Fraction(90)))
    for lat, resolution in ((free, 3), (wide, 15)):
        call = fn.call("h3_cell", lat, LNG, Literal(resolution, Type.INTEGER))
        assert call is not None
        assert listed(call) is None
        assert public_values(call) is None
    assert listed(LAT) is None
