"""Which measure answers quantiles: the one that is predicted to err least, from policy and question alone."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.engines.schema import Type
from discreet.sql.expressions.expression import Column
from discreet.sql.expressions.span import Span
from discreet.sql.plan.quantile_choice import quantile_choice

WIDE = Column("x", Type.FLOAT, Span(Fraction(0), Fraction(1000)))
FEW = Column("x", Type.INTEGER, Span(Fraction(0), Fraction(3)))


def evenly(many: int) -> list[str]:
    return [f"quantile {Fraction(k + 1, many + 1)}" for k in range(many)]


@pytest.mark.parametrize(
    ("many", "ends", "counts"),
    [(1, True, "ranks"), (2, True, "ranks"), (3, True, "ranks"), (9, True, "tree"), (9, False, "ranks"),
     (99, True, "tree"), (99, False, "tree")],
)  # fmt: skip
def test_few_are_chosen_by_rank_and_many_read_off_a_tree(many: int, ends: bool, counts: str) -> None:
    chosen = quantile_choice(WIDE, evenly(many), ends)
    assert chosen.counts == counts
    assert len(chosen.quantiles) == (many if counts == "ranks" else 0)
    assert chosen.ends == (ends or counts == "tree")


def test_of_few_values_each_is_counted() -> None:
    assert quantile_choice(FEW, ["quantile 1/2"]).counts == "tree"


def test_extremes_are_quantiles_and_none_is_chosen_twice() -> None:
    chosen = quantile_choice(WIDE, ["max", "quantile 99/100", "min"], ends=False)
    assert chosen.quantiles == (Fraction(1, 100), Fraction(99, 100))
