"""Whether a question is answered anew or from earlier answers; most are answered anew, and load nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from discreet.errors import InvalidParameter
from discreet.rational import Number
from discreet.session.parameters import ErrorTarget, see_cost
from discreet.session.queries import Queries
from discreet.session.question import SessionQuestion

if TYPE_CHECKING:
    from discreet.release.answer import Release


def reused(reuse: bool | None, within: object) -> bool:
    """Whether a question is made of earlier answers: by default where it names an error, and not an epsilon.

    Who names an epsilon buys noise that is independent of all that was seen before. So the interval holds also where
    the question was chosen because of an earlier answer, which that of a reused answer does not promise.
    """
    return within is not None if reuse is None else reuse


def answered(
    queries: Queries,
    question: SessionQuestion,
    epsilon: Number | None,
    target: ErrorTarget | None,
    reuse: bool | None,
    say: Callable[[str], None],
) -> Release:
    """Answer a question, for less or for nothing where earlier answers tell of it.

    Args:
        queries: the producer.
        question: the question.
        epsilon: for which it was asked; None without one.
        target: the largest error allowed by column, for the least epsilon that reaches it; None for epsilon.
        reuse: whether it is made of earlier answers, as for `Session.sql`.
        say: takes words on the progress.

    Raises:
        InvalidParameter: both or neither of epsilon and within are given, or no epsilon will do.
    """
    plan = queries.planned(question)
    if target is None:
        see_cost(epsilon, plan)
    elif epsilon is not None:
        raise InvalidParameter("A question has either epsilon or within.", "Leave one of them out.")
    if not plan.releases:
        return queries.answer(question, plan, say)
    if target is None and (not reuse or queries.ledger.has_settled(queries.identity(plan))):
        return queries.answer(question, plan, say)
    from discreet.session.memory.answering import exactly_as, within_error

    if target is None:
        return exactly_as(queries, question, say)
    return within_error(queries, question, plan, target, reused(reuse, target), say)
