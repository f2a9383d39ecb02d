"""How a text gets to ClickHouse and a table back: over HTTP to a server, or within this process."""

from __future__ import annotations

import contextlib
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from discreet.engines.clickhouse.settings import PARSER
from discreet.errors import SourceError

if TYPE_CHECKING:
    import pyarrow as pa

WHOLE = {"wait_end_of_query": "1"}
"""The server answers once the result is whole, so that a failure is never taken for a short result."""


class ClickHouseConnection(Protocol):
    """A way to one ClickHouse.

    Attributes:
        place: a text that names it without any credential; None when its data lives in memory.
        several: whether a query may be asked while another one runs.
    """

    place: str | None
    several: bool

    def ask(self, sql: str, aside: bool = False) -> pa.Table:
        """The result of a query. An error of the driver gets out.

        Args:
            sql: the query.
            aside: whether it is asked beside another one, which stays the one to interrupt.
        """

    def interrupt(self) -> None:
        """Stop the running query, where that is possible."""

    def close(self) -> None:
        """Let go of the connection that was opened here."""


class Server:
    """A server, through a client of clickhouse-connect."""

    def __init__(self, client: Any, own: bool) -> None:
        self._client: Final = client
        self._own: Final = own
        self._query = ""
        # A session takes one query at a time: a client of the caller's may have one, and a url may name one.
        self.several = own and not client.get_client_setting("session_id")
        self.place: str | None = f"clickhouse:{_server_of(client)}"

    def ask(self, sql: str, aside: bool = False) -> pa.Table:
        """The result of a query, as Arrow."""
        query = f"discreet-{secrets.token_hex(16)}"
        if not aside:
            self._query = query
        found = self._client.raw_query(
            sql, fmt="ArrowStream", settings={**PARSER, **WHOLE, "query_id": query}
        )
        return _table(found)

    def interrupt(self) -> None:
        """Cancel the query on the server."""
        with contextlib.suppress(Exception):
            self._client.command(f"KILL QUERY WHERE query_id = '{self._query}' ASYNC")

    def close(self) -> None:
        """Close the client that was opened here."""
        if self._own:
            self._client.close()


class Embedded:
    """The ClickHouse of this process, through a session of chdb, which cannot stop a query."""

    def __init__(self, session: Any, place: str | None, own: bool) -> None:
        self._session: Final = session
        self._own: Final = own
        self.place = place
        self.several = False
        for name, value in PARSER.items():
            session.query(f"SET {name} = {value}")

    def ask(self, sql: str, aside: bool = False) -> pa.Table:
        """The result of a query, as Arrow.

        After a query that failed, whoever asked it, the next one always has no rows: so one is asked that does not
        matter.
        """
        self._session.query("SELECT 1")
        return _table(self._session.query(sql, "ArrowStream").bytes())

    def interrupt(self) -> None:
        """Nothing: a query in this process runs to its end."""

    def close(self) -> None:
        """Close the session that was opened here."""
        if self._own:
            self._session.close()


def dial(source: object) -> ClickHouseConnection:
    """The way to a source.

    Raises:
        SourceError: a package is missing, or there is no way. The message holds no password.
    """
    if not isinstance(source, str):
        return Embedded(source, None, False) if _package(source) == "chdb" else Server(source, False)
    url = source.partition("#")[0]
    return _embedded(url.partition(":")[2]) if "://" not in url else _server(url)


def _package(source: object) -> str:
    return type(source).__module__.partition(".")[0]


def _server(url: str) -> ClickHouseConnection:
    try:
        import clickhouse_connect
    except ImportError:
        raise _missing("clickhouse-connect") from None
    client: Any = None
    scheme, _, rest = url.partition("://")
    with contextlib.suppress(Exception):
        client = clickhouse_connect.get_client(
            dsn=f"{scheme.lower()}://{rest}", autogenerate_session_id=False
        )
    if client is None:
        raise SourceError(
            "The ClickHouse server cannot be reached, or refuses this user.",
            "Check the url and the password; the port is that of HTTP, by default 8123.",
        )
    return Server(client, True)


def _embedded(path: str) -> ClickHouseConnection:
    try:
        from chdb import session
    except ImportError:
        raise _missing("chdb") from None
    if not Path(path).is_dir():  # ClickHouse would make it
        raise SourceError("No folder has this name.", "Name the folder that holds the data of ClickHouse.")
    made: Any = None
    with contextlib.suppress(Exception):
        opened: Any = session.Session
        made = opened(path)
    if made is None:
        raise SourceError(
            "The folder of ClickHouse's data cannot be opened.",
            "Name the folder that holds it; it may be open in another process, or another folder in this one.",
        )
    return Embedded(made, f"clickhouse:{_real(path)}", True)


def _missing(package: str) -> SourceError:
    return SourceError(f"This source needs {package}.", "Run pip install 'discreet[clickhouse]'.")


def _real(path: str) -> str:
    import os

    return os.path.realpath(path)


def _server_of(client: Any) -> str:
    """The name of the server and the database, without credentials."""
    uuid = ""
    with contextlib.suppress(Exception):
        uuid = str(client.command("SELECT serverUUID()"))
    return f"{uuid or getattr(client, 'url', '')}/{client.database or 'default'}"


def _table(found: bytes) -> pa.Table:
    import pyarrow as pa

    with pa.ipc.open_stream(found) as reader:
        return reader.read_all()
