"""The durable budget: charge first, then compute, then settle; nothing is ever changed or given back."""

from __future__ import annotations

import io
import os
import secrets
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Self

from discreet.accounting.loss import Loss
from discreet.errors import InvalidParameter, LedgerCorrupt, LedgerError, tell
from discreet.ledger.admission import admit_charge, last_charge, priced, rho_of, spent_of
from discreet.ledger.chain.book import after
from discreet.ledger.chain.entry import (
    Account,
    Charge,
    Entry,
    Head,
    Posting,
    corrupt,
    digest_of,
    make_entry,
    text,
)
from discreet.ledger.chain.verify import check, verify
from discreet.ledger.faults import DiskFullError, SettledElsewhere, UnknownOutcome
from discreet.ledger.room import Room, Rooms
from discreet.ledger.store import PAGE, LedgerRows, Needs, Store, copied, entries_after, entries_of, pieces
from discreet.ledger.turn import WAIT, turn

if TYPE_CHECKING:
    from discreet.accounting.events import Event


class Ledger:
    """An append-only, hash-chained record of the questions, their costs and their answers.

    Privacy: the loss spent from an account is the sum of the losses of its charges, or the price of them by the rule of
    the account (`discreet.accounting.tally`): an upper bound on the loss of everything answered, because an
    answer is computed only after its charge is durable and a charge is never taken back. It is at most the account's
    limit: the check and the charge are one transaction, and no other writer comes in between. Sums are exact, of losses
    that are kept as multiples of 1/UNIT (see `Loss`), rounded up.

    An answer is free only once it is settled: of two askers of the same question at the same time the second
    waits for the first, if both use `turn`. A crash between charge and settlement stays charged.

    The chain shows an entry that was altered, removed, inserted or moved. The second place, a small file beside the
    ledger, shows entries that were cut off or lost, and an old copy. The two are compared when the ledger is opened and
    at each charge, with the totals that the postings say, and nothing is charged where they do not agree. Neither can
    show an old copy of both files, or both written anew. Note `head()` elsewhere, and `verify(noted)` will show that
    too. Whoever may write the files is trusted with the budget.

    A ledger may be shared by threads. After a fork, a ledger in a file works in parent and child (no
    connection is carried across); one in memory works in the parent only.

    Attributes:
        durable: whether entries outlive the process.
        where: the file, `postgresql://server:port/database#schema`, or `memory`; never a user name or password.
        made: whether this opening made it; whoever expected an older one has lost the record of all that was spent.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._salts: dict[str, int] = {}  # they never change
        self._rooms = Rooms()
        self._rejected: LedgerCorrupt | None = None  # the fault that `verify` found
        self.durable, self.where, self.made = store.durable, store.where, store.made

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger({self.where!r})"

    def charge(
        self,
        question: str,
        loss: Loss | Event,
        accounts: Sequence[Account],
        *,
        guarantee: str = "",
        description: str = "",
        admit: Callable[[Entry | None], None] | None = None,
        once: bool = False,
    ) -> Charge:
        """Charge every account or none, durably, before any data is touched.

        Args:
            question: the canonical question: same text, same answer. It names the data version, the loss and
                the policy as far as they matter.
            loss: the loss of the answer; rounded up to a multiple of 1/UNIT. Or the event that is released: it is
                priced here, and kept, so that `verify` prices it again.
            accounts: the budgets that it counts against, at least one; each name once.
            guarantee: which guarantee is bought (the unit, the neighbours, the caps), as canonical JSON, so that
                charges of different guarantees can be told apart. The ledger keeps it under the hash and reads
                nothing in it.
            description: the user and the question, in words, for the steward who reads the ledger; kept under the hash
                too.
            admit: called within the transaction, with the last charge of each account or None; any error that it
                raises refuses the charge.
            once: whether nothing is charged for a question that is settled, by this process or another one.

        Raises:
            SettledElsewhere: it is settled, and `once` is true. Nothing is written.
            BudgetExceeded: an account, the first such in the order given, has too little left. Nothing is
                written.
            LedgerError: the ledger cannot be written, or is busy for too long. Give no answer. Its `charged` is the
                loss where a server was lost in the middle of the commit, and the charge may stand.
            LedgerCorrupt: an entry that the charge builds on was altered.
            UnsupportedEvent: the event has no loss.
            InvalidParameter: no account, one name twice, or a text that cannot be stored.

        Example:
            >>> from discreet.ledger import open_ledger
            >>> ledger = open_ledger(None)
            >>> visits = Account("data set visits", Loss(3))
            >>> charge = ledger.charge("count of visits", Loss(0.5), [visits])
            >>> ledger.settle(charge, b"1042")
            >>> ledger.replay("count of visits"), str(ledger.spent("data set visits"))
            (b'1042', 'epsilon 0.5')
        """
        text("The question", question)
        text("The guarantee of a charge", guarantee, empty=True)
        text("The description of a charge", description, empty=True)
        names = [account.name for account in accounts]
        if not names or len(set(names)) < len(names):
            raise InvalidParameter(
                "A charge needs at least one account, and each account once.", "Name the budgets to charge."
            )
        if self._rejected is not None:
            raise LedgerCorrupt(self._rejected.cause, self._rejected.fix)
        exact, event = priced(loss)
        cost, rho = exact.rounded_up(), rho_of(loss)

        def work(rows: LedgerRows) -> Entry:
            if once and rows.has_settled(question):
                raise SettledElsewhere
            if admit is not None:
                for account in accounts:
                    admit(last_charge(rows, account.name))
            postings = [admit_charge(rows, account, cost, rho) for account in accounts]
            book = rows.book()
            entry = make_entry(
                book.head,
                "charge",
                question,
                totals=after(book, {line.account: line.tally for line in postings}),
                postings=postings,
                guarantee=guarantee,
                event=event,
                description=description,
            )
            rows.append(entry)
            return entry

        try:
            entry = self._store.write(work, Needs(tuple(names)))
        except UnknownOutcome as error:
            tell(error, cost)
            raise
        return Charge(entry.number, entry.hash, question, cost)

    def room(self, size: int) -> Room:
        """Reserve room for an answer on the ledger's disk, before the charge; hand it to `settle`.

        On the disk of a server nothing is reserved.

        Raises:
            LedgerError: there is none. Nothing was charged.
        """
        return Room(self.where if os.path.isabs(self.where) else None, size, self._rooms)

    def settle(self, charge: Charge, answer: bytes | BinaryIO, room: Room | None = None) -> None:
        """Keep the answer to a charge, durably, so that it can be replayed. Show it to nobody before.

        Args:
            charge: the charge that `charge` returned.
            answer: the released answer: noisy, never a data value. A large one may be a file, which is read piece by
                piece.
            room: that was reserved for it; it is given back where the disk is full without it.

        Raises:
            LedgerError: the charge is settled already or is not of this ledger, or the ledger cannot be
                written. The charge stays.
            LedgerCorrupt: an entry that the settlement builds on was altered.
            InvalidParameter: the answer is neither bytes nor a file of bytes.
        """
        file = io.BytesIO(answer) if isinstance(answer, bytes) else answer
        if not hasattr(file, "seek") or hasattr(file, "encoding"):  # a file of text has one
            raise InvalidParameter("The answer to settle is not bytes.", "Serialise it first.")

        def work(rows: LedgerRows) -> None:
            found = rows.charged(charge.number)
            if found is None or (found.hash, found.question) != (charge.hash, charge.question):
                raise LedgerError("This charge is not in this ledger.", "Settle where you charged.")
            if found.settled:
                raise LedgerError("This charge is settled already.", "Charge again for a new answer.")
            book = rows.book()
            settled = make_entry(
                book.head,
                "settle",
                found.question,
                totals=book.digest,
                settles=charge.number,
                digest=digest_of(pieces(file)),
            )
            rows.append(settled, file)

        try:
            self._store.write(work, Needs(charge=charge.number))
        except DiskFullError:
            if room is None or not room.give_back():
                raise
            self._store.write(work)

    def replay(self, question: str) -> bytes | None:
        """Return the settled answer of the same question, the earliest one, or None. It costs nothing.

        Privacy: showing a released answer again is post-processing (Dwork and Roth 2014, proposition 2.1).

        Raises:
            LedgerError: the ledger cannot be read.
            LedgerCorrupt: the answer or its entry was altered.
        """
        out = io.BytesIO()
        return out.getvalue() if self.replay_into(question, out) else None

    def replay_into(self, question: str, into: BinaryIO) -> bool:
        """Write the settled answer of the same question into a file, piece by piece; see `replay`.

        Args:
            question: in the words of its charge.
            into: an empty file; when this raises, the content of the file is worth nothing.

        Returns:
            Whether there is such an answer.

        Raises:
            LedgerError: the ledger cannot be read.
            LedgerCorrupt: the answer or its entry was altered.
        """
        text("The question", question)

        def work(rows: LedgerRows) -> bool:
            into.seek(0)
            into.truncate()
            entry = rows.first_settlement(question)
            if entry is None:
                return False
            check(entry)
            digest = digest_of(copied(rows.answer(entry.number), into))
            if entry.question != question or digest != entry.digest:
                raise corrupt(entry.number, "holds an answer that was altered")
            return True

        return self._store.has_settled(question) is not False and self._store.read(work)

    def turn(self, question: str, wait: float = WAIT) -> AbstractContextManager[bool]:
        """Be the only one to ask a question, across threads and processes, or wait for whoever does.

        Look for a settled answer once inside: whoever had the turn before may have left one. When the holder ends,
        in any way, the next has the turn.

        Args:
            question: the canonical question.
            wait: seconds to wait at most; then go on without, and pay again.

        Example:
            >>> from discreet.ledger import open_ledger
            >>> ledger = open_ledger(None)
            >>> with ledger.turn("count of visits"):
            ...     ledger.replay("count of visits")
        """
        return turn(self._turns, question, wait, self._store.turns)

    @cached_property
    def _turns(self) -> str:
        return os.path.realpath(self.where) if self.durable else f"memory {id(self._store)}"

    def spent(self, account: str | Account, extra: Loss | Event | None = None) -> Loss:
        """Return the loss spent from an account; zero before the first charge.

        Args:
            account: an account, for the price of the past by its rule and its limit; or its name, for the price by the
                rule and the limit of its latest charge.
            extra: a loss or an event that is not charged yet, to see the loss spent with it.
        """
        name = account if isinstance(account, str) else account.name
        return spent_of(self._store.read(lambda rows: rows.tally(name)), account, extra)

    def posting(self, account: str) -> Posting | None:
        """The latest posting of an account, with its totals; None before the first."""
        return self._store.read(lambda rows: rows.tally(account))

    def standings(
        self, accounts: Sequence[Account], extra: Loss | Event | None = None, *, here: bool = False
    ) -> list[tuple[Entry | None, Loss]]:
        """Return `latest` and `spent` of each account, all at one moment.

        Args:
            accounts: the accounts.
            extra: as for `spent`.
            here: whether the moment is that of the last entry that this process read or wrote; else it is now.
        """
        found = self._store.look(
            lambda rows: [(last_charge(rows, a.name), rows.tally(a.name)) for a in accounts], here=here
        )
        return [(last, spent_of(line, a, extra)) for a, (last, line) in zip(accounts, found, strict=True)]

    def entries(self, account: str | None = None) -> list[Entry]:
        """List all entries in order, without answers; of one account, its charges and their settlements."""
        return entries_of(self._store, account)

    def settled_after(self, number: int) -> list[Entry]:
        """List the settlements above a number in order, without answers."""
        return [entry for entry in entries_after(self._store, number) if entry.settles is not None]

    def has_settled(self, question: str, *, here: bool = False) -> bool:
        """Return whether the same question is given an answer that was charged before.

        Args:
            question: in the words of its charge.
            here: whether the ledger is read no further than this process did last, where that is known.
        """
        known = self._store.has_settled(question, here=here)
        if known is None:
            return self._store.read(lambda rows: rows.first_settlement(question)) is not None
        return known

    def latest(self, account: str) -> Entry | None:
        """Return the last charge of an account that gives its guarantee; None before the first."""
        return self._store.read(lambda rows: last_charge(rows, account))

    def since(self, number: int, count: int = PAGE, *, here: bool = False) -> list[Entry]:
        """List the entries behind one in order, without answers; of more than `count`, the first; `here` as above."""
        return self._store.look(lambda rows: rows.after(number, count), here=here)

    def newest(self, count: int) -> list[Entry]:
        """List the last entries in order, at most so many, without answers."""
        return self._store.read(lambda rows: rows.after(max(0, rows.book().head.number - count), count))

    def head(self) -> Head:
        """Return number and hash of the last entry, to be noted elsewhere; number 0 when there is none."""
        return self._store.read(lambda rows: rows.book().head)

    def verify(self, noted: Head | None = None) -> int:
        """Recompute every hash, price, total and answer digest, and return the number of entries.

        Others may charge meanwhile. Once it found something, this object charges nothing more.

        Args:
            noted: a head that was noted earlier; then its entry must still be there, unchanged.

        Raises:
            LedgerCorrupt: names the first entry that does not fit.
            LedgerError: the ledger cannot be read.
        """
        try:
            return verify(self._store, noted, page=PAGE)
        except LedgerCorrupt as error:
            if noted is None:  # a head that was mistyped says nothing about the ledger
                self._rejected = error
            raise

    def salt(self, dataset: str) -> int:
        """Return the secret of a data set, 0 to 2^64 - 1: drawn from the operating system once, then kept.

        It keys the choice of a unit's rows. It is no entry, so that no hash that is shown depends on it.

        Raises:
            LedgerError: the ledger cannot be written.
        """
        text("The name of a data set", dataset)

        def work(rows: LedgerRows) -> int:
            salt = rows.salt(dataset)
            if salt is None:
                salt = secrets.randbits(64)
                rows.add_salt(dataset, salt)
            return salt

        if dataset not in self._salts:
            known = self._store.read(lambda rows: rows.salt(dataset))
            self._salts[dataset] = self._store.write(work) if known is None else known
        return self._salts[dataset]

    def close(self) -> None:
        """Close the ledger; closing twice is allowed."""
        self._store.close()
        self._rooms.close()
