"""A topic of Kafka with one partition: each message is a row, one object of JSON.

Tested with an invented client only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult

from discreet.errors import StreamError
from discreet.streams.feeds.broker import address, missing, object_of, silent

if TYPE_CHECKING:
    from discreet.streams.feeds.broker import Row


class KafkaLog:
    """A topic of a Kafka cluster, through confluent-kafka.

    Args:
        where: `kafka://host[:port]/topic`.

    Raises:
        StreamError: the client is not installed, the cluster does not answer, or the topic has several partitions,
            whose rows have no order.
    """

    def __init__(self, where: SplitResult) -> None:
        try:
            import confluent_kafka as kafka
        except ImportError:
            raise missing("confluent-kafka") from None
        host, port = address(where, 9092)
        self._kafka = kafka
        self._topic = where.path.strip("/")
        self._begun = False
        self._reader: Any = kafka.Consumer(
            {"bootstrap.servers": f"{host}:{port}", "group.id": "discreet", "enable.auto.commit": False}
        )
        try:
            known = self._reader.list_topics(self._topic, timeout=5).topics[self._topic]
        except (kafka.KafkaException, KeyError):
            raise silent("The Kafka cluster") from None
        if len(known.partitions) != 1:
            raise StreamError(
                "The topic has not one partition.", "Rows of several have no order: give it one."
            )

    def after(self, place: str, most: int, wait: float) -> Sequence[tuple[str, Row]]:
        """The next messages."""
        if not self._begun:
            begin = int(place) + 1 if place else self._kafka.OFFSET_BEGINNING
            self._reader.assign([self._kafka.TopicPartition(self._topic, 0, begin)])
            self._begun = True
        found = self._reader.consume(most, wait)
        if any(message.error() for message in found):
            raise silent("The Kafka cluster")
        return [(str(message.offset()), object_of(message.value() or b"")) for message in found]

    def close(self) -> None:
        """Leave the cluster."""
        self._reader.close()
