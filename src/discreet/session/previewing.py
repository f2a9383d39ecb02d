"""A preview of a question: its cost, its errors, and the budget that is left, from the plan alone."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from discreet.errors import InvalidParameter
from discreet.ledger import Loss
from discreet.rational import Number
from discreet.release.gate import event_of
from discreet.session.budget import BudgetState
from discreet.session.queries import Queries
from discreet.session.question import ONE, Question
from discreet.sql.inspect.preview import Preview, least_epsilon, preview_of
from discreet.sql.lower.uses import uses_of


def preview(
    queries: Queries,
    asked: Question,
    within: Mapping[str, Number] | None,
    group_rows: int,
    budget: BudgetState,
) -> Preview:
    """Preview a question.

    Args:
        queries: of the session.
        asked: the question; its epsilon counts where `within` is None.
        within: the largest error allowed by column.
        group_rows: how many rows a group is assumed to have.
        budget: of the data set.

    Raises:
        InvalidParameter: one of `within` is no column or no error.
        QueryRefused: the question is refused.
    """
    level, public = asked.level, queries.catalog.public
    queries.rehearse(queries.planned(asked if within is None else asked.at(ONE)))
    if within is not None:
        if not isinstance(within, Mapping):
            raise InvalidParameter("within does not say of which column.", 'Write within={"n": 50}.')
        asked = asked.at(
            least_epsilon(lambda e: queries.planned(asked.at(e)), public, within, level, group_rows)
        )
    plan = queries.planned(asked)
    cost = Fraction(0)
    if plan.releases:
        left = queries.account.left
        loss = Loss(plan.epsilon, plan.delta)
        # Of Gaussian noise only the event tells the price.
        cost = max(
            Fraction(0),
            left() - left(event_of(uses_of(plan.whole.measured), loss) if plan.gaussian else loss),
        )
    return preview_of(plan, public, level, group_rows, cost, budget.left)
