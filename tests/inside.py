"""The parts of a session that tests of its parts need: its plan, its engine, its catalogue, an answer of their noise.

Nothing else in `tests/` reads private attributes of a session. Whoever tests what a user sees asks the session itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import discreet as dp
    from discreet.engines.engine import Engine
    from discreet.release.answer import Release
    from discreet.release.draw import Draw
    from discreet.sql.algebra.catalog import Catalog
    from discreet.sql.lower.run import NoisyIntegers
    from discreet.sql.plan.plan import QueryPlan


def plan_of(session: dp.Session, sql: str, epsilon: Fraction, **more: Any) -> QueryPlan:
    """The plan of a question."""
    return session._queries.plan(sql, epsilon, **more)


def engine_of(session: dp.Session) -> Engine:
    """What it asks."""
    return session._engine


def catalog_of(session: dp.Session) -> Catalog:
    """What it knows of its tables."""
    return session._catalog


def noisy_of(session: dp.Session, plan: QueryPlan, draw: Draw) -> list[NoisyIntegers]:
    """The noisy integers of a plan, uncharged."""
    return session._queries.run(plan, draw)


def answer_of(
    session: dp.Session, plan: QueryPlan, noisy: Sequence[NoisyIntegers], confidence: float = 0.95
) -> Release:
    """The answer that noisy integers are."""
    return session._queries.finish(plan, list(noisy), confidence)
