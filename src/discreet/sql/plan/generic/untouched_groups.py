"""Groups that no argument of a statement can change, but for a condition that no value meets.

A condition that compares a column with a parameter says nothing about groups by other columns: it leaves all of them,
or, where no value of the column can meet it, none. So the groups of such a statement are those of every statement of
its template whose conditions can be met, and only that is looked at for each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from discreet.records import dataclass
from discreet.sql.algebra.branches import branches
from discreet.sql.algebra.narrowing import MIRRORED, conjuncts, narrowed
from discreet.sql.algebra.relation import Relation
from discreet.sql.algebra.trial import never_met
from discreet.sql.expressions.expression import Call, Column, Expression, leaves
from discreet.sql.expressions.parameter import Parameter

CONVERSIONS = frozenset({"to_float", "to_timestamp"})
"""Between the column of a condition and its comparison."""


@dataclass(frozen=True)
class UntouchedGroups:
    """The conditions with parameters, none of which looks at a column that anything else of the groups looks at.

    Attributes:
        conditions: over leaves, with parameters.
        columns: those that they look at, by name.
    """

    conditions: tuple[Expression, ...]
    columns: Mapping[str, Column]

    def hold(self, conditions: Sequence[Expression]) -> bool:
        """Whether the groups are those without these conditions.

        Args:
            conditions: with arguments in the places of their parameters.
        """
        left, others = narrowed(conditions, self.columns)
        return not others and not any(map(never_met, left.values()))


def untouched_groups(relation: Relation, keys: Sequence[Expression]) -> UntouchedGroups | None:
    """The conditions with parameters of a relation, where no group depends on them; None where one may.

    Args:
        relation: private rows, with parameters in the places of literals.
        keys: over its columns.

    Raises:
        ValueNeededError: the way to its groups reads an argument.
        NotTracedError: its rows cannot be traced back.
    """
    found = branches(relation)
    if len(found) > 1 or found[0].joined or found[0].lonely:
        return None
    (branch,) = found
    conditions = conjuncts(branch.conditions)
    moving = [condition for condition in conditions if any(_parameters(condition))]
    others = [condition for condition in conditions if not any(_parameters(condition))]
    traced = [branch.over_leaves(key) for key in keys]
    compared = [_compared(condition) for condition in moving]
    columns = {column.name: column for column in compared if column is not None}
    elsewhere = {leaf.name for expression in (*traced, *others) for leaf in leaves(expression)}
    if (
        not moving
        or None in compared
        or elsewhere & columns.keys()
        or any(any(_parameters(key)) for key in traced)
    ):
        return None
    return UntouchedGroups(tuple(moving), columns)


def _compared(condition: Expression) -> Column | None:
    """The column that a condition compares with a parameter; None for any other condition."""
    if not isinstance(condition, Call) or condition.name not in MIRRORED:
        return None
    sides = [side for side in condition.args if not isinstance(side, Parameter)]
    if len(sides) != 1:
        return None
    (side,) = sides
    if isinstance(side, Call) and side.name in CONVERSIONS:
        side = side.args[0]
    return side if isinstance(side, Column) else None


def _parameters(expression: Expression) -> Iterator[bool]:
    """For each part of an expression, whether it is a parameter."""
    yield isinstance(expression, Parameter)
    if isinstance(expression, Call):
        for part in expression.args:
            yield from _parameters(part)
