"""connect(...): a session on a server, with the methods of `Session` that a question needs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import quote

from discreet.client import wire
from discreet.client.submitted import Submitted
from discreet.client.transport import Address, call, document, unreadable
from discreet.errors import InvalidParameter, ServerError
from discreet.rational import Number, decimal
from discreet.release.documents import FORMS, from_arrow
from discreet.release.exactly import exact
from discreet.session.parameters import GROUP_ROWS, MOCK_ROWS, confidence_of

if TYPE_CHECKING:
    from discreet.client.node import RemoteNode
    from discreet.release.answer import Release
    from discreet.session.analyst import AnalystBudget
    from discreet.sql.inspect.explain import Explanation
    from discreet.sql.inspect.preview import Preview

TIMEOUT = 600.0
"""Seconds to wait for an answer: longer than a server lets a question run."""
_ROOT = "/api/v1"
T = TypeVar("T")


def connect(
    url: str, *, token: str | None = None, dataset: str | None = None, timeout: float = TIMEOUT
) -> RemoteSession:
    """Connect to a server of `discreet serve`.

    Args:
        url: of the server, `https://…`; plain `http://` only for this machine.
        token: from the steward; by default the environment's DISCREET_TOKEN.
        dataset: the name of the data set; not needed where the token has one only.
        timeout: seconds to wait for an answer.

    Raises:
        InvalidParameter: the address or the token cannot be used, or there are several data sets.
        NotAllowed: the server refuses the token.
        ServerError: the server cannot be reached.
    """
    given = token or os.environ.get("DISCREET_TOKEN")
    if not given:
        raise InvalidParameter("There is no token.", "Write token=… or set DISCREET_TOKEN.")
    address = Address.read(url, given, timeout)
    found = document(call(address, "GET", f"{_ROOT}/datasets"))
    try:
        names = [str(listed["name"]) for listed in found["datasets"]]
    except (KeyError, TypeError):
        raise unreadable() from None
    if dataset is None and len(names) == 1:
        dataset = names[0]
    if dataset is None or dataset not in names:
        if not names:
            raise InvalidParameter("The token has no data set.", "Ask the steward for a budget.")
        which = "" if dataset is None else f"; {dataset} is none of them"
        raise InvalidParameter(
            f"The token is for the data sets {', '.join(names)}{which}.",
            "Name one with dataset=…, or ask the steward for a budget.",
        )
    return RemoteSession(address, dataset)


class RemoteSession:
    """Asks questions of a data set on a server, as `Session` does of one at hand.

    A question that failed on the way is never sent again by itself. The same question with the same epsilon is
    answered once more for nothing, if it was answered.
    """

    def __init__(self, address: Address, dataset: str, mock_rows: int | None = None) -> None:
        self._address = address
        self.dataset = dataset
        self._mock_rows = mock_rows

    def sql(
        self,
        query: str,
        epsilon: Number | None = None,
        *,
        confidence: float = 0.95,
        delta: Number | None = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        split: Mapping[str, Number] | None = None,
        simultaneous: bool = False,
        intervals: bool = True,
    ) -> Release:
        """Answer a question; see `Session.sql`.

        Raises:
            TimedOut: it takes longer than the server allows. It goes on there, and its charge stays.
            Busy: the server has too much to do. Nothing was charged.
            ServerError: the server cannot be reached.
            Every other error of `Session.sql` is raised too.
        """
        body = _asked(query, epsilon, confidence, delta, max_rows, max_groups, split, simultaneous, intervals)
        if self._mock_rows is not None:
            return from_arrow(self.post("mock", {**body, "rows": self._mock_rows}, FORMS["arrow"][0]))
        return from_arrow(self.post("query", body, FORMS["arrow"][0]))

    def submit(
        self,
        query: str,
        epsilon: Number | None = None,
        *,
        confidence: float = 0.95,
        delta: Number | None = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        split: Mapping[str, Number] | None = None,
        simultaneous: bool = False,
        intervals: bool = True,
    ) -> Submitted:
        """Ask a question, and fetch its answer later: `status()`, `cancel()` and `result()` of the question returned.

        Raises:
            InvalidParameter: the tables are invented, where every answer comes at once.
            Every error of `sql` before its charge is raised too.
        """
        if self._mock_rows is not None:
            raise InvalidParameter("Questions about invented tables are answered at once.", "Use sql.")
        body = _asked(query, epsilon, confidence, delta, max_rows, max_groups, split, simultaneous, intervals)
        key = self.read(lambda said: str(said["key"]), self.post("questions", body))
        return Submitted(self._address, self._path(), key)

    def submitted(self, key: str) -> Submitted:
        """The question of a key that `submit` returned, in this process or in another one."""
        return Submitted(self._address, self._path(), key)

    def preview(
        self,
        query: str,
        epsilon: Number | None = None,
        *,
        within: Mapping[str, Number] | None = None,
        confidence: float = 0.95,
        delta: Number | None = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        split: Mapping[str, Number] | None = None,
        simultaneous: bool = False,
        intervals: bool = True,
        group_rows: int = GROUP_ROWS,
    ) -> Preview:
        """Give the cost of a question and the errors of its answer; see `Session.preview`."""
        body = _asked(query, epsilon, confidence, delta, max_rows, max_groups, split, simultaneous, intervals)
        body |= {"group_rows": group_rows}
        if within is not None:
            body["within"] = _numbers(within, "within")
        return self.read(wire.to_preview, self.post("preview", body))

    def explain(
        self,
        query: str,
        epsilon: Number = 1,
        *,
        delta: Number | None = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        split: Mapping[str, Number] | None = None,
        intervals: bool = True,
    ) -> Explanation:
        """Show the plan of a question; see `Session.explain`."""
        body = _asked(query, epsilon, 0.95, delta, max_rows, max_groups, split, False, intervals)
        return self.read(wire.to_explanation, self.post("explain", body))

    def mock(self, rows: int = MOCK_ROWS) -> RemoteSession:
        """A session over invented tables on the server, in which every question is free; see `Session.mock`."""
        return RemoteSession(self._address, self.dataset, rows)

    def as_node(self, name: str) -> RemoteNode:
        """The session as a node of `dp.federate`.

        Raises:
            InvalidParameter: its tables are invented.
        """
        from discreet.client.node import RemoteNode

        if self._mock_rows is not None:
            raise InvalidParameter("Invented tables are no node.", "Call mock() of the federation.")
        return RemoteNode(name, self)

    @property
    def budget(self) -> AnalystBudget:
        """The budget of the token's analyst, with that of the data set."""
        return self.read(wire.to_budget, call(self._address, "GET", f"{self._path()}/budget"))

    def tables(self) -> list[dict[str, Any]]:
        """The tables with their columns and the questions that these can answer, from the policy alone."""
        return self.read(lambda said: list(said["tables"]), call(self._address, "GET", self._path()))

    def releases(self) -> list[dict[str, Any]]:
        """The questions that the token's analyst has paid for, the newest first, with `answered` for each."""
        return self.read(
            lambda said: list(said["releases"]), call(self._address, "GET", f"{self._path()}/releases")
        )

    def _path(self) -> str:
        return f"{_ROOT}/datasets/{quote(self.dataset, safe='')}"

    def close(self) -> None:
        """Nothing: no connection is kept."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        invented = "invented " if self._mock_rows is not None else ""
        return f"<RemoteSession over {invented}{self.dataset} at {self._address}>"

    def post(self, what: str, body: Mapping[str, Any], accept: str = "") -> bytes:
        """Send a body to an address of the data set, and return the answer; see `transport.call` for its errors."""
        return call(self._address, "POST", f"{self._path()}/{what}", body, accept)

    @staticmethod
    def read(reader: Callable[[Any], T], said: bytes) -> T:
        """Read a document of the server.

        Raises:
            ServerError: it has another shape than this version knows.
        """
        try:
            return reader(document(said))
        except ServerError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError):
            pass
        raise unreadable()


def _asked(
    query: str, epsilon: Number | None, confidence: float, delta: Number | None, max_rows: int | None,
    max_groups: int | None, split: Mapping[str, Number] | None, simultaneous: bool, intervals: bool,
) -> dict[str, Any]:  # fmt: skip
    """The body of a question: exact numbers as texts, and nothing that was not given."""
    body = {
        "query": query,
        "epsilon": None if epsilon is None else _number(epsilon, "epsilon"),
        "delta": None if delta is None else _number(delta, "delta"),
        "confidence": confidence_of(confidence),
        "max_rows": max_rows,
        "max_groups": max_groups,
        "split": None if split is None else _numbers(split, "split"),
        "simultaneous": simultaneous,
        "intervals": intervals,
    }
    return {name: value for name, value in body.items() if value is not None}


def _number(value: object, name: str) -> str:
    number: Fraction = decimal(value, name)
    return exact(number)


def _numbers(given: Mapping[str, Number], name: str) -> dict[str, str]:
    if not isinstance(given, Mapping):
        raise InvalidParameter(f"{name} does not say of which column.", f'Write {name}={{"n": 50}}.')
    return {column: _number(value, f"{name}[{column}]") for column, value in given.items()}
