"""A stream of a real Redis server: read once, from the place that was counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet.errors import StreamError
from discreet.streams.feeds.broker import BrokerFeed
from discreet.streams.feeds.opening import broker_of
from tests.streams.feeds.pieces import rows_of
from tests.streams.feeds.servers import redis_server


def rows(url: str, place: tuple[int, str] = (0, "")) -> tuple[list[Any], tuple[int, str]]:
    broker = broker_of(url)
    try:
        feed = BrokerFeed(broker, ["patient"])
        feed.skip(*place)
        found = rows_of(feed.pieces())
        assert not list(feed.pieces())
    finally:
        broker.close()
    return found, (feed.read, feed.digest)


def test_entries_come_once(tmp_path: Path) -> None:
    import redis

    with redis_server(tmp_path) as port:
        server = redis.Redis(port=port)
        url = f"redis://127.0.0.1:{port}/visits"
        for n in range(5):
            server.xadd("visits", {"patient": f"p{n}", "time": "2026-01-01"})
        server.xadd("visits", {"patient": b"\xff"})
        found, place = rows(url)
        assert [row["patient"] for row in found if row] == [f"p{n}" for n in range(5)]
        assert place[0] == 6
        server.xadd("visits", {"patient": "late"})
        server.xtrim("visits", maxlen=1)
        assert rows(url, place)[0] == [{"patient": "late"}]
        server.delete("visits")
        with pytest.raises(StreamError, match="ends before"):
            rows(url, place)
        server.set("text", "x")
        with pytest.raises(StreamError, match="does not answer"):
            rows(f"redis://127.0.0.1:{port}/0/text")
        server.close()
    with pytest.raises(StreamError, match="does not answer"):
        rows(url)
