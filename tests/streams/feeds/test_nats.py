"""A stream of a real NATS server: read once, from the place that was counted."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import StreamError
from discreet.streams.feeds.broker import BrokerFeed
from discreet.streams.feeds.opening import broker_of
from tests.streams.feeds.pieces import rows_of
from tests.streams.feeds.servers import nats_server


async def publish(port: int, *messages: bytes, anew: bool = False) -> None:
    import nats

    server = await nats.connect(f"nats://127.0.0.1:{port}")
    jet = server.jetstream()
    if anew:
        await jet.add_stream(name="visits", subjects=["visits.*"])
    for message in messages:
        await jet.publish("visits.north", message)
    await server.close()


def rows(url: str, place: tuple[int, str] = (0, "")) -> tuple[list[Any], tuple[int, str]]:
    broker = broker_of(url)
    try:
        feed = BrokerFeed(broker, ["patient"])
        feed.skip(*place)
        found = rows_of(feed.pieces())
    finally:
        broker.close()
    return found, (feed.read, feed.digest)


def test_messages_come_once(tmp_path: Path) -> None:
    with nats_server(tmp_path) as port:
        url = f"nats://127.0.0.1:{port}/visits"
        with pytest.raises(StreamError, match="does not answer"):
            rows(url)
        asyncio.run(publish(port, *(b'{"patient": %d}' % n for n in range(5)), b"[1]", anew=True))
        found, place = rows(url)
        assert found == [{"patient": n} for n in range(5)]
        assert place == (6, "6")
        asyncio.run(publish(port, b'{"patient": "late"}'))
        found, place = rows(url, place)
        assert (found, place) == ([{"patient": "late"}], (7, "7"))
        with pytest.raises(StreamError, match="ends before"):
            rows(url, (9, "9"))
    with pytest.raises(StreamError, match="does not answer"):
        rows(url)
