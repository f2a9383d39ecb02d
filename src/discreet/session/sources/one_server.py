"""A ledger on the PostgreSQL server of the data: each charge is a change of the data there, for no table has a mark."""

from __future__ import annotations

import logging
import os

from discreet.engines.engine import Engine
from discreet.errors import DiscreetError


def tell_of_one_server(engine: Engine, place: str | os.PathLike[str] | None) -> None:
    """Tell the log where no question asked again will be free, as its ledger writes to the server of the data.

    Args:
        engine: of the data.
        place: of the ledger, which is open.
    """
    ledger = _server_of_ledger(place) if isinstance(place, str) and "://" in place else ""
    if ledger and ledger == _server(getattr(engine, "place", None) or ""):
        logging.getLogger("discreet.ledger").warning(
            "the ledger is on the PostgreSQL server of the data: each charge counts as a change of the data, so that "
            "the same question is charged again; keep it on another server, or in a file"
        )


def _server_of_ledger(place: str) -> str:
    """The server of a ledger; empty where it is in no PostgreSQL, or cannot be asked."""
    from discreet.ledger.postgres.address import is_address, read_address

    if not is_address(place):
        return ""
    from discreet.engines.postgres.tables import place_of
    from discreet.ledger.postgres.dialling import dial, hang_up

    try:
        connection = dial(read_address(place))
    except DiscreetError:
        return ""
    try:
        return _server(place_of(connection))
    finally:
        hang_up(connection, os.getpid())


def _server(place: str) -> str:
    """A database's place without the database."""
    return place.rpartition("/")[0]
