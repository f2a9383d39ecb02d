"""A preview of a question: its cost, its errors, and the budget that is left, from the plan alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from discreet.ledger import Loss
from discreet.rational import Number
from discreet.session.budget import BudgetState
from discreet.session.memory import answering as memory
from discreet.session.queries import Queries
from discreet.session.question import ONE, Question
from discreet.sql.inspect.preview import Preview, preview_of


def preview(
    queries: Queries,
    asked: Question,
    within: Mapping[str, Number] | None,
    group_rows: int,
    budget: BudgetState,
    fresh: bool = False,
) -> Preview:
    """Preview a question.

    Args:
        queries: of the session.
        asked: the question; its epsilon counts where `within` is None.
        within: the largest error allowed by column.
        group_rows: how many rows a group is assumed to have.
        budget: of the data set.
        fresh: whether it is asked anew.

    Raises:
        InvalidParameter: one of `within` is no column or no error.
        QueryRefused: the question is refused.
    """
    level, public = asked.level, queries.catalog.public
    queries.rehearse(queries.planned(asked.at(ONE)))
    known = None if fresh or within is not None else memory.known_of(queries, asked)
    if within is not None:
        epsilon, known = memory.least(queries, asked, within, group_rows, fresh)
        asked = asked.at(epsilon or ONE)
        if known is not None and not epsilon:
            return _free(queries, known, group_rows, budget)
    elif known is not None:
        epsilon = known.missing()
        if not epsilon:
            return _free(queries, known, group_rows, budget)
        if epsilon < asked.epsilon:
            asked = asked.at(epsilon)
            known = memory.known_of(queries, asked, known.recall)
    plan = queries.planned(asked)
    cost = Fraction(0)
    if plan.releases:
        after = queries.account.spent(Loss(plan.epsilon, plan.delta)).epsilon
        cost = max(Fraction(0), after - budget.spent)
    if known is None:
        return preview_of(plan, public, level, group_rows, cost, budget.left)
    found = preview_of(known.together(), public, level, group_rows, cost, budget.left)
    return replace(found, epsilon=plan.epsilon, known=_said(queries, known, group_rows))


def _free(queries: Queries, known: memory.Known, group_rows: int, budget: BudgetState) -> Preview:
    """The preview of a question that is answered from earlier answers."""
    level, public = known.question.level, queries.catalog.public
    found = preview_of(known.shown(), public, level, group_rows, Fraction(0), budget.left)
    return replace(found, known=_said(queries, known, group_rows))


def _said(queries: Queries, known: memory.Known, group_rows: int) -> str:
    """The earlier questions, and how exactly they alone tell the answer."""
    numbers = ", ".join(map(str, known.numbers))
    said = f"question{'s' * (len(known.numbers) > 1)} {numbers}"
    if not known.whole:
        return f"combined with {said}"
    errors = memory.errors_of(queries, known.shown(), known.question, group_rows)
    return f"free, from {said}: " + ", ".join(f"{name} ± {error:,.4g}" for name, error in errors.items())
