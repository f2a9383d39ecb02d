"""Units with several rows in questions that are measured together: one choice of rows for all of them.

By itself each question keeps at most so many of the rows of a unit that it counts, and another question may keep
others. Measured together, so many are kept of the rows that any of them counts, chosen once by the same fair rule. So
a unit moves the finest counts by its cap, however many of the questions its rows are in, and totals stay the sums of
their parts. Where a unit has no more rows in all of the questions, the answers have the same expectation as apart.

Where rows of a unit are bounded in groups too, these are the groups of the questions, not the finer ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from discreet.sql import functions as fn
from discreet.sql.algebra import keys as ks
from discreet.sql.algebra.relation import PrivateRows, Select
from discreet.sql.expressions.expression import Expression
from discreet.sql.functions.apply import one_of
from discreet.sql.plan.plan import MeasuredRows, PlannedRelease
from discreet.sql.plan.workloads.axes import LITERAL, MOST_LISTED, closed


def as_asked(finest: PlannedRelease, asked: PlannedRelease, shared: int) -> PlannedRelease:
    """The finest release with the bounds of a question on the rows of a unit.

    Args:
        finest: by all keys.
        asked: the question.
        shared: how many keys the questions have in common, which come first.
    """
    parts = list(finest.parts)
    for own, other in zip(finest.measures, asked.measures, strict=True):
        part = asked.parts[other.part]
        parts[own.part] = replace(parts[own.part], cap=part.cap, per_group=part.per_group, bounded_by=shared)
    return replace(finest, parts=tuple(parts))


def alike(part: MeasuredRows, finest: MeasuredRows) -> bool:
    """Whether a question bounds the rows of a unit as the finest release does."""
    if part.cap != finest.cap or part.drops_in_groups != finest.drops_in_groups:
        return False
    return not part.drops_in_groups or (part.per_group, part.keys) == (finest.per_group, finest.groups)


def more_rows(finest: PlannedRelease, other: PlannedRelease) -> Fraction:
    """How many times as many rows of a unit a release counts as another one of the same measures, at most."""
    pairs = zip(finest.measures, other.measures, strict=True)
    return max(
        Fraction(finest.parts[first.part].cap, other.parts[second.part].cap) for first, second in pairs
    )


def of_any(
    rows: PrivateRows, questions: Sequence[tuple[Sequence[Expression], Sequence[ks.Key]]]
) -> PrivateRows:
    """The rows that any of several questions counts.

    Args:
        rows: of all questions.
        questions: of each its own conditions, and its own keys.
    """
    met: Expression | None = None
    for conditions, keys in questions:
        own: Expression | None = None
        for condition in (*conditions, *(test for key in keys if (test := _within(key)) is not None)):
            own = condition if own is None else fn.call("and", own, condition)
        if own is None:
            return rows
        met = own if met is None else fn.call("or", met, own)
    return rows if met is None else replace(rows, relation=Select(rows.relation, None, met))


def _within(key: ks.Key) -> Expression | None:
    """Whether a row has one of the values of a key; None where all have, or the values are too many for a condition."""
    if closed(key) or len(key.values) > MOST_LISTED or key.expression.type not in LITERAL:
        return None
    return one_of(key.expression, key.values)
