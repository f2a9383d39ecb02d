"""Opening a ledger by its path or its url."""

from __future__ import annotations

import os

from discreet.escaping import name as shown_name
from discreet.ledger.chain.entry import text
from discreet.ledger.ledger import Ledger
from discreet.ledger.store import MemoryStore

TIMEOUT = 30.0
"""Seconds to wait for other writers. A charge takes milliseconds, so this is thousands of them."""


def exists(url: str) -> bool:
    """Whether there is a ledger at a path or a url, or files of one that is gone; looking makes none.

    Raises:
        LedgerError: the server of a url cannot be reached.
    """
    from discreet.ledger.postgres.address import is_address, read_address

    if not is_address(url):
        path = url.removeprefix("sqlite:///")
        return os.path.isfile(path) or any(map(os.path.isfile, _files(path)))
    from discreet.ledger.postgres.migrations import is_made

    return is_made(read_address(url))


def _files(path: str) -> tuple[str, ...]:
    """The other files of a ledger: where one of them is left, there was a ledger."""
    from discreet.ledger.sqlite.head import beside, head_of

    return head_of(path), *beside(path)


def named(url: str) -> str:
    """The place of a ledger as it may be shown: without credentials."""
    from discreet.ledger.postgres.address import is_address, read_address

    return read_address(url).where if is_address(url) else url


def open_ledger(
    url: str | os.PathLike[str] | None, *, timeout: float = TIMEOUT, may_read: bool = False
) -> Ledger:
    """Open a ledger, or make it; one that is made and outlives the process is told by the logger `discreet.ledger`.

    Args:
        url: a path or `sqlite:///path` for a SQLite file; None for a private ledger in memory, which ends
            with the process. The file's folder must exist, be writable, and be on a local disk; the head file
            beside it, `…-head`, belongs to it and goes where it goes. `postgresql://server/database#schema` for
            a ledger that processes on several hosts share, in the schema `discreet` where none is named.
        timeout: seconds to wait for other writers before `LedgerError`.
        may_read: whether a ledger that this user may read and not write is opened all the same, for all but charges,
            which then raise `LedgerError`.

    Raises:
        LedgerError: the file cannot be opened for writing or is no ledger; or its head is missing; or both are, while
            others of its files are there.
        LedgerCorrupt: the end of the ledger was altered, or it reaches less far than its head.
        InvalidParameter: an URL of another kind.

    Example:
        >>> with open_ledger(None) as ledger:
        ...     ledger.durable, ledger.verify()
        (False, 0)
    """
    name = None if url is None else os.fspath(url)
    if name is None or name == ":memory:":
        return Ledger(MemoryStore())
    if may_read and "://" not in name:
        from discreet.ledger.sqlite.reading import ReadingStore, only_readable

        if only_readable(name):
            return Ledger(ReadingStore(name, timeout))
    if "://" in name:
        from discreet.ledger.postgres.address import is_address, read_address

        if is_address(name):
            from discreet.ledger.postgres.store import PostgresStore

            address = read_address(text("The ledger's address", name))
            return _told(Ledger(PostgresStore(address, timeout, may_read)))
    from discreet.ledger.sqlite.store import open_sql  # SQLite and its fork handlers only where they are used

    return _told(Ledger(open_sql(text("The ledger's address", name), timeout)))


def _told(ledger: Ledger) -> Ledger:
    """The ledger; where it is new, that is said, as it may stand in the place of one that was removed."""
    if ledger.durable and ledger.made:
        import logging

        logging.getLogger("discreet.ledger").warning(
            "a new ledger was made: %s; nothing is spent yet", shown_name(ledger.where)
        )
    return ledger
