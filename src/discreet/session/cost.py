"""The epsilon of a question, which one that reads nothing private does without."""

from __future__ import annotations

from fractions import Fraction

from discreet.errors import InvalidParameter
from discreet.rational import Number, epsilon_of
from discreet.sql.plan.plan import QueryPlan


def loss_of(epsilon: Number | None) -> Fraction:
    """Read the epsilon of a question; without one it is planned as if it had 1."""
    return Fraction(1) if epsilon is None else epsilon_of(epsilon)


def see_cost(epsilon: Number | None, plan: QueryPlan) -> None:
    """Refuse a question that has a cost and no epsilon."""
    if epsilon is None and plan.releases:
        raise InvalidParameter(
            "This question has a cost, and epsilon is missing.",
            "Write epsilon=0.1; session.preview(question, within={…}) finds the least one for an error.",
        )
