"""A question that was submitted to a server, and is answered later."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING
from urllib.parse import quote

from discreet.client import wire
from discreet.client.transport import ServerAddress, call, document, unreadable
from discreet.errors import QueryRefused, ServerError, TimedOut
from discreet.records import dataclass
from discreet.release.documents import FORMS, from_arrow

if TYPE_CHECKING:
    from discreet.release.answer import Release

FIRST, LONGEST = 0.1, 5.0
"""Seconds between two looks: twice as many each time, up to the longest."""


@dataclass(frozen=True)
class Submitted:
    """A question at work on a server, by the key of its answer; another process can go on with the same key.

    Attributes:
        address: of the server.
        path: of the data set there.
        key: of the answer.
    """

    address: ServerAddress
    path: str
    key: str

    def __repr__(self) -> str:
        return f"<Submitted question {self.key[:12]} at {self.address}; result() waits for its answer>"

    def status(self) -> str:
        """How far it is: at work, answered, failed, cancelled, or charged with no answer after the time-out."""
        return self._status()[0]

    def cancel(self) -> bool:
        """Take it back if it was not begun, and say whether that was in time; else it goes on, and stays charged."""
        said = document(call(self.address, "DELETE", self._place("questions")))
        return bool(said.get("cancelled")) if isinstance(said, dict) else False

    def result(self, timeout: float = 600.0) -> Release:
        """Wait for the answer.

        Args:
            timeout: seconds to wait at most.

        Raises:
            TimedOut: it is still at work; it goes on, and can be waited for again.
            QueryRefused: it was cancelled. Nothing was charged.
            ServerError: its charge has no answer, or the server cannot be reached.
            Every error of `RemoteSession.sql` is raised too.
        """
        until, pause = time.monotonic() + timeout, FIRST
        while True:
            status, error = self._status()
            if status == "answered":
                return from_arrow(call(self.address, "GET", self._place("releases"), None, FORMS["arrow"][0]))
            if error is not None:
                raise error
            if status == "cancelled":
                raise QueryRefused("The question was taken back.", "Ask it again.")
            if status != "at work":
                raise ServerError(
                    "The question was charged, and has no answer yet.",
                    "Look again in a while, or tell the steward.",
                )
            if time.monotonic() >= until:
                raise TimedOut("The question is still at work.", "Wait for it again.")
            time.sleep(min(pause, max(0.0, until - time.monotonic())))
            pause = min(2 * pause, LONGEST)

    def _status(self) -> tuple[str, Exception | None]:
        said = document(call(self.address, "GET", self._place("questions")))
        if not isinstance(said, dict) or not isinstance(said.get("status"), str):
            raise unreadable()
        return said["status"], wire.to_error(said) if said["status"] == "failed" else None

    def _place(self, kind: str) -> str:
        return f"{self.path}/{kind}/{quote(self.key, safe='')}"
