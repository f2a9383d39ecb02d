"""Which measure answers the quantiles of an expression: each chosen by rank, or all read off one tree of counts.

Choosing by rank errs least for one quantile, and its error grows with the number of quantiles that share epsilon; the
error of the tree does not. The one whose ranks have the least mean variance is taken. Policy and question alone decide.
"""

from __future__ import annotations

from collections.abc import Iterable

from discreet.engines.schema import Type
from discreet.mechanisms.selection.quantile import share
from discreet.sql.expressions.expression import Expression
from discreet.sql.measures.count_tree import rank_variance as tree_variance
from discreet.sql.measures.quantile_tree import quantile_of, tree_for
from discreet.sql.measures.ranks import rank_variance
from discreet.sql.plan.measure_choice import MeasureChoice

NUMBERS = (Type.INTEGER, Type.FLOAT)


def quantile_choice(argument: Expression, wanted: Iterable[str]) -> MeasureChoice:
    """The measure of some quantiles of an expression that errs least.

    Args:
        argument: a bounded numeric expression.
        wanted: the quantities, such as `quantile 1/2` and `max`.
    """
    quantiles = sorted({share(quantile_of(quantity)) for quantity in wanted})
    by_rank = sum(rank_variance(q, len(quantiles)) for q in quantiles)
    shape = tree_for(argument, 1).shape
    if argument.type in NUMBERS and by_rank <= sum(tree_variance(shape, float(q)) for q in quantiles):
        return MeasureChoice(0, argument, False, "ranks", quantiles=tuple(quantiles))
    return MeasureChoice(0, argument, False, "tree")
