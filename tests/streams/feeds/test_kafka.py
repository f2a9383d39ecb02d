"""A topic of the cluster that comes with Kafka's client, over Kafka's protocol; no broker of Kafka is tested."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from discreet.errors import StreamError
from discreet.streams.feeds import kafka as module
from discreet.streams.feeds.broker import BrokerFeed
from discreet.streams.feeds.opening import broker_of
from tests.streams.feeds.pieces import rows_of
from tests.streams.feeds.servers import kafka_cluster


def rows(url: str, place: tuple[int, str] = (0, "")) -> tuple[list[Any], tuple[int, str]]:
    broker = broker_of(url)
    try:
        feed = BrokerFeed(broker, ["patient"])
        feed.skip(*place)
        return rows_of(feed.pieces()), (feed.read, feed.digest)
    finally:
        broker.close()


def fill(address: str, messages: list[bytes | None]) -> None:
    import confluent_kafka

    producer = confluent_kafka.Producer({"bootstrap.servers": address})
    for message in messages:
        producer.produce("visits", message, partition=0)
    assert producer.flush(10) == 0


MESSAGES: list[bytes | None] = [b'{"patient": "p%d"}' % n for n in range(5)]


def test_messages_come_once(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    with kafka_cluster(visits=1, many=3) as address:
        url = f"kafka://{address}/visits"
        assert rows(url) == ([], (0, ""))
        fill(address, [*MESSAGES, b"\xff", b"[1]", None])
        found, place = rows(url)
        assert [row["patient"] for row in found if row] == [f"p{n}" for n in range(5)]
        assert place == (8, "7")
        assert rows(url, place) == ([], place)
        assert [row["patient"] for row in rows(url, (4, "3"))[0] if row] == ["p4"]
        fill(address, [b'{"patient": "new"}'])
        assert rows(url, place) == ([{"patient": "new"}], (9, "8"))
        # A topic that was begun anew has other rows in these places.
        with pytest.raises(StreamError, match="ends before"):
            rows(url, (99, "98"))
        for topic in ("many", "none"):
            with pytest.raises(StreamError, match="one partition"):
                broker_of(f"kafka://{address}/{topic}")
        # Planted: a reader that does not look where the topic ends.
        monkeypatch.setattr(module.KafkaLog, "_begin", lambda self, begin: _careless(self, begin))
        assert rows(url, (99, "98"))[0] == []
    monkeypatch.setattr(module, "_ANSWER", 0.5)
    with pytest.raises(StreamError, match="does not answer"):
        broker_of(f"kafka://{address}/visits")
    assert "rdkafka" not in "".join(capfd.readouterr())


def _careless(log: Any, begin: int) -> None:
    log._reader.assign([log._kafka.TopicPartition("visits", 0, log._kafka.OFFSET_END)])
    log._begun = True


def test_without_the_client_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(StreamError, match="pip install confluent-kafka"):
        broker_of("kafka://broker/visits")
