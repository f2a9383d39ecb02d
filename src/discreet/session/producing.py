"""The release plan of a question in SQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any, TypeVar

from discreet.release.draw import Draw
from discreet.release.plan import ReleasePlan
from discreet.session.asking import size_of
from discreet.session.question import Question
from discreet.sql.lower.uses import uses_of
from discreet.sql.plan.plan import Plan

if TYPE_CHECKING:
    from discreet.session.session import Session

N = TypeVar("N")
A = TypeVar("A")


def release_plan(
    session: Session,
    question: Question,
    plan: Plan,
    compute: Callable[[Draw], N],
    made: Callable[[N], tuple[A, bytes | IO[bytes]]],
    replay: Callable[[Any], A],
    file: IO[bytes] | None = None,
) -> ReleasePlan[N, A]:
    """The release plan of a question.

    Args:
        session: that is asked.
        question: as the analyst asked it; its loss is charged.
        plan: of the question; it has releases.
        compute: runs the releases, with noise.
        made: builds the answer.
        replay: builds it from what the ledger kept.
        file: takes what the ledger kept, if it is large.
    """
    finds = any(release.discovery is not None for release in plan.releases)
    parts = [part for release in plan.releases for part in release.parts]
    return ReleasePlan(
        question=session._question(plan),
        words=plan.text,
        loss=question.loss(finds),
        uses=uses_of(plan.releases),
        compute=compute,
        answer=made,
        caps=tuple(part.cap for part in parts if part.rows.per_unit),
        size=size_of(plan),
        rehearse=lambda: session._rehearse(plan),
        probe=lambda: session._probe(plan),
        replay=replay,
        file=file,
    )
