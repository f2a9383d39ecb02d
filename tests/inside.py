"""The parts of a session that tests of its parts need: its plan, its engine, its catalogue, an answer of their noise.

Nothing else in `tests/` reads private attributes of a session. Whoever tests what a user sees asks the session itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from discreet.engines.sandbox import Sandbox
from discreet.session.budget import DATA_SET
from discreet.session.question import SessionQuestion
from discreet.sql.lower.run import NoisyIntegers, exact_integers
from discreet.sql.plan.limits import NO_LIMITS, Limits
from discreet.sql.plan.planner import plan as planned_of

if TYPE_CHECKING:
    import discreet as dp
    from discreet.engines.engine import Engine
    from discreet.ledger import Ledger
    from discreet.release.answer import Release
    from discreet.release.draw import Draw
    from discreet.session.queries import Queries
    from discreet.session.synthesis.producing import Synthesis
    from discreet.sql.algebra.catalog import Catalog
    from discreet.sql.plan.plan import QueryPlan


def plan_of(session: dp.Session, sql: str, epsilon: Fraction, **more: Any) -> QueryPlan:
    """The plan of a question; the rest is that of `SessionQuestion`."""
    return session._queries.planned(SessionQuestion(sql, epsilon, **more))


def synthesis_of(session: dp.Session, **asked: Any) -> Synthesis:
    """A synthetic table that is asked for, uncharged; the arguments are those of `Session.synthesize`."""
    return session._synthesis(**asked)


def salt_of(session: dp.Session) -> int:
    """The secret that decides which rows of a unit are kept."""
    return session._ledger.salt(DATA_SET)


def engine_of(session: dp.Session) -> Engine:
    """What it asks."""
    return session._engine


def ask_instead(monkeypatch: pytest.MonkeyPatch, session: dp.Session, engine: Any) -> None:
    """Let a session ask another engine than its own."""
    monkeypatch.setattr(session._queries, "engine", engine)


def catalog_of(session: dp.Session) -> Catalog:
    """What it knows of its tables."""
    return session._catalog


def noisy_of(session: dp.Session, plan: QueryPlan, draw: Draw) -> list[NoisyIntegers]:
    """The noisy integers of a plan, uncharged."""
    return session._queries.run(plan, draw)


def exact_of(session: dp.Session, plan: QueryPlan, salt: int = 7) -> list[NoisyIntegers]:
    """The integers of a plan, uncharged, without noise in them."""
    return [NoisyIntegers(one, exact_integers(one, session._engine, salt)) for one in plan.releases]


def without_noise(session: dp.Session, sql: str, limits: Limits = NO_LIMITS) -> list[tuple[Any, ...]]:
    """The rows of the answer to a question as they would be if the noise were zero."""
    return rows_of(values_of(session, planned_of(sql, session._catalog, Fraction(1), limits)))


def values_of(session: dp.Session, plan: QueryPlan) -> pa.Table:
    """The values of a plan as they would be if the noise were zero; intervals take longer to find."""
    tables = {one.plan.name: one.table() for one in exact_of(session, plan)}
    with Sandbox(tables | dict(session._catalog.public)) as sandbox:
        return sandbox.run(plan.post.sql("duckdb"))


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    """A table as its rows."""
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def answer_of(
    session: dp.Session, plan: QueryPlan, noisy: Sequence[NoisyIntegers], confidence: float = 0.95
) -> Release:
    """The answer that noisy integers are."""
    return session._queries.finish(plan, list(noisy), confidence)


def identity_of(session: dp.Session, plan: QueryPlan) -> str:
    """The name of a question in its ledger."""
    return session._queries.identity(plan)


def queries_of(session: dp.Session) -> Queries:
    """The part that plans, runs and answers its questions, for faults that are planted there."""
    return session._queries


def ledger_of(session: dp.Session) -> Ledger:
    """Where it is charged."""
    return session._queries.ledger


def workload_plan_of(session: dp.Session, queries: list[str], **more: Any) -> QueryPlan:
    """The plan of several questions as one, for an epsilon of 1; the rest is that of `SessionQuestion`."""
    return session._queries.plan_together(queries, SessionQuestion("", Fraction(1), **more))[0]
