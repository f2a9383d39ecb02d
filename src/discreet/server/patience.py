"""Connections that send no whole request in time are closed, or a few hundred idle ones would keep everybody out."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_PATIENCE = 20.0
"""Seconds for the first lines of a request to come in: after a connection is made, and after each answer."""


class PatientProtocol(H11Protocol):
    """HTTP as uvicorn speaks it, which waits without end for the first lines of a request."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait()

    def on_response_complete(self) -> None:
        """Begin to wait for the next one."""
        super().on_response_complete()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing."""
        self._stop()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._stop()
        self._late = self.loop.call_later(HEAD_PATIENCE, self._give_up)

    def _stop(self) -> None:
        if self._late is not None:
            self._late.cancel()

    def _give_up(self) -> None:
        cycle: Any = self.cycle  # None before the first request
        at_work = cycle is not None and not cycle.response_complete
        if not at_work and not self.transport.is_closing():
            self.transport.close()
