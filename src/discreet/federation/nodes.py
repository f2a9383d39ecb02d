"""A node of a federation: a session over its own data, asked for the noisy integers of a question.

Privacy: the integers are a release of the node, charged by its gate to its own budget before its data is touched.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from discreet.accounting.loss import at_least, at_most
from discreet.errors import BudgetExceeded
from discreet.ledger import Loss
from discreet.release import gate
from discreet.release.bill import bill
from discreet.session.asking import asked
from discreet.session.budget import DATA_SET
from discreet.sql.lower.identity import identity
from discreet.sql.lower.uses import uses_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.release.draw import Draw
    from discreet.session.queries import Queries
    from discreet.session.question import Question
    from discreet.session.session import Session
    from discreet.sql.lower.run import NoisyIntegers
    from discreet.sql.plan.plan import QueryPlan

    Integers = NDArray[np.int64]

SPELLING = "duckdb"
"""The dialect in which the plans of all nodes are compared; their engines may have others."""


@dataclass(frozen=True)
class Paid:
    """The noisy integers of a node.

    Attributes:
        entries: int64 array (groups, integers of all measures).
        loss: that was charged for them; None where the node had released them before.
    """

    entries: Integers
    loss: Loss | None


@dataclass(frozen=True)
class Node:
    """A session under the name that answers and errors give it.

    Attributes:
        name: of the node.
        session: over its data.
    """

    name: str
    session: Session

    @property
    def queries(self) -> Queries:
        """The producer of its releases."""
        return self.session._queries

    def planned(self, question: Question) -> QueryPlan:
        """The plan of a question here, from the text and the policy alone; see `Session.sql` for its errors."""
        return _planned(self.session, question)

    def alike(self, question: Question) -> str:
        """A text that two nodes share exactly when the same integers, on the same grid, would answer both."""
        return identity(self.planned(question).whole, SPELLING)

    def look(self, question: Question) -> Fraction:
        """See all that can be seen before the charge, and return the price; nothing is charged.

        Raises:
            BudgetExceeded: the budget does not have so much left.
            SourceError: the data has gone.
            Every error of `Session.sql` before its charge is raised too.
        """
        return _looked(self.session, question)

    def ask(self, question: Question) -> Paid:
        """The noisy integers of a question: released before, or charged now; see `Session.sql` for its errors."""
        return _paid(self.session, question)

    def home(self) -> int:
        """A number that two sessions share when they have one ledger, and so one budget."""
        return self.session.ledger.salt(DATA_SET)


@asked
def _planned(session: Session, question: Question) -> QueryPlan:
    return session._queries.planned(question)


@asked
def _looked(session: Session, question: Question) -> Fraction:
    queries = session._queries
    plan = queries.planned(question)
    queries.rehearse(plan)
    key = queries.identity(plan)
    if queries.ledger.number_of(key) is not None and not queries.account.owes(key):
        return Fraction(0)
    queries.probe(plan.whole)
    event = gate.event_of(uses_of(plan.whole.measured), Loss(plan.epsilon, plan.delta))
    terms = getattr(session, "terms", None)
    if terms is not None:
        terms.see("the analyst", Loss(plan.epsilon, plan.delta))
    before, after = queries.account.left(), queries.account.left(event)
    if after < 0:
        raise BudgetExceeded("the node", at_least(before - after), at_most(max(Fraction(0), before)))
    return before - after


@asked
def _paid(session: Session, question: Question) -> Paid:
    from discreet.sql.finish.serialisation import pack, unpack

    queries = session._queries
    plan = queries.planned(question)

    def compute(draw: Draw) -> list[NoisyIntegers]:
        return queries.run(plan.whole, draw)

    def made(noisy: list[NoisyIntegers]) -> tuple[Integers, bytes]:
        return noisy[0].entries, pack(None, noisy, asked=question.kept())

    def again(kept: bytes) -> Integers:
        return unpack(kept, plan.whole).noisy[0].entries

    asking = queries.release_plan(question, plan, compute, made, again, partial(pack, None))
    entries = gate.release(asking, queries.ledger, queries.account)
    return Paid(entries, bill().loss)
