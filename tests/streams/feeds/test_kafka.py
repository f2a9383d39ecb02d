"""The interface of Kafka with an invented client; no real cluster is tested."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from discreet.errors import StreamError
from discreet.streams.feeds.broker import BrokerFeed
from discreet.streams.feeds.opening import broker_of

MESSAGES = [b'{"patient": %d}' % n for n in range(5)]


class Message:
    def __init__(self, at: int) -> None:
        self.at = at

    def error(self) -> None:
        return None

    def offset(self) -> int:
        return self.at

    def value(self) -> bytes:
        return MESSAGES[self.at]


class Consumer:
    partitions = 1

    def __init__(self, settings: dict[str, Any]) -> None:
        assert settings["bootstrap.servers"] == "broker:9092"
        self.at = 0

    def list_topics(self, topic: str, timeout: float) -> Any:
        return SimpleNamespace(
            topics={"visits": SimpleNamespace(partitions=dict.fromkeys(range(self.partitions)))}
        )

    def assign(self, places: list[Any]) -> None:
        self.at = max(0, places[0][2])

    def consume(self, most: int, wait: float) -> list[Message]:
        found = [Message(at) for at in range(self.at, min(self.at + 2, len(MESSAGES)))]
        self.at += len(found)
        return found

    def close(self) -> None:
        pass


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> None:
    made = SimpleNamespace(
        Consumer=Consumer, KafkaException=RuntimeError, OFFSET_BEGINNING=-2, TopicPartition=lambda *one: one
    )
    monkeypatch.setitem(sys.modules, "confluent_kafka", made)


@pytest.mark.usefixtures("client")
def test_messages_come_once() -> None:
    feed = BrokerFeed(broker_of("kafka://broker/visits"), ["patient"])
    assert [row["patient"] for piece in feed.pieces() for row in piece.to_pylist()] == list(range(5))  # type: ignore[union-attr]
    again = BrokerFeed(broker_of("kafka://broker/visits"), ["patient"])
    again.skip(4, "3")
    assert [row["patient"] for piece in again.pieces() for row in piece.to_pylist()] == [4]  # type: ignore[union-attr]
    with pytest.raises(StreamError, match="does not answer"):
        broker_of("kafka://broker/other")


@pytest.mark.usefixtures("client")
def test_several_partitions_have_no_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Consumer, "partitions", 2)
    with pytest.raises(StreamError, match="one partition"):
        broker_of("kafka://broker/visits")


def test_without_the_client_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(StreamError, match="pip install confluent-kafka"):
        broker_of("kafka://broker/visits")
