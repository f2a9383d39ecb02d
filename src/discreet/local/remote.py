"""A node behind a wire: the same interface, over any function that carries a message and brings the reply."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from discreet.errors import BudgetExceeded, DiscreetError, EngineError, InvalidParameter, QueryRefused
from discreet.local.messages import Node, Offer, Report
from discreet.rational import Number, epsilon_of

Message: TypeAlias = Mapping[str, Any]
Send: TypeAlias = Callable[[dict[str, Any]], object]

_KINDS: Final[dict[str, type[DiscreetError]]] = {
    kind.__name__: kind for kind in (QueryRefused, InvalidParameter, EngineError)
}


def serve(node: Node) -> Callable[[object], dict[str, Any]]:
    """Make the function that answers messages for a node: an HTTP handler calls it with the decoded body.

    It never raises, for any message. The text of an error that was not meant for the analyst is withheld.

    Example:
        >>> from discreet.local import Access, LocalNode
        >>> node = LocalNode("ward 3", [1, 0, 1])
        >>> serve(node)({"do": "describe"})
        {'name': 'ward 3', 'access': None, 'left': None, 'records': None}
        >>> serve(node)({"do": "dump"})["error"]["cause"]
        'No message has this form.'
    """

    def handle(message: object) -> dict[str, Any]:
        try:
            if not isinstance(message, Mapping) or message.get("do") not in ("describe", "ask"):
                raise InvalidParameter("No message has this form.", 'Send {"do": "describe"}.')
            if message["do"] == "describe":
                return node.describe().to_dict()
            return node.ask(epsilon_of(message.get("epsilon"))).to_dict()
        except BudgetExceeded as error:
            parts = {"account": error.account, "asked": error.asked, "left": error.left}
            return {"error": {"kind": "BudgetExceeded", **parts}}
        except DiscreetError as error:
            kind = type(error).__name__ if type(error).__name__ in _KINDS else "EngineError"
            return {"error": {"kind": kind, "cause": error.cause, "fix": error.fix}}
        except Exception:  # its text may quote a value
            return {"error": {"kind": "EngineError", "cause": "The node failed.", "fix": "Ask its owner."}}

    return handle


class RemoteNode:
    """A node somewhere else.

    Args:
        send: takes a message and returns the reply, both plain for JSON: an HTTP POST, say. An error of it goes
            through.

    Raises, in `describe` and `ask`, the errors of the node, and InvalidParameter for a reply that is garbled.

    Example:
        >>> import json
        >>> from discreet.local import Access, LocalNode
        >>> node = LocalNode("ward 3", [1, 0, 1])
        >>> node.open(Access((0, 1), budget=1))
        >>> wire = serve(node)
        >>> remote = RemoteNode(lambda message: json.loads(json.dumps(wire(json.loads(json.dumps(message))))))
        >>> remote.ask("1/3").epsilon, remote.describe().left
        (Fraction(1, 3), Fraction(2, 3))
    """

    def __init__(self, send: Send) -> None:
        self._send = send

    def describe(self) -> Offer:
        """Ask the node for its description."""
        return Offer.from_dict(self._reply({"do": "describe"}))

    def ask(self, epsilon: Number) -> Report:
        """Ask the node for a noisy answer; epsilon travels exactly.

        Raises:
            EngineError: it claims another epsilon than the one asked for.
        """
        loss = epsilon_of(epsilon)
        report = Report.from_dict(self._reply({"do": "ask", "epsilon": str(loss)}))
        if report.epsilon != loss:
            raise EngineError(
                "The node answered with another epsilon than it was asked for.",
                "Its charge stays; ask its owner.",
            )
        return report

    def _reply(self, message: dict[str, Any]) -> Message:
        reply = self._send(message)
        if not isinstance(reply, Mapping):
            raise InvalidParameter("The reply of a node is garbled.", "See that it is a node.")
        error = reply.get("error")
        if error is None:
            return reply
        if not isinstance(error, Mapping):
            error = {}
        if error.get("kind") == "BudgetExceeded":
            raise BudgetExceeded(*(str(error.get(part, "?")) for part in ("account", "asked", "left")))
        kind = _KINDS.get(str(error.get("kind")), EngineError)
        raise kind(str(error.get("cause", "The node failed.")), str(error.get("fix", "")))
