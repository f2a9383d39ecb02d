"""The connections to a PostgreSQL server: their own to open, to open again when they were dropped, and to close."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Iterator
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from discreet.engines.postgres.tables import connect, home_of, place_of

if TYPE_CHECKING:
    import psycopg

PAUSE: Final = 30.0
"""Seconds for which no second connection is tried for after one was refused."""


class ReopenedConnection:
    """A connection that is opened again, where discreet opened it; one that was passed is left alone.

    Attributes:
        connection: the one that is open now.
        place: of the database, without any credential.
        url: by which it was opened; None where it was passed.
        home: the running server, and the user there; empty where it does not say.
    """

    def __init__(self, connection: psycopg.Connection[Any], url: str | None) -> None:
        self.connection = connection
        self.place = place_of(connection)
        self.url = url
        self.home = home_of(connection) if url is not None else ()
        self._own = [connection] if url is not None else []
        self._clear = weakref.finalize(self, _hang_up, self._own, os.getpid())

    @property
    def dropped(self) -> bool:
        """Whether the connection is gone, through a fault of the network or a restart of the server."""
        return bool(self.connection.closed)

    def again(self) -> bool:
        """Open it again if it was dropped and can be; whether it can be used now.

        It must lead to the same database: the name of a host may stand for another server by now.
        """
        if not self.dropped:
            return True
        if self.url is None:
            return False
        with contextlib.suppress(Exception):
            connection, _ = connect(self.url)
            if place_of(connection) == self.place:
                self._own[:] = [connection]
                self.connection, self.home = connection, home_of(connection)
                return True
            connection.close()
        return False

    def close(self) -> None:
        """Close it, if it is ours."""
        self._clear()


class SecondConnection:
    """A connection beside the first one, so that whoever asks about tables waits for no query of somebody else's.

    There is none beside a connection that was passed, whose role and settings it would not have; nor where the server
    gives no second one, or another server answers under that name.

    Args:
        first: the one that runs the queries.
    """

    def __init__(self, first: ReopenedConnection) -> None:
        self._first: Final = first
        self._lock: Final = threading.Lock()
        self._line: ReopenedConnection | None = None
        self._later = 0.0
        self._closed = False

    @contextlib.contextmanager
    def taken(self) -> Iterator[psycopg.Connection[Any] | None]:
        """The connection, for this caller alone as long as the block lasts; None where there is none."""
        if self._first.url is None:
            yield None
            return
        with self._lock:
            yield self._ready(self._first.url)

    def cancel(self) -> None:
        """Cancel its query on the server."""
        if self._lock.locked() and self._line is not None:
            self._line.connection.cancel_safe(timeout=5)

    def close(self) -> None:
        """Cancel its query, and close the connection for good."""
        self._closed = True
        with contextlib.suppress(Exception):
            self.cancel()
        with self._lock:
            if self._line is not None:
                self._line.close()

    def _ready(self, url: str) -> psycopg.Connection[Any] | None:
        """The connection, opened if need be. It must lead to the running server of the first one, as the same user."""
        if self._closed or monotonic() < self._later:
            return None
        if self._line is None:
            with contextlib.suppress(Exception):
                self._line = ReopenedConnection(connect(url)[0], url)
        line, first = self._line, self._first
        if line is None or not line.again():
            self._later = monotonic() + PAUSE
            return None
        alike = line.home and (line.place, line.home) == (first.place, first.home)
        return line.connection if alike else None


def _hang_up(own: list[Any], process: int) -> None:
    if os.getpid() == process:  # the server takes the words of a forked child on it for the parent's
        for connection in own:
            connection.close()
