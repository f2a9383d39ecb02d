"""A preview of a question: its cost, its errors, and the budget that is left, from the plan alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from discreet.ledger import Loss
from discreet.rational import Number, show
from discreet.release.gate import event_of
from discreet.session.budget import BudgetState
from discreet.session.memory import answering as memory
from discreet.session.memory.dispatch import reused
from discreet.session.memory.paid import AGAIN, paid
from discreet.session.queries import Queries
from discreet.session.question import ONE, SessionQuestion
from discreet.sql.inspect.preview import Preview, preview_of
from discreet.sql.inspect.wording import SHOWN_VALUES, keys_of, told
from discreet.sql.lower.uses import uses_of
from discreet.sql.plan.plan import QueryPlan

REUSE = "as exact with reuse=True (--reuse)"


def preview(
    queries: Queries,
    asked: SessionQuestion,
    within: Mapping[str, Number] | None,
    group_rows: int,
    budget: BudgetState,
    reuse: bool | None = None,
) -> Preview:
    """Preview a question.

    Args:
        queries: of the session.
        asked: the question; its epsilon counts where `within` is None.
        within: the largest error allowed by column.
        group_rows: how many rows a group is assumed to have.
        budget: of the data set.
        reuse: whether it is made of earlier answers, as for `Session.sql`.

    Raises:
        InvalidParameter: one of `within` is no column or no error.
        QueryRefused: the question is refused.
    """
    first = queries.planned(asked if within is None else asked.with_epsilon(ONE))
    queries.rehearse(first)
    used = reused(reuse, within)
    epsilon: Fraction
    known: memory.RecalledQuestion | None
    again = within is None and paid(queries, first)
    if again:
        epsilon, known, used = asked.epsilon, None, False
    elif within is not None:
        epsilon, known = memory.least(queries, asked, within, group_rows, used)
    elif used:
        epsilon, known = memory.as_exact(queries, asked)
    else:
        epsilon, known = asked.epsilon, memory.best_known(queries, asked) if reuse is None else None
    asked = asked.with_epsilon(epsilon or ONE)
    plan = queries.planned(asked)
    if within is not None:
        again = known is None and paid(queries, plan)
    cost = _cost(queries, plan) if plan.releases and epsilon and not again else Fraction(0)
    shown = plan
    if known is not None and used:
        shown = known.together() if epsilon else known.shown()
    found = preview_of(shown, queries.catalog.public, asked.level, group_rows, cost, budget.left)
    if cost:
        found = replace(found, warnings=(*found.warnings, *_beyond_cap(queries, plan)))
    if within is not None and cost:
        warned = memory.not_reached(queries, asked, shown, within, group_rows)
        found = replace(found, warnings=(*found.warnings, *warned))
    if again:
        return replace(found, replayed=True, known=AGAIN)
    if known is None:
        return replace(found, known=memory.asked_anew(queries, asked)) if used and plan.releases else found
    said = (
        _said(queries, known, group_rows, bool(epsilon))
        if used
        else _offered(queries, known, asked, group_rows)
    )
    return replace(found, epsilon=plan.epsilon if epsilon else Fraction(0), known=said)


def _beyond_cap(queries: Queries, plan: QueryPlan) -> list[str]:
    """The warning of a question that costs more than one may, which its charge would refuse."""
    most = queries.account.most
    if most is None or plan.epsilon <= most:
        return []
    return [f"one question may cost you epsilon {show(most)} at most: choose a smaller price"]


def _cost(queries: Queries, plan: QueryPlan) -> Fraction:
    """By how much a plan lowers the budget."""
    loss = Loss(plan.epsilon, plan.delta)
    if queries.policy.budget.accountant == "pure":  # a sum: between two looks others may charge
        return loss.rounded_up().epsilon
    left = queries.account.left
    # Of Gaussian noise only the event tells the price.
    return max(
        Fraction(0), left() - left(event_of(uses_of(plan.whole.measured), loss) if plan.gaussian else loss)
    )


def preview_together(
    queries: Queries,
    asked: SessionQuestion,
    whole: QueryPlan,
    each: Sequence[QueryPlan],
    group_rows: int,
    budget: BudgetState,
) -> tuple[list[Preview], tuple[str, ...]]:
    """Preview several questions that would be asked as one.

    Args:
        queries: of the session.
        asked: their parameters.
        whole: the plan of all of them.
        each: for each question its tables and its post-processing.
        group_rows: how many rows a group is assumed to have.
        budget: of the data set.

    Returns:
        The preview of each, with the cost of all, and the words on the tables that are measured together.
    """
    for plan in each:
        queries.rehearse(plan)
    again = paid(queries, whole)
    cost = _cost(queries, whole) if whole.releases and not again else Fraction(0)
    public = queries.catalog.public
    capped = tuple(_beyond_cap(queries, whole)) if cost else ()
    looks = (preview_of(plan, public, asked.level, group_rows, cost, budget.left) for plan in each)
    seen = [
        replace(look, warnings=(*look.warnings, *capped),
                epsilon=whole.epsilon if plan.releases else Fraction(0), together=(),
                replayed=again and bool(plan.releases))
        for plan, look in zip(each, looks, strict=True)
    ]  # fmt: skip
    return seen, (*told(whole), *_apart(whole))


def _apart(whole: QueryPlan) -> list[str]:
    """The line on tables that share epsilon with others: measured apart, they err more than if asked alone."""
    apart = [release for release in whole.releases if release.drawn_here]
    if len(apart) == len(whole.measured) == 1:
        return []
    lines = [
        f"{', '.join(aggregate.sql for aggregate in release.aggregates)}"
        f"{' by ' + keys_of(release) if release.keys else ''} with {float(release.epsilon):.3g}"
        for release in apart
    ]
    more = f"; and {len(lines) - SHOWN_VALUES} more" if len(lines) > SHOWN_VALUES else ""
    named = "; ".join(lines[:SHOWN_VALUES])
    return (
        [f"measured apart, each with a share of epsilon {show(whole.epsilon)}: {named}{more}"]
        if lines
        else []
    )


def _said(queries: Queries, known: memory.RecalledQuestion, group_rows: int, priced: bool) -> str:
    """The earlier questions, and how exactly they alone tell the answer, which has a price beside them or none."""
    numbers = ", ".join(map(str, known.numbers))
    said = f"question{'s' * (len(known.numbers) > 1)} {numbers}"
    if not known.whole:
        return f"combined with {said}"
    errors = memory.errors_of(queries, known.shown(), known.question, group_rows)
    listed = ", ".join(f"{name} ± {error:,.4g}" for name, error in errors.items())
    return f"or free, from {said} alone: {listed}" if priced else f"free, from {said}: {listed}"


def _offered(
    queries: Queries, known: memory.RecalledQuestion, asked: SessionQuestion, group_rows: int
) -> str:
    """The price with `reuse` of an answer as exact as the asked one, and how exactly earlier ones alone tell it."""
    cost, _ = memory.as_exact(queries, asked)
    said = _said(queries, known, group_rows, bool(cost))
    return f"{REUSE}: epsilon {show(cost)}; {said}" if cost else f"{REUSE}: {said}"
