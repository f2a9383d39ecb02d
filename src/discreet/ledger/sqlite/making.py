"""Open the two files of a ledger, or make them: the head first, so that no ledger is ever without one."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import sqlite3

from discreet.errors import LedgerError
from discreet.ledger.chain.book import Book
from discreet.ledger.chain.entry import FORMAT, genesis
from discreet.ledger.faults import busy
from discreet.ledger.sqlite.head import HeadFile, beside, gone, head_of, missing, sync_folder
from discreet.ledger.sqlite.schema import MAKE


def opened(where: str, timeout: float) -> tuple[sqlite3.Connection, HeadFile, str, bool]:
    """Open a ledger's database and its head, which is locked, or make both.

    Returns:
        The connection, the head file, the ledger's identity, and whether it was made.

    Raises:
        LedgerError: one of the two is missing, or they do not belong together; or both are, and others of their files
            are there.
        OSError: a file cannot be opened.
        sqlite3.Error: likewise.
    """
    if os.path.isdir(where):
        raise IsADirectoryError(errno.EISDIR, "a folder")
    place, connection, head, made = head_of(where), None, None, False
    try:
        if _size(where):
            connection = connected(where, timeout)
            if format_of(connection, where) is None and not os.path.exists(place):
                raise LedgerError(
                    f"The ledger at {where} is a file of another kind.",
                    "Give the path of a ledger or of a new file.",
                )
            if not os.path.exists(place):
                raise missing(place)
            # Says so when the file is read-only, before the head is touched.
            connection.execute("BEGIN IMMEDIATE")
            if format_of(connection, where):
                connection.execute("DELETE FROM discreet_salt WHERE FALSE")
            connection.execute("COMMIT")
        else:
            _see_new(where, place)
        head = HeadFile(place, make=connection is None)
        if not head.lock(timeout):
            raise busy(where)
        if connection is None:
            connection, made = _made(where, timeout, head)
        elif format_of(connection, where) is None:
            made = _fill(connection, head, where)
        identity = str(connection.execute("SELECT identity FROM discreet_ledger").fetchone()[0])
    except BaseException:
        if head is not None:
            head.close()
        if connection is not None:
            connection.close()
        raise
    return connection, head, identity, made


def connected(where: str, timeout: float) -> sqlite3.Connection:
    """Connect to a database that is there, with a journal that keeps every commit in the file itself."""
    connection = sqlite3.connect(where, timeout=timeout, isolation_level=None, check_same_thread=False)
    try:
        # The journal is kept and its header zeroed: nothing depends on a folder's entry reaching the disk.
        mode = connection.execute("PRAGMA journal_mode = PERSIST").fetchone()[0]
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA fullfsync = ON")  # macOS: through the drive's own cache
        if mode != "persist" or connection.execute("PRAGMA synchronous").fetchone()[0] != 3:
            raise LedgerError(
                f"The ledger at {where} was switched to another kind of journal.",
                "Close the other programs that have it open, and open it again.",
            )
    except BaseException:
        connection.close()
        raise
    return connection


def _see_new(where: str, place: str) -> None:
    """See that no ledger was here whose two files were removed. It had a head before it had any other file."""
    rest = [path for path in beside(where) if os.path.exists(path)]
    if rest and not _size(place) and not _size(where):
        raise LedgerError(
            f"The ledger at {where} is gone with its head. There was one: {' and '.join(rest)} stayed behind.",
            "Put the newest copy of both back. To begin a new ledger, in which nothing is spent, remove that, too.",
        )


def make_file(where: str) -> None:
    """Make an empty file where there is none."""
    # Questions and salts are nobody else's business. SQLite's side files take the same mode.
    with contextlib.suppress(FileExistsError):
        os.close(os.open(where, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _made(where: str, timeout: float, head: HeadFile) -> tuple[sqlite3.Connection, bool]:
    """A connection to a file that was empty, and whether the tables were made by this process."""
    made = False
    if not _size(where) and head.empty():
        identity = secrets.token_hex(16)
        head.write(identity, Book(genesis(identity), {}), both=True)
    make_file(where)
    connection = connected(where, timeout)
    try:
        if format_of(connection, where) is None:
            made = _fill(connection, head, where)
        elif head.empty():
            raise missing(head.path)
    except BaseException:
        connection.close()
        raise
    return connection, made


def _fill(connection: sqlite3.Connection, head: HeadFile, where: str) -> bool:
    """Make the tables, unless the head says that there were some."""
    noted = head.read()
    if noted.book.head.number:
        raise gone(where, noted.book.head.number)
    fill(connection, noted.identity, where)
    return True


def fill(connection: sqlite3.Connection, identity: str, where: str) -> None:
    """Make the tables of a ledger in an empty file. The caller holds the lock of its head."""
    connection.execute("BEGIN IMMEDIATE")
    for statement in MAKE:
        connection.execute(statement)
    connection.execute("INSERT INTO discreet_ledger (format, identity) VALUES (?, ?)", (FORMAT, identity))
    connection.execute("COMMIT")
    sync_folder(os.path.realpath(where))


def format_of(connection: sqlite3.Connection, where: str) -> int | None:
    """The format of the ledger in a file; None when there is none in it."""
    made = "SELECT 1 FROM sqlite_master WHERE name = 'discreet_ledger'"
    if connection.execute(made).fetchone() is None:
        return None
    found = connection.execute("SELECT format FROM discreet_ledger").fetchone()
    if found != (FORMAT,):
        raise LedgerError(
            f"The ledger at {where} is of a format that this version does not know.",
            "Use the version of discreet that wrote it or a later one, or begin a new ledger whose budget is the rest "
            "of this one's.",
        )
    return FORMAT


def _size(where: str) -> int:
    try:
        return os.stat(where).st_size
    except FileNotFoundError:
        return 0
