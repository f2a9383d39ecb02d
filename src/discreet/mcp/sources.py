"""Where an assistant's questions go: to a service in this process or elsewhere. Both charge and refuse alike."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from discreet.client import wire
from discreet.release.answer import Release
from discreet.server.people import SCOPES, Caller

if TYPE_CHECKING:
    from discreet.client import RemoteSession
    from discreet.server.service import Service

Document = dict[str, Any]


class QuestionSource(Protocol):
    """The questions of one assistant about one data set."""

    async def tables(self) -> list[Document]:
        """The tables with their columns, as the policy has them."""

    async def preview(self, asked: Mapping[str, Any]) -> Document:
        """The price and the errors of a question."""

    async def query(self, asked: Mapping[str, Any]) -> Release:
        """Answer a question, for its price."""

    async def history(self) -> list[Document]:
        """The questions that were charged, the newest first."""

    async def budget(self) -> Document:
        """The budget, with that of the data set."""


class Local:
    """An analyst of a service in this process; its caps, slots of time and fixed errors hold here too.

    Args:
        service: with one data set.
        name: of the analyst.
        epsilon: the most that the analyst may ever spend; None for the budget that the steward has set.
    """

    def __init__(self, service: Service, name: str, epsilon: str | None) -> None:
        self._service = service
        (self._dataset,) = service.datasets
        people = service.people
        if name not in people.names("analyst"):
            people.add("discreet mcp", name, "analyst")
        if epsilon is not None:
            people.grant("discreet mcp", name, self._dataset, epsilon)
        self._caller = Caller(name, "analyst", frozenset(SCOPES["analyst"]), "mcp")

    async def tables(self) -> list[Document]:
        """The tables with their columns, as the policy has them."""
        return await self._service.look(
            self._caller, self._service.dataset(self._caller, self._dataset).schema
        )

    async def preview(self, asked: Mapping[str, Any]) -> Document:
        """The price and the errors of a question."""

        def work() -> Document:
            return wire.of_preview(self._service.session(self._caller, self._dataset).preview(**asked))

        return await self._service.look(self._caller, work)

    async def query(self, asked: Mapping[str, Any]) -> Release:
        """Answer a question, for its price."""
        return await self._service.ask(self._caller, self._dataset, asked, lambda release, _: release)

    async def history(self) -> list[Document]:
        """The questions that were charged, the newest first."""
        found = await self._service.look(
            self._caller, lambda: self._service.releases(self._caller, self._dataset)
        )
        return wire.of_releases(found)

    async def budget(self) -> Document:
        """The budget, with that of the data set."""

        def work() -> Document:
            return wire.of_budget(self._service.session(self._caller, self._dataset).budget)

        return await self._service.look(self._caller, work)


class ServerSource:
    """A token's analyst on a server.

    Args:
        session: there.
    """

    def __init__(self, session: RemoteSession) -> None:
        self._session = session

    async def tables(self) -> list[Document]:
        """The tables with their columns, as the policy has them."""
        return await asyncio.to_thread(self._session.tables)

    async def preview(self, asked: Mapping[str, Any]) -> Document:
        """The price and the errors of a question."""
        return wire.of_preview(await asyncio.to_thread(lambda: self._session.preview(**asked)))

    async def query(self, asked: Mapping[str, Any]) -> Release:
        """Answer a question, for its price."""
        return await asyncio.to_thread(lambda: self._session.sql(**asked))

    async def history(self) -> list[Document]:
        """The questions that were charged, the newest first."""
        return await asyncio.to_thread(self._session.releases)

    async def budget(self) -> Document:
        """The budget, with that of the data set."""
        return wire.of_budget(await asyncio.to_thread(lambda: self._session.budget))
