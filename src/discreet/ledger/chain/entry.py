"""The content of a ledger: entries, each sealed by a hash over all its fields and the entry before it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple, TypeAlias

from discreet.accounting.loss import Loss
from discreet.accounting.tally import Rule, Tally, price, rule_of
from discreet.errors import InvalidParameter, LedgerCorrupt
from discreet.records import dataclass

FORMAT = 4
"""The version of tables and hashes. A ledger of a later format is refused, never guessed at."""

Kind: TypeAlias = Literal["charge", "settle", "adopt"]


@dataclass(frozen=True)
class Account:
    """A budget that a question is charged to, as the policy states it now.

    Attributes:
        name: the name that the steward and the analyst read, such as `data set visits` or `analyst ana`; 1 to 200
            printable characters. Two names are the same account when they are the same text.
        limit: the most that may ever be spent.
        rule: how losses are composed: `pure` adds them up; `zcdp` and `pld` spend a part of the limit's delta to
            count less epsilon (`discreet.accounting.tally`).

    Raises:
        InvalidParameter: a name that is empty, too long or not printable; an unknown rule, or one that needs a
            delta where the limit has none below 1.
    """

    name: str
    limit: Loss
    rule: Rule = "pure"

    def __post_init__(self) -> None:
        text("The name of an account", self.name)
        if len(self.name) > 200 or not self.name.isprintable():
            raise InvalidParameter(
                "The name of an account is longer than 200 characters or not printable.",
                "Use a short printable name.",
            )
        if rule_of(self.rule) != "pure" and not 0 < self.limit.delta < 1:
            raise InvalidParameter(
                f"The accountant {self.rule} needs a delta below 1.", "Grant one, such as 1e-9, or use pure."
            )


@dataclass(frozen=True)
class Posting:
    """One account's line in a charge.

    Attributes:
        account: name of the account.
        loss: the loss that this charge adds.
        total: the sum of all losses with it, so that the next charge need not add up the past.
        limit: the account's limit at that time, rounded down to a multiple of 1/UNIT.
        rule: how the account composed losses at that time.
        squares: the sum of the squares of all epsilons with it.
        count: how many charges there were with it.
    """

    account: str
    loss: Loss
    total: Loss
    limit: Loss
    rule: Rule
    squares: Fraction
    count: int

    @property
    def tally(self) -> Tally:
        """The sums over all charges of the account, with this one."""
        return Tally(self.total, self.squares, self.count)

    @property
    def spent(self) -> Loss:
        """The loss spent from the account with it, by the rule and the delta of that time."""
        return price(self.rule, self.tally, self.limit.delta)


@dataclass(frozen=True)
class Entry:
    """One line of the ledger. It never changes.

    Attributes:
        number: 1, 2, 3, ... without a gap.
        time: when it was written, UTC, by this machine's clock.
        kind: `charge`, `settle` for the answer to an earlier charge, or `adopt` where a steward took over a ledger
            that had lost entries, for the loss that those had charged.
        question: the canonical question.
        postings: the accounts of a charge; empty for a settlement.
        settles: the number of the charge that a settlement answers; None for a charge.
        digest: SHA-256 of the answer of a settlement, hexadecimal; empty for a charge.
        guarantee: which guarantee the charge bought, as canonical JSON; empty for a settlement, or when none was said.
        event: the event that was released, as `accounting.event_text` writes it; its price is the loss that was
            charged. Empty for a settlement, or when nothing was said.
        description: the question and its user, in words; empty for a settlement, or when nothing was said.
        totals: SHA-256 of the totals of all accounts with it (`discreet.ledger.chain.book`), hexadecimal.
        previous: hash of the entry before it.
        hash: SHA-256 over all of the above, hexadecimal.
    """

    number: int
    time: datetime
    kind: Kind
    question: str
    postings: tuple[Posting, ...]
    settles: int | None
    digest: str
    guarantee: str
    event: str
    description: str
    totals: str
    previous: str
    hash: str

    @cached_property
    def seal(self) -> str:
        """The hash that its fields have."""
        return _seal(self)


class Head(NamedTuple):
    """The last entry's number and hash. Who notes it elsewhere can prove later that nothing was cut off."""

    number: int
    hash: str


