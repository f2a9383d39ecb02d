"""Any log with places is a feed; what its rows hold never fails."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest

from discreet.errors import StreamError
from discreet.streams.feeds.broker import BrokerFeed, Row, object_of
from discreet.streams.feeds.opening import broker_of
from tests.streams.feeds.pieces import rows_of


class Invented:
    """A log in a list."""

    def __init__(self, rows: list[Row], size: int = 2) -> None:
        self.rows, self.size = rows, size

    def after(self, place: str, most: int, wait: float) -> Sequence[tuple[str, Row]]:
        begin = int(place or 0)
        return [(str(at + 1), self.rows[at]) for at in range(begin, min(begin + self.size, len(self.rows)))]

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("rows", "tables"),
    [
        ([{"a": "x"}, {"a": None}, {}, {"a": "y"}, None], 3), ([{"a": 1}, {"a": 2}], 1), ([{"a": 1}, {"a": 2.5}], 0),
        ([{"a": [1]}, {"a": {}}], 0), ([{"a": 2**70}], 0), ([{"a": "\ud800"}], 0), ([{"a": "x"}, {"a": 1}], 0),
        ([{"a": True}, {"a": False}], 1),
    ],
)  # fmt: skip
def test_rows_come_once_as_columns_or_as_rows(rows: list[Row], tables: int) -> None:
    feed = BrokerFeed(Invented(rows), ["a"])
    pieces = list(feed.pieces())
    found = [row.get("a") for row in rows_of(pieces) if row is not None]
    assert found == [row.get("a") for row in rows if row is not None]
    assert sum(isinstance(piece, pa.Table) for piece in pieces) == tables
    assert (feed.read, feed.digest) == (len(rows), str(len(rows)))
    again = BrokerFeed(Invented(rows), ["a"])
    again.skip(1, "1")
    rest = [row.get("a") for row in rows_of(again.pieces()) if row is not None]
    assert rest == [row.get("a") for row in rows[1:] if row is not None]


@pytest.mark.parametrize(
    "url",
    [
        "redis://",
        "redis://localhost",
        "amqp://localhost/visits",
        "redis://localhost:x/visits",
        "nats:///visits",
    ],
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(StreamError):
        broker_of(url)


def test_messages_are_objects_of_json() -> None:
    assert object_of(b'{"a": 1}') == {"a": 1}
    assert [object_of(text) for text in (b"[1]", b"\xff", b"{", b"[" * 100_000, b"")] == [None] * 5
