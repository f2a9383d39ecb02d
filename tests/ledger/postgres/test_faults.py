"""Errors of the server are told in our words, and its own, which may quote an answer, are withheld."""

from __future__ import annotations

import psycopg
import pytest

from discreet.ledger.faults import DiskFullError
from discreet.ledger.postgres.faults import explain

SECRET = "1042 patients"


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (psycopg.errors.LockNotAvailable, "busy"),
        (psycopg.errors.DiskFull, "disk of the server is full"),
        (psycopg.errors.TooManyConnections, "without connections"),
        (psycopg.errors.ReadOnlySqlTransaction, "read-only"),
        (psycopg.errors.InsufficientPrivilege, "may not be written by this user"),
        (psycopg.errors.UndefinedTable, "is not there"),
        (psycopg.errors.UniqueViolation, "refused a row"),
        (psycopg.errors.DataCorrupted, "XX001"),
        (psycopg.OperationalError, "OperationalError"),
    ],
)
def test_the_words_are_ours(kind: type[psycopg.Error], words: str) -> None:
    said = explain(kind(f"cannot write {SECRET}"), "postgresql://h:1/d#s")
    assert words in str(said)
    assert SECRET not in str(said)
    assert isinstance(said, DiskFullError) == (kind is psycopg.errors.DiskFull)
