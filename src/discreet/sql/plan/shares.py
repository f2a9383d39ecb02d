"""How the epsilon of a statement is shared between its measures.

The noise of measure i at epsilon_i has a variance of c_i / epsilon_i^2, where c_i sums, over the columns that are
estimated from it, the variance for one row relative to the size of the column. The sum of c_i / epsilon_i^2 at a given
sum of epsilon_i is least when epsilon_i is proportional to the cube root of c_i, as c_i / epsilon_i^3 must be the same
for all i (Lagrange). Sizes are those of invented groups, alike for all measures, whose values spread evenly over their
bounds: no data is looked at. So equal columns get equal shares, and a median or a covariance, which costs more, more.

Measures of which one row moves at most one (`alternatives`) have all of one epsilon_i, and their c_i add up.

The cube roots are rounded to three digits and the shares are exact rationals that sum to epsilon exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from discreet.sql.analyze.aggregates.aggregate import RequestedAggregate
from discreet.sql.functions.aggregates import read_off
from discreet.sql.plan.plan import AnyMeasure


def weights_of(
    measures: Sequence[AnyMeasure],
    requests: Sequence[RequestedAggregate],
    answered_by: Sequence[int],
    sets: Sequence[int],
) -> list[Fraction]:
    """The weight of each set of alternatives: its share of epsilon is its weight over the sum of all weights.

    Args:
        measures: of one release; their grids do not matter.
        requests: the columns.
        answered_by: for each request the number of its measure.
        sets: for each measure the number of its set of alternatives.
    """
    losses = [0.0] * len(set(sets))
    for request, index in zip(requests, answered_by, strict=True):
        quantity = read_off(request.quantity)
        losses[sets[index]] += measures[index].relative_variance(quantity)
    return [Fraction(f"{loss ** (1 / 3):.3g}") for loss in losses]


def shares_of(epsilon: Fraction, weights: Sequence[Sequence[Fraction]]) -> list[tuple[Fraction, ...]]:
    """Share epsilon between the sets of alternatives of all releases of a statement.

    Args:
        epsilon: of the statement.
        weights: of the sets, by release.

    Example:
        >>> shares_of(Fraction(1), [[Fraction(1)], [Fraction(1), Fraction(2)]])
        [(Fraction(1, 4),), (Fraction(1, 4), Fraction(1, 2))]
    """
    whole = sum((weight for of_release in weights for weight in of_release), Fraction(0))
    return [tuple(epsilon * weight / whole for weight in of_release) for of_release in weights]