@dataclass(frozen=True)
class Charge:
    """The receipt of a charge: the right to compute one answer and to settle it once.

    Attributes:
        number: number of the charge's entry.
        hash: hash of that entry, so that a receipt of another ledger is recognised.
        question: the canonical question that was charged.
        loss: the loss charged to every account.
    """

    number: int
    hash: str
    question: str
    loss: Loss


def make_entry(
    head: Head,
    kind: Kind,
    question: str,
    *,
    totals: str,
    postings: Sequence[Posting] = (),
    settles: int | None = None,
    digest: str = "",
    guarantee: str = "",
    event: str = "",
    description: str = "",
    time: datetime | None = None,
) -> Entry:
    """Write the entry that follows the head, sealed."""
    entry = Entry(
        number=head.number + 1,
        time=time or datetime.now(UTC),
        kind=kind,
        question=question,
        postings=tuple(postings),
        settles=settles,
        digest=digest,
        guarantee=guarantee,
        event=event,
        description=description,
        totals=totals,
        previous=head.hash,
        hash="",
    )
    object.__setattr__(entry, "hash", entry.seal)  # which reads all fields but this one
    return entry


def sealed(entry: Entry) -> bool:
    """Say whether the entry's hash is the hash of its fields."""
    return entry.hash == entry.seal


def corrupt(number: int, fault: str) -> LedgerCorrupt:
    """Make the error that names an entry."""
    return LedgerCorrupt(
        f"Entry {number} of the ledger {fault}.",
        "Answer nothing more from it. Restore the ledger from a backup, and let `discreet budget adopt` "
        "charge the loss that the backup does not know.",
    )


@lru_cache(8)
def genesis(identity: str) -> Head:
    """The head of an empty ledger; its hash depends on the ledger's random identity."""
    return Head(0, hash_of("discreet ledger", str(FORMAT), identity))


def digest_of(answer: bytes | Iterable[bytes]) -> str:
    """SHA-256 of an answer, whole or in pieces, hexadecimal."""
    state = hashlib.sha256()
    for piece in (answer,) if isinstance(answer, bytes) else answer:
        state.update(piece)
    return state.hexdigest()


def text(name: str, value: object, *, empty: bool = False) -> str:
    """Return a text that can be stored.

    Raises:
        InvalidParameter: not a string, empty where that is not allowed, not encodable in UTF-8, or with a NUL.
    """
    if not isinstance(value, str) or not (value or empty):
        raise InvalidParameter(f"{name} is not a text or is empty.", "Give a non-empty text.")
    if "\0" in value:  # some tools would read no further
        raise InvalidParameter(f"{name} holds a NUL character.", "Remove it.")
    try:
        value.encode()
    except UnicodeEncodeError:
        problem = InvalidParameter(f"{name} is not valid Unicode.", "Remove the lone surrogates.")
    else:
        return value
    raise problem


def _seal(entry: Entry) -> str:
    fields = [
        str(FORMAT),
        str(entry.number),
        entry.time.isoformat(timespec="microseconds"),
        entry.kind,
        entry.question,
        str(entry.settles or 0),
        entry.digest,
        entry.guarantee,
        entry.event,
        entry.description,
        entry.totals,
        entry.previous,
        str(len(entry.postings)),
    ]
    for line in entry.postings:
        fields.append(line.account)
        for loss in (line.loss, line.total, line.limit):
            fields += [str(loss.epsilon), str(loss.delta)]
        fields += [line.rule, str(line.squares), str(line.count)]
    return hash_of(*fields)


def hash_of(*fields: str) -> str:
    """SHA-256 over fields, hexadecimal."""
    # Every field is preceded by its length, so no two different lists of fields give the same bytes.
    raws = [field.encode() for field in fields]
    return hashlib.sha256(b"".join([b"%d:%b" % (len(raw), raw) for raw in raws])).hexdigest()
