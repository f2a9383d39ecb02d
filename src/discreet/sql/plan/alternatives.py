"""Sets of alternatives: measures of which one row moves at most one, so that they cost epsilon once.

Let measure i have the row sensitivity L_i and noise of scale s_i = factor * cap * L_i / epsilon_i, and let no row move
two measures of a set (`disjoint` proves it). A neighbour step takes or adds at most factor * cap rows of one unit, all
from the rows kept for the one part over which the set is taken. If n_i of them move measure i, with the sum of n_i at
most factor * cap, the privacy loss of the set is at most

    sum of n_i L_i / s_i  =  sum of n_i epsilon_i / (factor * cap)  <=  the largest epsilon_i of the set.

So it is where leaves are chosen by rank: each row costs epsilon_i / (factor * cap) there, as
`mechanisms.ranks.quantile` shows.

So each measure of a set gets the whole epsilon of the set: conditions that exclude each other are asked together for
the price of one.

The rows of a unit are kept by a hash of the columns that a row carries. Two parts carry other columns and may keep
other rows, so measures of different parts are alternatives only where no row is chosen, because each row is a unit.
"""

from __future__ import annotations

from collections.abc import Sequence

from discreet.sql.algebra.disjoint import ALWAYS, Alternatives, argument_present, exclude, present
from discreet.sql.expressions.expression import Column, Expression
from discreet.sql.plan.measure_choice import BY_LEAF, MeasureChoice

MOST = 256
"""The most measures that are compared with each other; those beyond cost epsilon each, which is right, too."""
SAME_PART = frozenset({"rows", "pairs", "distinct"})


def moved_where(choice: MeasureChoice) -> Alternatives:
    """On which rows a measure may be moved."""
    if choice.argument is None or choice.with_null:
        return ALWAYS
    if choice.counts == "rows" and choice.degree != 0 and isinstance(choice.argument, Column):
        return ALWAYS  # the stored value is read, before NaN is NULL and values out of bounds are clamped
    if choice.counts in BY_LEAF and isinstance(choice.argument, Column):
        return ALWAYS
    if choice.other is not None:
        if isinstance(choice.argument, Column) and isinstance(choice.other, Column):
            return ALWAYS
        return argument_present([e for e in (choice.argument, choice.other) if not isinstance(e, Column)])
    # A sum asked for alone adds x itself, so 0 adds nothing, unless the bounds leave 0 out and it is clamped.
    return present(choice.argument, nonzero=choice.degree < 0 and _holds_zero(choice.argument))


def _holds_zero(argument: Expression) -> bool:
    span = argument.span
    return span.lo is not None and span.hi is not None and span.lo <= 0 <= span.hi


def sets_of(choices: Sequence[MeasureChoice], per_unit: bool) -> tuple[int, ...]:
    """For each choice the number of its set of alternatives; sets are numbered as they come.

    Args:
        choices: of one release.
        per_unit: whether the rows of a unit are chosen.
    """
    kinds = SAME_PART if per_unit else SAME_PART | BY_LEAF
    sets: list[list[Alternatives]] = []
    out: list[int] = []
    for index, choice in enumerate(choices):
        where = moved_where(choice) if choice.counts in kinds and index < MOST else ALWAYS
        own = len(sets)
        if () not in where:
            found = (n for n, others in enumerate(sets) if all(exclude(where, other) for other in others))
            own = next(found, own)
        if own == len(sets):
            sets.append([])
        sets[own].append(where)
        out.append(own)
    return tuple(out)
