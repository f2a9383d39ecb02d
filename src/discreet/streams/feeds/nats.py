"""A stream of NATS JetStream: each message is a row, one object of JSON."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult

from discreet.errors import StreamError
from discreet.streams.feeds.broker import address, missing, object_of, silent

if TYPE_CHECKING:
    from discreet.streams.feeds.broker import Row

_PATIENCE = 15.0


class NatsLog:
    """A stream of a NATS server with JetStream.

    Args:
        where: `nats://[user:password@]host[:port]/stream`.

    Raises:
        StreamError: the client is not installed, or the server does not answer.
    """

    def __init__(self, where: SplitResult) -> None:
        try:
            import nats
        except ImportError:
            raise missing("nats-py") from None
        host, port = address(where, 4222)
        self._stream = where.path.strip("/")
        self._loop = asyncio.new_event_loop()
        self._pulled: Any = None
        self._server: Any = None
        user = {"user": where.username, "password": where.password} if where.username else {}
        calling = nats.connect(
            f"nats://{host}:{port}", allow_reconnect=False, connect_timeout=2, max_reconnect_attempts=1,
            error_cb=_quiet, **user,
        )  # fmt: skip
        try:
            self._server = self._run(calling)
        except StreamError:
            self.close()
            raise

    def after(self, place: str, most: int, wait: float) -> Sequence[tuple[str, Row]]:
        """The next messages."""
        if self._pulled is None:
            self._pulled = self._run(self._begin(int(place or 0)))
        found = self._run(self._fetch(most, wait))
        return [(str(message.metadata.sequence.stream), object_of(message.data)) for message in found]

    async def _begin(self, last: int) -> Any:
        from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

        jet = self._server.jetstream()
        info = await jet.stream_info(self._stream)
        if info.state.last_seq < last:
            raise StreamError(
                "The stream at the broker ends before the rows that were counted.",
                "Give the same stream, which may be trimmed but not begun anew.",
            )
        wanted = ConsumerConfig(
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE, opt_start_seq=last + 1, ack_policy=AckPolicy.NONE
        )
        subject = info.config.subjects[0] if len(info.config.subjects) == 1 else ""
        return await jet.pull_subscribe(subject, stream=self._stream, config=wanted)

    async def _fetch(self, most: int, wait: float) -> Any:
        try:
            return await self._pulled.fetch(min(most, 4096), timeout=max(wait, 0.05))
        except TimeoutError:  # that of the client is one, too
            return []

    def _run(self, doing: Coroutine[Any, Any, Any]) -> Any:
        import nats.errors

        try:
            return self._loop.run_until_complete(asyncio.wait_for(doing, _PATIENCE))
        except (nats.errors.Error, OSError, TimeoutError):
            raise silent("The NATS server") from None

    def close(self) -> None:
        """Leave the server."""
        try:
            if self._server is not None:
                self._run(self._server.close())
        except StreamError:
            pass  # it left before
        finally:
            self._loop.run_until_complete(_end())
            self._loop.close()


async def _end() -> None:
    """End the tasks of the client."""
    doing = asyncio.all_tasks() - {asyncio.current_task()}
    for task in doing:
        task.cancel()
    await asyncio.gather(*doing, return_exceptions=True)


async def _quiet(error: Exception) -> None:
    """Errors come back from the calls themselves."""
