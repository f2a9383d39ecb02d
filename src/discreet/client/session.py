"""connect(...): a session on a server, with the methods of `Session` that a question needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import quote, urlencode

from discreet.client import wire
from discreet.client.submitted import Submitted
from discreet.client.transport import TIMEOUT, ServerAddress, call, document, unreadable
from discreet.errors import InvalidParameter, LedgerCorrupt, ServerError
from discreet.rational import Number, decimal
from discreet.release.documents import FORMS, from_arrow
from discreet.release.exactly import exact
from discreet.session.parameters import GROUP_ROWS, MOCK_ROWS, ErrorTarget, confidence_of

if TYPE_CHECKING:
    from discreet.client.node import ServerNode
    from discreet.client.wire import Standing
    from discreet.release.answer import Release
    from discreet.release.cards.card import Card
    from discreet.session.analyst import AnalystBudget
    from discreet.session.workloads import Answers, WorkloadPreview
    from discreet.sql.inspect.explain import Explanation
    from discreet.sql.inspect.preview import Preview

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
    address = ServerAddress.of(url, token, timeout)
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

    def __init__(self, address: ServerAddress, dataset: str, mock_rows: int | None = None) -> None:
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
        max_rows_per_group: int | None = None,
        split: Mapping[str, Number] | None = None,
        simultaneous: bool = False,
        intervals: bool = True,
        diagnose: Number | None = None,
        nonnegative: bool = False,
        integers: bool = False,
        within: Mapping[str, Number] | None = None,
        group_rows: int = GROUP_ROWS,
    ) -> Release:
        """Answer a question; see `Session.sql`.

        Raises:
            TimedOut: it takes longer than the server allows. It goes on there, and its charge stays.
            Busy: the server has too much to do. Nothing was charged.
            ServerError: the server cannot be reached.
            Every other error of `Session.sql` is raised too.
        """
        body = _asked(query, epsilon, confidence=confidence, delta=delta, max_rows=max_rows, max_groups=max_groups,
                      max_rows_per_group=max_rows_per_group, split=split, simultaneous=simultaneous,
                      intervals=intervals, diagnose=diagnose, nonnegative=nonnegative, integers=integers,
                      within=within)  # fmt: skip
        body |= _sized(within, group_rows)
        if self._mock_rows is not None:
            if within is not None:
                raise InvalidParameter(
                    "Questions about invented tables name their epsilon.", "Leave within out."
                )
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
        max_rows_per_group: int | None = None,
        split: Mapping[str, Number] | None = None,
        simultaneous: bool = False,
        intervals: bool = True,
        diagnose: Number | None = None,
        nonnegative: bool = False,
        integers: bool = False,
        within: Mapping[str, Number] | None = None,
        group_rows: int = GROUP_ROWS,
    ) -> Submitted:
        """Ask a question, and fetch its answer later: `status()`, `cancel()` and `result()` of the question returned.

        Raises:
            InvalidParameter: the tables are invented, where every answer comes at once.
            Every error of `sql` before its charge is raised too.
        """
        if self._mock_rows is not None:
            raise InvalidParameter("Questions about invented tables are answered at once.", "Use sql.")
        body = _asked(query, epsilon, confidence=confidence, delta=delta, max_rows=max_rows, max_groups=max_groups,
                      max_rows_per_group=max_rows_per_group, split=split, simultaneous=simultaneous,
                      intervals=intervals, diagnose=diagnose, nonnegative=nonnegative, integers=integers,
                      within=within)  # fmt: skip
        body |= _sized(within, group_rows)
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
        max_rows_per_group: int | None = None,
        split: Mapping[str, Number] | None = None,
        simultaneous: bool = False,
        intervals: bool = True,
        diagnose: Number | None = None,
        nonnegative: bool = False,
        integers: bool = False,
        group_rows: int = GROUP_ROWS,
    ) -> Preview:
        """Give the cost of a question and the errors of its answer; see `Session.preview`."""
        body = _asked(query, epsilon, confidence=confidence, delta=delta, max_rows=max_rows, max_groups=max_groups,
                      max_rows_per_group=max_rows_per_group, split=split, simultaneous=simultaneous,
                      intervals=intervals, diagnose=diagnose, nonnegative=nonnegative, integers=integers,
                      within=within)  # fmt: skip
        body |= {"group_rows": group_rows}
        return self.read(wire.to_preview, self.post("preview", body))

    def explain(
        self,
        query: str,
        epsilon: Number = 1,
        *,
        delta: Number | None = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        max_rows_per_group: int | None = None,
        split: Mapping[str, Number] | None = None,
        intervals: bool = True,
    ) -> Explanation:
        """Show the plan of a question; see `Session.explain`."""
        body = _asked(query, epsilon, delta=delta, max_rows=max_rows, max_groups=max_groups,
                      max_rows_per_group=max_rows_per_group, split=split, intervals=intervals)  # fmt: skip
        return self.read(wire.to_explanation, self.post("explain", body))

    def workload(
        self,
        queries: Mapping[str, str],
        epsilon: Number,
        *,
        confidence: float = 0.95,
        delta: Number | None = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        max_rows_per_group: int | None = None,
        intervals: bool = True,
        nonnegative: bool = False,
        integers: bool = False,
    ) -> Answers:
        """Answer several questions as one; see `Session.workload`.

        Raises:
            InvalidParameter: the tables are invented, where one question is asked at a time.
            Every error of `sql` is raised too.
        """
        if self._mock_rows is not None:
            raise InvalidParameter("Questions about invented tables are asked one by one.", "Use sql.")
        body = _together(queries, epsilon, confidence=confidence, delta=delta, max_rows=max_rows,
                         max_groups=max_groups, max_rows_per_group=max_rows_per_group, intervals=intervals,
                         nonnegative=nonnegative, integers=integers)  # fmt: skip
        return self.read(wire.to_answers, self.post("workload", body, FORMS["arrow"][0]))

    def preview_workload(
        self,
        queries: Mapping[str, str],
        epsilon: Number,
        *,
        confidence: float = 0.95,
        delta: Number | None = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        max_rows_per_group: int | None = None,
        intervals: bool = True,
        nonnegative: bool = False,
        integers: bool = False,
        group_rows: int = GROUP_ROWS,
    ) -> WorkloadPreview:
        """Give the cost of a workload and the errors of its answers; see `Session.preview_workload`."""
        body = _together(queries, epsilon, confidence=confidence, delta=delta, max_rows=max_rows,
                         max_groups=max_groups, max_rows_per_group=max_rows_per_group, intervals=intervals,
                         nonnegative=nonnegative, integers=integers)  # fmt: skip
        return self.read(wire.to_workload, self.post("workload/preview", {**body, "group_rows": group_rows}))

    def mock(self, rows: int = MOCK_ROWS) -> RemoteSession:
        """A session over invented tables on the server, in which every question is free; see `Session.mock`."""
        return RemoteSession(self._address, self.dataset, rows)

    def as_node(self, name: str) -> ServerNode:
        """The session as a node of `dp.federate`.

        Raises:
            InvalidParameter: its tables are invented.
        """
        from discreet.client.node import ServerNode

        if self._mock_rows is not None:
            raise InvalidParameter("Invented tables are no node.", "Call mock() of the federation.")
        return ServerNode(name, self)

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

    def card(self) -> Card:
        """The card of the data set; see `Session.card`."""
        return self.read(wire.to_card, call(self._address, "GET", f"{self._path()}/card"))

    def forecast(self, epsilon: Number, releases: int = 30) -> list[Standing]:
        """How many releases of one epsilon fit into the budgets that the token is charged to; nothing is charged.

        Raises:
            InvalidParameter: epsilon or the number of releases is out of range.
        """
        asked = urlencode({"epsilon": _number(epsilon, "epsilon"), "releases": releases})
        return self.read(wire.to_forecast, call(self._address, "GET", f"{self._path()}/forecast?{asked}"))

    def verify(self, noted: str | None = None) -> tuple[int, str]:
        """Have the ledger's chain computed again, with the token of a steward; its entries, and its head.

        Args:
            noted: a head that an earlier one answered, NUMBER:HASH.

        Raises:
            LedgerCorrupt: the chain is broken, or does not have the noted head.
            NotAllowed: the token is none of a steward.
        """
        asked = "" if noted is None else "?" + urlencode({"noted": noted})
        found = self.read(wire.to_verified, call(self._address, "POST", f"{self._path()}/verify{asked}", {}))
        if found is None:
            raise LedgerCorrupt(
                "The ledger of the server is not unchanged.",
                "Have the steward run `discreet budget verify` there, which says where.",
            )
        return found

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

    def post(self, address: str, body: Mapping[str, Any], accept: str = "") -> bytes:
        """Send a body to an address of the data set, and return the answer; see `transport.call` for its errors."""
        return call(self._address, "POST", f"{self._path()}/{address}", body, accept)

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


NUMBERS, BY_COLUMN = ("epsilon", "delta", "diagnose"), ("split", "within")
"""The options that are exact numbers, and those that are such numbers by column."""


def _sized(within: Mapping[str, Number] | None, group_rows: int) -> dict[str, int]:
    """The size of the groups that an error is reckoned for, where one is named."""
    target = ErrorTarget.read(within, group_rows)
    return {} if target is None else {"group_rows": target.group_rows}


def _asked(query: str, epsilon: Number | None, **options: Any) -> dict[str, Any]:
    """The body of a question: exact numbers as texts, and nothing that was not given."""
    body = {"query": query, "epsilon": epsilon, **options}
    if "confidence" in body:
        body["confidence"] = confidence_of(body["confidence"])
    given = {name: value for name, value in body.items() if value is not None}
    exactly = {name: _number(given[name], name) for name in NUMBERS if name in given}
    return {**given, **exactly, **{name: _numbers(given[name], name) for name in BY_COLUMN if name in given}}


def _together(queries: Mapping[str, str], epsilon: Number, **options: Any) -> dict[str, Any]:
    """The body of several questions."""
    if not isinstance(queries, Mapping):
        raise InvalidParameter("A workload is questions by name.", 'Write {"total": "SELECT …", …}.')
    body = _asked("", epsilon, **options)
    del body["query"]
    return {**body, "queries": dict(queries)}


def _number(value: object, name: str) -> str:
    number: Fraction = decimal(value, name)
    return exact(number)


def _numbers(given: Mapping[str, Number], name: str) -> dict[str, str]:
    if not isinstance(given, Mapping):
        raise InvalidParameter(f"{name} does not say of which column.", f'Write {name}={{"n": 50}}.')
    return {column: _number(value, f"{name}[{column}]") for column, value in given.items()}
