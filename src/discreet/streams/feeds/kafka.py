"""A topic of Kafka with one partition: each message is a row, one object of JSON.

Tested with the client's own cluster, which speaks Kafka's protocol within the process; never with a broker of Kafka.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult

from discreet.errors import StreamError
from discreet.streams.feeds.broker import address, missing, object_of, silent

if TYPE_CHECKING:
    from discreet.streams.feeds.broker import Row

_ANSWER = 5.0
"""Seconds that the cluster may take to answer."""
_PATIENCE: Final = 10.0
"""Seconds that the cluster may take to give rows, or to say that there are none."""
_SILENT: Final = logging.Logger("discreet.kafka", logging.CRITICAL + 1)


def _quiet(error: object) -> None:
    """Say nothing: an error of a call is told by the call."""


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
        self._begun = self._ended = False
        self._reader: Any = kafka.Consumer(
            {"bootstrap.servers": f"{host}:{port}", "group.id": "discreet", "enable.auto.commit": False,
             # A place that is not there is an error, and never another place.
             "auto.offset.reset": "error", "enable.partition.eof": True,
             "log_level": 0, "error_cb": _quiet, "logger": _SILENT}
        )  # fmt: skip
        try:
            known = self._reader.list_topics(self._topic, timeout=_ANSWER).topics[self._topic]
        except (kafka.KafkaException, KeyError):
            self._reader.close()
            raise silent("The Kafka cluster") from None
        if len(known.partitions) != 1:
            self._reader.close()
            raise StreamError(
                "The topic has not one partition.", "Rows of several have no order: give it one."
            )

    def after(self, place: str, most: int, wait: float) -> Sequence[tuple[str, Row]]:
        """The next messages."""
        if not self._begun:
            self._begin(int(place) + 1 if place else 0)
        patience = time.monotonic() + _PATIENCE
        while True:
            found = []
            for message in self._reader.consume(most, wait):
                error = message.error()
                self._ended = error is not None
                if error is None:
                    found.append((str(message.offset()), object_of(message.value() or b"")))
                elif error.code() != self._kafka.KafkaError._PARTITION_EOF:
                    raise silent("The Kafka cluster")
            # The first rows take their time. Where none came and the end was not seen, there may be some.
            if found or self._ended:
                return found
            if time.monotonic() > patience:
                raise silent("The Kafka cluster")

    def _begin(self, begin: int) -> None:
        """Go to a place; to the first that is left, where the topic was trimmed.

        Raises:
            StreamError: the topic ends before it.
        """
        partition = self._kafka.TopicPartition(self._topic, 0)
        try:
            low, high = self._reader.get_watermark_offsets(partition, timeout=_ANSWER)
        except self._kafka.KafkaException:
            raise silent("The Kafka cluster") from None
        if begin > high:
            raise StreamError(
                "The topic ends before the rows that were counted.",
                "Give the same topic, which may be trimmed but not begun anew.",
            )
        self._reader.assign([self._kafka.TopicPartition(self._topic, 0, max(begin, low))])
        self._begun = True

    def close(self) -> None:
        """Leave the cluster."""
        self._reader.close()
