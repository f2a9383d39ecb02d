"""Take over a ledger whose head is missing, older or newer: knowingly, and never with more budget than before.

A backup that was put back knows less than the head beside it: the head's totals are then charged, in an entry of its
own. Where the head is lost, only people can tell the loss spent since, so they must. A head whose ledger is gone holds
all totals: a new ledger begins with them.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction

from discreet.accounting.loss import Loss
from discreet.accounting.tally import Tally
from discreet.errors import LedgerError
from discreet.ledger.chain.book import Book, after
from discreet.ledger.chain.entry import Head, Posting, genesis, make_entry
from discreet.ledger.chain.verify import verify
from discreet.ledger.faults import busy
from discreet.ledger.postgres.address import is_address
from discreet.ledger.sqlite.faults import explain
from discreet.ledger.sqlite.head import HeadFile, Noted, head_of
from discreet.ledger.sqlite.making import connected, fill, format_of, make_file
from discreet.ledger.sqlite.rows import SqlRows
from discreet.ledger.store import NOTHING, LedgerRows, Needs, Result
from discreet.records import dataclass

TIMEOUT = 30.0


@dataclass(frozen=True)
class Adopted:
    """The result of taking over a ledger.

    Attributes:
        head: the last entry now.
        charged: the loss charged to each account for entries that are gone; empty where none was.
    """

    head: Head
    charged: Mapping[str, Loss]


def adopt(
    path: str | os.PathLike[str],
    *,
    lost: Loss | None = None,
    accounts: Iterable[str] = (),
    timeout: float = TIMEOUT,
) -> Adopted:
    """Make a ledger and its head agree again, and charge the loss that the ledger does not know.

    Args:
        path: of the ledger, whose entries must be sound; it may be gone where its head is there.
        lost: the loss that may have been spent and that neither file knows; needed where the head is missing or half
            unreadable. It is charged to every account.
        accounts: which accounts to charge with it, beside those that the ledger knows.
        timeout: seconds to wait for other writers.

    Raises:
        LedgerError: there is neither a ledger nor a head; the head is another ledger's; or `lost` is needed and not
            given.
        LedgerCorrupt: an entry of the ledger does not fit; only a backup helps then.

    Privacy: no total ever falls. Where the head names more entries than the ledger has, every account gets the larger
    of the two totals; where the two are branches of one past, the sum.
    """
    if is_address(os.fspath(path)):
        raise LedgerError(
            "A ledger in PostgreSQL has its head in the same database, and nothing to be adopted.",
            "Restore the database from its newest backup; where charges are lost, lower the budget of the policy by "
            "the loss that may have been spent.",
        )
    where = os.path.abspath(path)
    problem: LedgerError | None = None
    try:
        return _adopted(where, lost, set(accounts), timeout)
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
        problem = explain(error, where)
    raise problem


def _adopted(where: str, lost: Loss | None, accounts: set[str], timeout: float) -> Adopted:
    if not os.path.isfile(where) or not os.path.getsize(where):
        _begin_again(where, timeout)
    with contextlib.ExitStack() as stack:
        connection = connected(where, timeout)
        stack.callback(connection.close)
        if format_of(connection, where) is None:
            raise LedgerError(f"{where} is no ledger.", "Give the path of one.")
        head = HeadFile(head_of(where), make=True)
        stack.callback(head.close)
        if not head.lock(timeout):
            raise busy(where)
        (identity,) = connection.execute("SELECT identity FROM discreet_ledger").fetchone()
        noted = _noted(head, identity)
        connection.execute("BEGIN IMMEDIATE")
        rows = SqlRows(connection, Book(genesis(identity), {}), 0)
        verify(_Once(rows), None, page=256)
        book = rows.book()
        if noted is None or noted.torn:
            if lost is None:
                raise LedgerError(
                    "The ledger's head is missing or unreadable, so nothing tells the loss spent after its last entry.",
                    "Give the loss that may have been spent, with --lost EPSILON; 0 if you know that none was.",
                )
        elif _contains(rows, book, noted.book.head) and lost is None:
            connection.execute("COMMIT")
            return Adopted(book.head, {})
        totals = _totals(rows, book, noted)
        if lost is not None:
            extra = lost.rounded_up()
            totals = {name: totals.get(name, Tally()).plus(extra) for name in {*totals, *accounts}}
        if not totals:
            raise LedgerError("The ledger knows no account to charge.", "Name one.")
        lines = [_posting(rows, book, name, tally) for name, tally in sorted(totals.items())]
        entry = make_entry(
            book.head, "adopt", "adopted", totals=after(book, totals), postings=lines,
            description="taken over with what may have been spent in entries that are gone",
        )  # fmt: skip
        rows.append(entry)
        rows.flush()
        connection.execute("COMMIT")
        reached = rows.book()
        head.write(identity, reached, both=True)
        return Adopted(reached.head, {line.account: line.loss for line in lines})


def _begin_again(where: str, timeout: float) -> None:
    """Make an empty ledger of the identity that the head of a lost one names."""
    if not os.path.isfile(head_of(where)):
        raise LedgerError(
            f"There is neither a ledger {where} nor its head.", "Put the newest copy of both back first."
        )
    with contextlib.ExitStack() as stack:
        head = HeadFile(head_of(where))
        stack.callback(head.close)
        if not head.lock(timeout):
            raise busy(where)
        noted = None if head.empty() else head.read()
        if noted is None:
            raise LedgerError(
                f"There is no ledger {where}, and its head is empty.", "Put the newest copy of both back."
            )
        make_file(where)
        connection = connected(where, timeout)
        stack.callback(connection.close)
        if format_of(connection, where) is None:
            fill(connection, noted.identity, where)


def _noted(head: HeadFile, identity: str) -> Noted | None:
    if head.empty():
        return None
    try:
        noted = head.read()
    except LedgerError:
        return None
    if noted.identity != identity:
        raise LedgerError(
            f"The head {head.path} belongs to another ledger.",
            "Put the ledger's own head back; where it is lost, move this one away and adopt with --lost EPSILON.",
        )
    return noted


def _contains(rows: SqlRows, book: Book, head: Head) -> bool:
    if head.number == 0:
        return head == rows.genesis()
    found = rows.after(head.number - 1, 1)
    return head.number <= book.head.number and found[0].hash == head.hash


def _totals(rows: SqlRows, book: Book, noted: Noted | None) -> dict[str, Tally]:
    if noted is None or _contains(rows, book, noted.book.head):
        return dict(book.tallies)
    branched = noted.book.head.number <= book.head.number
    both = _sum if branched else _larger
    names = {*book.tallies, *noted.book.tallies}
    return {
        name: both(book.tallies.get(name, Tally()), noted.book.tallies.get(name, Tally())) for name in names
    }


def _larger(first: Tally, second: Tally) -> Tally:
    loss = Loss(max(first.loss.epsilon, second.loss.epsilon), max(first.loss.delta, second.loss.delta))
    return Tally(loss, max(first.squares, second.squares), max(first.count, second.count))


def _sum(first: Tally, second: Tally) -> Tally:
    return Tally(first.loss + second.loss, first.squares + second.squares, first.count + second.count)


def _posting(rows: SqlRows, book: Book, account: str, tally: Tally) -> Posting:
    before, line = book.tallies.get(account, Tally()), rows.tally(account)
    added = Loss(tally.loss.epsilon - before.loss.epsilon, tally.loss.delta - before.loss.delta)
    limit, rule = (line.limit, line.rule) if line else (tally.loss, "pure")
    return Posting(account, added, tally.loss, limit, rule, max(Fraction(0), tally.squares), tally.count)


class _Once:
    """One transaction as a store, for a walk along the chain."""

    durable, made, where, turns = True, False, "", None

    def __init__(self, rows: SqlRows) -> None:
        self._rows = rows

    def read(self, work: Callable[[LedgerRows], Result]) -> Result:
        return work(self._rows)

    def look(self, work: Callable[[LedgerRows], Result], *, here: bool = False) -> Result:
        return work(self._rows)

    def write(self, work: Callable[[LedgerRows], Result], needs: Needs = NOTHING) -> Result:
        return work(self._rows)

    def afresh(self) -> None:
        pass

    def has_settled(self, question: str, *, here: bool = False) -> bool | None:
        return None

    def close(self) -> None:
        pass
