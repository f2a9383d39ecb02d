"""The connection to a PostgreSQL server: its own to open, to open again when it was dropped, and to close."""

from __future__ import annotations

import contextlib
import os
import weakref
from typing import TYPE_CHECKING, Any

from discreet.engines.postgres.tables import connect, place_of

if TYPE_CHECKING:
    import psycopg


class ReopenedConnection:
    """A connection that is opened again, where discreet opened it; one that was passed is left alone.

    Attributes:
        connection: the one that is open now.
        place: of the database, without any credential.
    """

    def __init__(self, connection: psycopg.Connection[Any], url: str | None) -> None:
        self.connection = connection
        self.place = place_of(connection)
        self._url = url
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
        if self._url is None:
            return False
        with contextlib.suppress(Exception):
            connection, _ = connect(self._url)
            if place_of(connection) == self.place:
                self._own[:] = [connection]
                self.connection = connection
                return True
            connection.close()
        return False

    def close(self) -> None:
        """Close it, if it is ours."""
        self._clear()


def _hang_up(own: list[Any], process: int) -> None:
    if os.getpid() == process:  # the server takes the words of a forked child on it for the parent's
        for connection in own:
            connection.close()
