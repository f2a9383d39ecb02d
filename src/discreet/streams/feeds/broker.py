"""Rows from a message broker, through one small interface: each row has a place, and rows behind a place can be read.

Of the three clients Redis and NATS are tested against real servers, and Kafka's against a cluster of its own client.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias
from urllib.parse import SplitResult

import pyarrow as pa

from discreet.errors import StreamError
from discreet.streams.feeds.text import Piece

Row: TypeAlias = "Mapping[str, Any] | None"

MOST = 1 << 14
"""So many rows are asked for at once."""
WAIT = 0.2
"""Seconds that a broker waits for rows where there are none."""
_KINDS = (pa.string(), pa.int64(), pa.float64(), pa.bool_(), pa.null())


class Broker(Protocol):
    """A log of rows at a broker."""

    def after(self, place: str, most: int, wait: float) -> Sequence[tuple[str, Row]]:
        """The next rows behind a place, each with its own place, in order; none where none came in time.

        Args:
            place: of the last row that was read; empty before the first.
            most: so many at most.
            wait: seconds.

        Raises:
            StreamError: the broker does not answer, or has no such log, or one that ends before the place.
        """

    def close(self) -> None:
        """Leave the broker."""


class BrokerFeed:
    """The rows of a broker, and the place behind the last one, which the broker knows.

    Attributes:
        read: how many rows were read.
        digest: the place; empty before the first.
    """

    def __init__(self, broker: Broker, needed: list[str]) -> None:
        self._broker = broker
        self._needed = needed
        self.read = 0
        self.digest = ""

    def look(self) -> None:
        """Nothing can be seen before a charge: the rows of a broker have no schema."""

    def skip(self, read: int, digest: str) -> None:
        """Go to the place up to which rows were counted before."""
        if read:
            self.read, self.digest = read, digest

    def pieces(self) -> Iterator[Piece]:
        """The rows that are there.

        Raises:
            StreamError: the broker does not answer.
        """
        while found := self._broker.after(self.digest, MOST, WAIT):
            self.read += len(found)
            self.digest = found[-1][0]
            rows = [row for _, row in found]
            table = self._table(rows)
            yield rows if table is None else table

    def _table(self, rows: list[Row]) -> pa.Table | None:
        """Rows as columns, where each column has values of one kind."""
        try:
            there = [row for row in rows if row is not None]
            table = pa.table({name: pa.array([row.get(name) for row in there]) for name in self._needed})
        except (pa.ArrowException, OverflowError, UnicodeError):
            return None
        mixed = any(
            isinstance(row.get(name), int)
            for name in self._needed
            if table.schema.field(name).type == pa.float64()
            for row in there
        )
        return None if mixed or any(kind not in _KINDS for kind in table.schema.types) else table


def address(where: SplitResult, port: int) -> tuple[str, int]:
    """Host and port of an address.

    Raises:
        StreamError: the port is none.
    """
    try:
        return where.hostname or "", where.port or port
    except ValueError:
        raise StreamError("The address names no port.", "Write redis://host:6379/stream.") from None


def missing(package: str) -> StreamError:
    """The error where a client is not installed."""
    return StreamError(f"The package {package} is not installed.", f"Install it: pip install {package}")


def silent(words: str) -> StreamError:
    """The error where a broker does not answer."""
    return StreamError(
        f"{words} does not answer, or refuses.", "See that it runs, and that the address is right."
    )


def object_of(text: bytes) -> Row:
    """A message as a row: one object of JSON; None for all else."""
    try:
        found = json.loads(text.decode())
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
