"""A Redis stream: each entry is a row, whose fields are the columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import SplitResult, unquote

from discreet.errors import StreamError
from discreet.streams.feeds.broker import address, missing, silent

if TYPE_CHECKING:
    from discreet.streams.feeds.broker import Row


class RedisLog:
    """A stream of a Redis server.

    Args:
        where: `redis://[user:password@]host[:port]/[database/]key`, or `rediss://` for TLS.

    Raises:
        StreamError: the client is not installed, or the server does not answer.
    """

    def __init__(self, where: SplitResult) -> None:
        try:
            import redis
            from redis.backoff import NoBackoff
            from redis.retry import Retry
        except ImportError:
            raise missing("redis") from None
        first, slash, rest = where.path.strip("/").partition("/")
        database, key = (int(first), rest) if slash and first.isdecimal() else (0, where.path.strip("/"))
        host, port = address(where, 6379)
        self._error = redis.RedisError
        self._key = unquote(key)
        self._server = redis.Redis(
            host=host, port=port, db=database, username=_text(where.username), password=_text(where.password),
            ssl=where.scheme == "rediss", socket_connect_timeout=5, retry=Retry(NoBackoff(), 1),
        )  # fmt: skip
        self._seen = False
        try:
            self._server.ping()
        except redis.RedisError:
            self._server.close()
            raise silent("The Redis server") from None

    def after(self, place: str, most: int, wait: float) -> Sequence[tuple[str, Row]]:
        """The next entries."""
        try:
            if place and not self._seen:
                self._see(place)
            self._seen = True
            found = self._server.xread({self._key: place or "0"}, count=most, block=max(1, int(1000 * wait)))
        except self._error:
            raise silent("The Redis server") from None
        streams = cast("Any", found) or []
        pairs = streams.values() if isinstance(streams, dict) else [entries for _, entries in streams]
        out: list[tuple[str, Row]] = []
        for entries in pairs:
            groups = entries if entries and isinstance(entries[0], list) else [entries]
            out += [(name.decode(), _row(fields)) for group in groups for name, fields in group]
        return out

    def _see(self, place: str) -> None:
        """See that the stream goes as far as this place."""
        if not self._server.exists(self._key):
            last = "0-0"
        else:
            last = cast("Any", self._server.xinfo_stream(self._key))["last-generated-id"].decode()
        if _order(last) < _order(place):
            raise StreamError(
                "The stream at the broker ends before the rows that were counted.",
                "Give the same stream, which may be trimmed but not begun anew.",
            )

    def close(self) -> None:
        """Leave the server."""
        self._server.close()


def _row(fields: dict[bytes, bytes]) -> Row:
    try:
        return {name.decode(): value.decode() for name, value in fields.items()}
    except UnicodeDecodeError:
        return None


def _order(place: str) -> tuple[int, ...]:
    return tuple(map(int, place.split("-")))


def _text(part: str | None) -> str | None:
    return None if part is None else unquote(part)
