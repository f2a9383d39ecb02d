"""Which measure answers the quantiles of an expression: each chosen by rank, or all read off one tree of counts.

Choosing by rank errs least for a few quantiles, and its error grows with the number of levels that share epsilon; the
error of the tree does not. A tree has intervals for nothing, and ranks pay for theirs, so that intervals of many are
wide. Without intervals the measure is taken whose ranks have the least mean variance; with them, the one for which
that variance times the mean half-width is least, both where values lie densely. Where only few values are
possible, a rank errs near a border between two of them only, and there a normal error, as of a tree, errs less than an
exponential one of the same variance: mean square errors are s^3 for permute-and-flip with scale s, and E|N|^3/6 for a
normal N of the same variance 2 s^2, so that the variance of ranks counts 1.2 times. Policy and question alone decide.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Final

from discreet.engines.schema import Type
from discreet.mechanisms.ranks.flipped_quantile import FEW
from discreet.mechanisms.ranks.leaf_measure import LeafMeasure
from discreet.mechanisms.ranks.quantile import share
from discreet.mechanisms.ranks.quantiles_with_ends import QuantilesWithEnds
from discreet.sql.expressions.expression import Expression
from discreet.sql.measures.count_tree import rank_variance as tree_variance
from discreet.sql.measures.quantile_tree import quantile_of, tree_for
from discreet.sql.measures.ranks import rank_variances, ranks_for
from discreet.sql.plan.measure_choice import MeasureChoice

NUMBERS = (Type.INTEGER, Type.FLOAT)
BORDERS: Final = 1.2
"""How many times the variance of ranks counts where few values are possible."""
FINE: Final = Fraction(1, 1000)
"""An epsilon at which rows are no larger than they need to be."""
NORMAL: Final = 1.96
"""How many standard deviations of a normal variable the half-width of its interval at 95 % is."""


def quantile_choice(argument: Expression, wanted: Iterable[str], ends: bool = True) -> MeasureChoice:
    """The measure of some quantiles of an expression that errs least.

    Args:
        argument: a bounded numeric expression.
        wanted: the quantities, such as `quantile 1/2` and `max`.
        ends: whether they have intervals.
    """
    quantiles = tuple(sorted({share(quantile_of(quantity)) for quantity in wanted}))
    if argument.type in NUMBERS:
        shape = tree_for(argument, 1).shape
        tree = [tree_variance(shape, float(q)) for q in quantiles]
        ranks = list(rank_variances(quantiles, ends).values())
        made = ranks_for(argument, quantiles, ends=ends)
        losses = sum(ranks) * (BORDERS if made.grid.levels <= FEW else 1), sum(tree)
        if ends:
            losses = (
                losses[0] * half_widths(made.quantiles),
                losses[1] * sum(NORMAL * variance**0.5 for variance in tree),
            )
        if losses[0] <= losses[1]:
            return MeasureChoice(0, argument, False, "ranks", quantiles=quantiles, ends=ends)
    return MeasureChoice(0, argument, False, "tree")


@lru_cache(maxsize=256)
def half_widths(quantiles: tuple[Fraction, ...]) -> float:
    """The half-widths of the intervals of some quantiles in rows, at sensitivity over epsilon 1, on any grid."""
    mechanism = QuantilesWithEnds(FINE, quantiles, LeafMeasure.over(2))
    return sum(mechanism.half_widths().values()) * float(FINE)
