"""A node of a federation: a session over its own data, near or on a server, asked for the noisy integers of a question.

Privacy: the integers are a release of the node, charged by its gate to its own budget before its data is touched.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Protocol

from discreet.accounting.loss import at_least, at_most
from discreet.errors import BudgetExceeded, QueryRefused
from discreet.federation.differences import NodeDeclarations, declared
from discreet.federation.sums import see_addable
from discreet.ledger import Loss
from discreet.records import dataclass
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
    from discreet.session.analyst import AnalystSession
    from discreet.session.budget import BudgetState
    from discreet.session.queries import Queries
    from discreet.session.question import SessionQuestion
    from discreet.session.session import Session
    from discreet.sql.lower.run import NoisyIntegers
    from discreet.sql.plan.plan import QueryPlan

    Integers = NDArray[np.int64]

SPELLING = "duckdb"
"""The dialect in which the plans of all nodes are compared; their engines may have others."""


@dataclass(frozen=True)
class AnswerOffer:
    """The word of a node that it would answer a question, before any charge.

    Attributes:
        alike: a text that two nodes share exactly when the same integers, on the same grid, would answer both.
        price: the amount by which its budget would shrink; 0 where it has released the integers before.
        declared: its public declarations.
    """

    alike: str
    price: Fraction
    declared: NodeDeclarations


@dataclass(frozen=True)
class Paid:
    """The noisy integers of a node.

    Attributes:
        entries: int64 array (groups, integers of all measures).
        loss: that was charged for them; None where the node had released them before.
    """

    entries: Integers
    loss: Loss | None


class FederationNode(Protocol):
    """Data of its own people, that answers for itself."""

    @property
    def name(self) -> str:
        """The name that answers and errors give it."""

    @property
    def home(self) -> object:
        """A value that two nodes share when they are seen to have one ledger, and so one budget."""

    @property
    def invented(self) -> bool:
        """Whether its data is invented."""

    @property
    def budget(self) -> BudgetState:
        """Its budget."""

    def offer(self, question: SessionQuestion) -> AnswerOffer:
        """See all that can be seen before the charge; nothing is charged.

        Raises:
            BudgetExceeded: the budget does not have so much left.
            SourceError, ServerError: the data has gone, or the node cannot be reached.
            Every error of `Session.sql` before its charge is raised too.
        """

    def ask(self, question: SessionQuestion) -> Paid:
        """The noisy integers of a question: released before, or charged now; see `Session.sql` for its errors."""


@dataclass(frozen=True)
class SessionNode:
    """A session on this machine.

    Attributes:
        name: as `FederationNode` has it.
        session: over its data.
    """

    name: str
    session: Session

    @property
    def home(self) -> object:
        """As `FederationNode` has it: the secret of its ledger."""
        return self.session.ledger.salt(DATA_SET)

    @property
    def invented(self) -> bool:
        """As `FederationNode` has it."""
        return self.session._invented

    @property
    def budget(self) -> BudgetState:
        """As `FederationNode` has it."""
        return self.session.budget

    @property
    def queries(self) -> Queries:
        """The producer of its releases."""
        return self.session._queries

    def planned(self, question: SessionQuestion) -> QueryPlan:
        """The plan of a question here, from the text and the policy alone; see `Session.sql` for its errors."""
        return _planned(self.session, question)

    def alike(self, question: SessionQuestion) -> str:
        """As `AnswerOffer` has it."""
        return identity(self.planned(question).whole, SPELLING)

    def declared(self) -> NodeDeclarations:
        """Its public declarations."""
        return declared(self.session)

    def offer(self, question: SessionQuestion) -> AnswerOffer:
        """As `FederationNode` has it."""
        return offered(self.session, _apart(question))

    def ask(self, question: SessionQuestion) -> Paid:
        """As `FederationNode` has it."""
        return _paid(self.session, _apart(question))


def _apart(question: SessionQuestion) -> SessionQuestion:
    """The question with each group measured by itself, as windows over series are told by no name of a group."""
    return replace(question, apart=True)


@asked
def _planned(session: Session, question: SessionQuestion) -> QueryPlan:
    return session._queries.planned(_apart(question))


@asked
def offered(session: Session, question: SessionQuestion) -> AnswerOffer:
    """The offer of a session; see `Node.offer`."""
    queries = session._queries
    plan = queries.planned(question)
    see_addable(plan)
    queries.rehearse(plan)
    return AnswerOffer(identity(plan.whole, SPELLING), _price(session, plan), declared(session))


def _price(session: Session, plan: QueryPlan) -> Fraction:
    """The price of a question, which the budget has left."""
    queries = session._queries
    key, payer = queries.identity(plan), queries.account
    # An answer whose slot has not come is as one that is not there, or the price would tell when it came.
    if queries.hidden(key) or not queries.ledger.has_settled(key):
        queries.probe(plan.whole)
    elif not payer.owes(key):
        return Fraction(0)
    else:
        payer = getattr(payer, "own", payer)  # the data set has paid, and the analyst has not
    loss = Loss(plan.epsilon, plan.delta)
    terms = getattr(session, "terms", None)
    if terms is not None:
        terms.see("the analyst", loss)
    before, after = payer.left(), payer.left(gate.event_of(uses_of(plan.whole.measured), loss))
    if after < 0:
        raise BudgetExceeded("the node", at_least(before - after), at_most(max(Fraction(0), before)))
    return before - after


@asked
def _paid(session: Session, question: SessionQuestion) -> Paid:
    return Paid(_released(session._queries, question), bill().loss)


@asked
def given(session: AnalystSession, question: SessionQuestion) -> Integers:
    """The noisy integers of an answer that an analyst was given, from the ledger; nothing is ever charged.

    Raises:
        QueryRefused: the ledger keeps none, the analyst has not paid for them, or they do not add up over nodes.
    """
    plan = session._kept.planned(question)
    see_addable(plan)
    if session._account.owes(session._kept.identity(plan)):
        raise QueryRefused("These integers were never given to you.", "Ask the question, which is charged.")
    return _released(session._kept, question)


def _released(queries: Queries, question: SessionQuestion) -> Integers:
    from discreet.sql.finish.serialisation import pack, unpack

    plan = queries.planned(question)

    def compute(draw: Draw) -> list[NoisyIntegers]:
        return queries.run(plan.whole, draw)

    def made(noisy: list[NoisyIntegers]) -> tuple[Integers, bytes]:
        return noisy[0].entries, pack(None, noisy, asked=question.to_json())

    def again(kept: bytes, _: bool) -> Integers:
        return unpack(kept, plan.whole).noisy[0].entries

    asking = queries.release_plan(question, plan, compute, made, again, partial(pack, None))
    return gate.release(asking, queries.ledger, queries.account)
