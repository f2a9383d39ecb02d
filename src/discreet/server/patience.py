"""Connections that send no whole request in time are closed, or a few hundred idle ones would keep everybody out.

The protocols are uvicorn's; another one than this is `running.quick_protocol`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from discreet.errors import Busy, DiscreetError, InvalidParameter
from discreet.server.guard import HEADERS
from discreet.server.problems import body

HEAD_PATIENCE = 20.0
"""Seconds for the first lines of a request to come in: after a connection is made, and after each answer."""
MOST_HEAD = 1 << 15
"""Bytes of these lines, and of those behind a body."""


def _said(error: DiscreetError) -> bytes:
    error.told = True
    return json.dumps(body(error)).encode()


def _unreadable(headers: Sequence[tuple[bytes, bytes]]) -> bytes:
    """The whole answer to a request that cannot be read: an error like any other, with the headers of every answer."""
    said = _said(InvalidParameter("The request cannot be read.", "Send one as of HTTP/1.1."))
    lines = [
        b"HTTP/1.1 400 Bad Request",
        *(name + b": " + value for name, value in headers),
        b"content-type: application/json",
        b"content-length: " + str(len(said)).encode(),
        b"connection: close",
    ]
    return b"\r\n".join([*lines, b"", said])


class Patient:
    """Waits for the first lines of a request, for which uvicorn itself waits without end.

    A connection too many is refused by an error like any other, too. Those that came before it are served on, where
    uvicorn itself would refuse them all.
    """

    loop: asyncio.AbstractEventLoop
    config: Any
    cycle: Any
    transport: Any
    connections: Any
    tasks: Any
    _late: asyncio.TimerHandle | None = None
    _came_late = False  # when there were as many others as are served

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._most: int | None = self.limit_concurrency
        self.limit_concurrency: int | None = None  # seen to here

    @property
    def app(self) -> Any:
        """The application for the next request: the one that is served, or one that says that there is no room."""
        return self._full if self._came_late and self._is_full() else self._app

    @app.setter
    def app(self, app: Any) -> None:
        self._app = app

    def _is_full(self) -> bool:
        at_work = max(len(self.connections), len(self.tasks))  # those of clients that are gone among them
        return self._most is not None and at_work > self._most

    async def _full(self, scope: Any, receive: Any, send: Any) -> None:
        del scope, receive
        said = _said(Busy("The service has too many connections.", "Try again in a while."))
        headers = [
            *getattr(self.config.app, "headers", HEADERS),
            (b"content-type", b"application/json"),
            (b"content-length", str(len(said)).encode()),
            (b"connection", b"close"),
        ]
        await send({"type": "http.response.start", "status": 503, "headers": headers})
        await send({"type": "http.response.body", "body": said})

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)  # type: ignore[misc]  # of the protocol that this is mixed into, as below
        self._came_late = self._is_full()
        self._wait()

    def on_response_complete(self) -> None:
        """Begin to wait for the next one."""
        super().on_response_complete()  # type: ignore[misc]
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing."""
        if self._late is not None:
            self._late.cancel()
        super().connection_lost(exc)  # type: ignore[misc]

    def send_400_response(self, msg: str) -> None:
        """Refuse a request that cannot be read, as every other one is refused; no guard sees it."""
        del msg  # h11's own words, of the part that it could not read
        headers = getattr(self.config.app, "headers", HEADERS)  # the guard's, with its own
        self.transport.write(_unreadable(headers))
        self.transport.close()

    def _wait(self) -> None:
        if self._late is not None:
            self._late.cancel()
        self._late = self.loop.call_later(HEAD_PATIENCE, self._give_up)

    def _give_up(self) -> None:
        cycle: Any = self.cycle  # None before the first request
        at_work = cycle is not None and not cycle.response_complete
        if not at_work and not self.transport.is_closing():
            self.transport.close()


class PatientProtocol(Patient, H11Protocol):
    """HTTP as h11 reads it."""
