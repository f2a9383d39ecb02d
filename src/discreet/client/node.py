"""A session on a server as a node of a federation: its offer, and the noisy integers that its analyst has paid for."""

from __future__ import annotations

from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from discreet.client import wire
from discreet.errors import Busy, InvalidParameter, NotAllowed, ServerError
from discreet.federation.nodes import AnswerOffer, Paid
from discreet.ledger import Loss
from discreet.rational import show
from discreet.release.exactly import exact

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from fractions import Fraction

    from discreet.session.analyst import AnalystBudget
    from discreet.session.question import SessionQuestion


T = TypeVar("T")
PATIENCE, PAUSE = 10.0, 0.2
"""Seconds for which a server that has too much to do is asked again, and between two times.

When it is asked, other nodes are charged at the same moment, for an answer that would lack this one.
"""


class NodeSession(Protocol):
    """The part of a `RemoteSession` that a node needs."""

    @property
    def budget(self) -> AnalystBudget:
        """The budget of the token's analyst."""

    def post(self, address: str, body: Mapping[str, Any], accept: str = "") -> bytes:
        """Send a body to an address of the data set, and return the answer."""

    def read(self, reader: Callable[[Any], T], said: bytes) -> T:
        """Read a document of the server."""


class ServerNode:
    """A session on a server, as `federation.nodes.Node` has it.

    Args:
        name: that answers and errors give it.
        session: over the data set there.
    """

    invented = False

    def __init__(self, name: str, session: NodeSession) -> None:
        self.name = name
        self._session = session
        self._prices: dict[SessionQuestion, Fraction] = {}

    @property
    def home(self) -> object:
        """The address of the data set."""
        return repr(self._session)

    @property
    def budget(self) -> AnalystBudget:
        """The budget of the token's analyst."""
        return self._session.budget

    def offer(self, question: SessionQuestion) -> AnswerOffer:
        """As `Node` has it."""
        offer = self._session.read(wire.to_offer, self._session.post("offer", _body(question)))
        self._prices[question] = offer.price
        return offer

    def ask(self, question: SessionQuestion) -> Paid:
        """As `Node` has it; where the server breaks off, the charge is not known, and counts."""
        price = self._prices.pop(question, question.epsilon)
        loss = Loss(price) if price else None
        try:
            said = self._patiently("integers", _body(question))
            return Paid(self._session.read(wire.to_integers, said), loss)
        except ServerError as error:
            if (
                loss is None
                or error.charged is not None
                or error.told
                or isinstance(error, Busy | NotAllowed)
            ):
                raise
            fault = ServerError(f"{error.cause} It may have charged {show(price)}.", error.fix)
        fault.charged, fault.told = loss, True
        raise fault

    def _patiently(self, address: str, body: Mapping[str, Any]) -> bytes:
        """Send a body; again for some seconds while the server has too much to do, which costs nothing."""
        until = monotonic() + PATIENCE
        while True:
            try:
                return self._session.post(address, body)
            except Busy:
                if monotonic() >= until:
                    raise
            sleep(PAUSE)


def _body(question: SessionQuestion) -> dict[str, Any]:
    """A question as the server reads it."""
    limits = question.limits
    if limits.max_rows_per_group is not None:
        raise InvalidParameter(
            "A server takes no max_rows_per_group.", "Leave it out; the policy may have one."
        )
    body = {
        "query": question.text,
        "epsilon": exact(question.epsilon),
        "max_rows": limits.max_rows,
        "max_groups": limits.max_groups,
        "split": {name: exact(times) for name, times in question.split} or None,
    }
    return {name: value for name, value in body.items() if value is not None}
