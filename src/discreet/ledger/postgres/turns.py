"""Turns among hosts: an advisory lock of the server for each question at work, which ends with its connection."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from typing import TYPE_CHECKING, Any

from discreet.ledger.postgres.address import PostgresSchema
from discreet.ledger.postgres.dialling import dial, hang_up

if TYPE_CHECKING:
    import psycopg

_PAUSE = 0.05


class AdvisoryTurns:
    """Locks of questions on a connection of their own."""

    def __init__(self, address: PostgresSchema) -> None:
        self._address = address
        self._connection: psycopg.Connection[Any] | None = None
        self._process = 0
        self._mutex = threading.Lock()

    def take(self, question: str, deadline: float) -> bool:
        """Have the turn of a question until `give`; False where it cannot be had in time.

        The caller sees to it that no other thread of this process asks for the same one.
        """
        key = self._key(question)
        while (had := self._ask("SELECT pg_try_advisory_lock(%s)", key)) is False:
            if time.monotonic() > deadline:
                return False
            time.sleep(_PAUSE)
        return had is True

    def give(self, question: str) -> None:
        """Let the next one have it."""
        self._ask("SELECT pg_advisory_unlock(%s)", self._key(question))

    def close(self) -> None:
        """End all turns of this process."""
        with self._mutex:
            connection, self._connection = self._connection, None
            hang_up(connection, self._process)

    def forget(self) -> None:
        """Leave a parent's connection alone."""
        self._mutex = threading.Lock()
        if self._connection is not None:
            os.close(self._connection.fileno())
        self._connection = None

    def _key(self, question: str) -> int:
        digest = hashlib.sha256(f"discreet {self._address.schema} {question}".encode()).digest()
        return int.from_bytes(digest[:8], "big", signed=True)

    def _ask(self, sql: str, key: int) -> bool | None:
        """The server's answer; None where there is none, as a turn is a courtesy."""
        with self._mutex:
            try:
                if self._connection is None or self._connection.closed:
                    self._process = os.getpid()
                    self._connection = dial(self._address)
                row = self._connection.execute(sql, (key,)).fetchone()
            except Exception:
                hang_up(self._connection, self._process)
                self._connection = None
                return None
        return row == (True,)
