"""Questions that are asked now and answered later: submit, look, cancel.

A question goes by the key of its answer in the ledger, so that every process of the service can tell how far it is. Its
error is known to the process that took it. Nothing is told before its slot, as with a question that is waited for.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from discreet.errors import Busy, DiscreetError, PostProcessingError, QueryRefused, TimedOut
from discreet.records import dataclass
from discreet.release.answer import Release
from discreet.server.dataset import DataSet
from discreet.server.desk import Desk, see_outcome
from discreet.server.people import Caller
from discreet.server.problems import body, not_there
from discreet.server.records.asks import Asks, Began
from discreet.server.records.state import ServiceState
from discreet.session.analyst import AnalystSession

T = TypeVar("T")
MOST = 10_000
"""How many outcomes are remembered."""


class Asking(Protocol):
    """The part of a service that questions need."""

    state: ServiceState
    asks: Asks
    questions: Desk

    def dataset(self, caller: Caller, name: str) -> DataSet:
        """A data set of a caller."""

    def session(self, caller: Caller, name: str) -> AnalystSession:
        """The session of an analyst over a data set."""

    async def look(self, caller: Caller, work: Callable[[], T]) -> T:
        """Do work that costs nothing."""

    async def ask(
        self,
        caller: Caller,
        name: str,
        asked: Mapping[str, Any],
        made: Callable[[Release, AnalystSession], T],
        began: Began | None = None,
    ) -> T:
        """Answer a question for its price."""


@dataclass(eq=False)
class _Submitted:
    began: Began
    task: asyncio.Task[None]


class Later:
    """The questions that were submitted to one process."""

    def __init__(self, service: Asking) -> None:
        self._service = service
        self._known: OrderedDict[tuple[str, str, str], _Submitted] = OrderedDict()

    async def submit(self, caller: Caller, dataset: str, asked: Mapping[str, Any]) -> str:
        """Ask a question, and return its key at once.

        Raises:
            QueryRefused: it cannot be asked, or costs nothing. Nothing was charged.
            Busy: there is too much at work. Nothing was charged.
        """
        service = self._service
        look = await service.look(caller, lambda: service.session(caller, dataset).look(**asked))
        if not look.key:
            raise QueryRefused("This question costs nothing.", "Ask it, and wait for the answer.")
        name = caller.name, dataset, look.key
        known = self._known.get(name)
        if known is not None and not known.task.done():
            return look.key
        began = Began(dataset, service.state.exactly())

        async def work() -> None:
            await service.ask(caller, dataset, asked, lambda *_: None, began)

        task = asyncio.create_task(work())
        task.add_done_callback(see_outcome)
        self._known[name] = _Submitted(began, task)
        self._known.move_to_end(name)
        while len(self._known) > MOST:
            self._known.popitem(last=False)
        await asyncio.sleep(0)  # now it has its place at the desk, or none
        if task.done() and not task.cancelled() and isinstance(error := task.exception(), Busy):
            raise error
        return look.key

    def status(self, caller: Caller, dataset: str, key: str) -> dict[str, Any]:
        """How far a question is: at work, answered, failed, cancelled, or charged with no answer after the time-out.

        The error of a question is known to the process that took it; others say that it is at work until then.

        Raises:
            NotThere: nobody of this name asked it.
        """
        service, submitted = self._service, self._known.get((caller.name, dataset, key))
        task = None if submitted is None else submitted.task
        if task is not None and not task.done():
            return {"key": key, "status": "at work"}
        history = service.dataset(caller, dataset).history
        charged = history.latest(caller.name, key)
        error = None if task is None or task.cancelled() else task.exception()
        # The numbers that were paid for are there, but the statement above them failed, and would fail again.
        above = isinstance(error, PostProcessingError)
        if charged is not None and not above and service.asks.answered(dataset, key):
            return {"key": key, "status": "answered"}
        if task is not None and task.cancelled():
            return {"key": key, "status": "cancelled"}
        if isinstance(error, DiscreetError) and not isinstance(error, TimedOut):
            return {"key": key, "status": "failed", **body(error)}
        if charged is None:
            service.asks.asked(caller.name, dataset, key)
            return {"key": key, "status": "at work"}
        # By the clock alone: an answer that is held back must look as one that is not there.
        since = service.state.exactly() / 1e6 - charged.timestamp()
        return {"key": key, "status": "at work" if since <= service.questions.caps.timeout else "charged"}

    def cancel(self, caller: Caller, dataset: str, key: str) -> bool:
        """Take a question back that was not begun; one that was goes on, and stays charged. Whether it was in time.

        Raises:
            NotThere: it is not at work here.
        """
        submitted = self._known.get((caller.name, dataset, key))
        if submitted is None or submitted.task.done():
            raise not_there()
        return self._service.questions.cancel(submitted.began)
