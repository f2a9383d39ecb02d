"""Errors of the database are told in our words, and its own, which may quote an answer, are withheld."""

from __future__ import annotations

import errno
import sqlite3

import pytest

from discreet.errors import LedgerCorrupt, LedgerError
from discreet.ledger.faults import DiskFullError, busy
from discreet.ledger.sqlite.faults import explain

SECRET = "1042 patients"


def error(name: str) -> sqlite3.OperationalError:
    raised = sqlite3.OperationalError(f"cannot write {SECRET}")
    raised.sqlite_errorname = name
    return raised


@pytest.mark.parametrize(
    ("raised", "kind", "words"),
    [
        (error("SQLITE_BUSY_SNAPSHOT"), LedgerError, "busy"),
        (error("SQLITE_FULL"), DiskFullError, "disk is full"),
        (OSError(errno.ENOSPC, SECRET), DiskFullError, "disk is full"),
        (OSError(errno.EDQUOT, SECRET), DiskFullError, "disk is full"),
        (OSError(errno.EROFS, SECRET), LedgerError, "read-only"),
        (OSError(errno.EACCES, SECRET), LedgerError, "cannot be opened"),
        (error("SQLITE_CORRUPT_INDEX"), LedgerCorrupt, "damaged"),
        (UnicodeDecodeError("utf-8", SECRET.encode(), 0, 1, SECRET), LedgerCorrupt, "damaged"),
        (error("SQLITE_SOMETHING_NEW"), LedgerError, "SQLITE_SOMETHING_NEW"),
        (ValueError(SECRET), LedgerError, "ValueError"),
    ],
)
def test_an_error_is_told_without_its_own_words(raised: Exception, kind: type[Exception], words: str) -> None:
    told = explain(raised, "ledger.db")
    assert type(told) is kind
    assert words in told.cause
    assert "ledger.db" in told.cause
    assert told.fix
    assert SECRET not in str(told)


def test_a_thread_that_waits_too_long_is_told_so() -> None:
    assert "busy in another thread" in busy("ledger.db").cause
