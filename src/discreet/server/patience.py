"""Connections that send no whole request in time are closed, or a few hundred idle ones would keep everybody out.

The protocols are uvicorn's; another one than this is `running.quick_protocol`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from discreet.errors import InvalidParameter
from discreet.server.guard import HEADERS
from discreet.server.problems import body

HEAD_PATIENCE = 20.0
"""Seconds for the first lines of a request to come in: after a connection is made, and after each answer."""
MOST_HEAD = 1 << 15
"""Bytes of these lines, and of those behind a body."""


def _unreadable(headers: Sequence[tuple[bytes, bytes]]) -> bytes:
    """The whole answer to a request that cannot be read: an error like any other, with the headers of every answer."""
    error = InvalidParameter("The request cannot be read.", "Send one as of HTTP/1.1.")
    error.told = True
    said = json.dumps(body(error)).encode()
    lines = [
        b"HTTP/1.1 400 Bad Request",
        *(name + b": " + value for name, value in headers),
        b"content-type: application/json",
        b"content-length: " + str(len(said)).encode(),
        b"connection: close",
    ]
    return b"\r\n".join([*lines, b"", said])


class Patient:
    """Waits for the first lines of a request, for which uvicorn itself waits without end."""

    loop: asyncio.AbstractEventLoop
    config: Any
    cycle: Any
    transport: Any
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)  # type: ignore[misc]  # of the protocol that this is mixed into, as below
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
