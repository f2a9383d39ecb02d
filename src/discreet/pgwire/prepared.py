"""Prepared statements and portals: a statement, then its values, then its result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.errors import Busy
from discreet.pgwire import messages as wire
from discreet.pgwire.answers import Result, ResultColumn
from discreet.records import dataclass

MOST_KEPT = 100
"""Prepared statements of a connection, and results that wait."""


@dataclass
class PreparedStatement:
    """A prepared statement.

    Attributes:
        query: its text.
        types: the numbers of the types of its parameters.
    """

    query: str
    types: tuple[int, ...]


@dataclass
class Portal:
    """A statement with its values.

    Attributes:
        text: with the values in it.
        formats: of the columns of the result, as the client sent them.
        columns: once they were told.
        result: once it was asked.
        sent: how many rows were sent.
    """

    text: str
    formats: tuple[int, ...]
    columns: Sequence[ResultColumn] | None = None
    result: Result | None = None
    sent: int = 0


def described(columns: Sequence[ResultColumn], formats: Sequence[int]) -> bytes:
    """The description of columns, or the message that there are none."""
    if not columns:
        return wire.message(b"n")
    forms = [value_at(formats, place, 0, spread=True) for place in range(len(columns))]
    return wire.described([(column.name, column.kind.oid, column.kind.size) for column in columns], forms)


def value_at(values: Sequence[int], place: int, default: int, spread: bool = False) -> int:
    """The value of a place; one that is alone may stand for all."""
    if spread and len(values) == 1:
        return values[0]
    return values[place] if place < len(values) else default


def unsigned(number: int) -> bytes:
    """The number of a type, which has no sign."""
    return wire.int32(number - (1 << 32) if number >= 1 << 31 else number)


def see_room(kept: dict[str, Any], name: str) -> None:
    """See that there is room for one more.

    Raises:
        Busy: there is none.
    """
    if name not in kept and len(kept) >= MOST_KEPT:
        raise Busy(f"A connection keeps at most {MOST_KEPT} of these.", "Close some of them.")
