"""Both measures of leaves carry the same column of a row, and keep the order of their fields."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import pytest

from discreet.engines.schema import Type
from discreet.sql.dialects import named
from discreet.sql.expressions.expression import Column
from discreet.sql.expressions.span import Span
from discreet.sql.measures.leaf_counts import LeafCounts
from discreet.sql.measures.quantile_tree import QuantileTree, tree_for
from discreet.sql.measures.ranks import Ranks, ranks_for

AGE = Column("age", Type.INTEGER, Span(Fraction(0), Fraction(99)))
YEARS = Column("years", AGE.type, AGE.span)
MEASURES = [tree_for(AGE, 1), ranks_for(AGE, [Fraction(1, 2)])]


@pytest.mark.parametrize("measure", MEASURES, ids=lambda one: type(one).__name__)
def test_a_row_carries_its_leaf(measure: LeafCounts) -> None:
    assert measure.whole
    assert measure.span == (0, 99)
    ((name, sql),) = measure.row_items("leaf", named("duckdb"))
    assert name == "leaf"
    assert "age" in sql
    moved = measure.over(lambda _: YEARS)
    assert type(moved) is type(measure)
    assert moved.arguments == (YEARS,)


def test_the_order_of_fields_is_that_of_the_identities_in_ledgers() -> None:
    found = {kind: [field.name for field in dataclasses.fields(kind)] for kind in (QuantileTree, Ranks)}
    assert found[QuantileTree] == ["argument", "grid", "shape", "part"]
    assert found[Ranks] == ["argument", "quantiles", "grid", "part", "ends"]
