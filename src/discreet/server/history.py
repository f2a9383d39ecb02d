"""The charges of a ledger as the service shows them; each is read once."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Sequence
from fractions import Fraction
from itertools import takewhile
from typing import NamedTuple

from discreet.ledger import Entry, Ledger
from discreet.ledger.description import who_and_what
from discreet.ledger.store import PAGE
from discreet.records import dataclass
from discreet.session.analyst import account_name, analyst_of
from discreet.session.budget import DATA_SET, subject_of, version_of


@dataclass(frozen=True)
class HistoryEntry:
    """One charge.

    Attributes:
        number: of its entry.
        made: when it was charged.
        who: the analyst, or the user of the steward's own process.
        question: in words.
        key: the name under which the ledger keeps the answer.
        epsilon: the loss charged.
        delta: likewise.
        whole: whether the data set paid; else the analyst alone, for an answer that another one had bought.
        version: of the data, as the policy named it then.
        analyst: whose account was charged; empty where none of an analyst's was.
    """

    number: int
    made: dt.datetime
    who: str
    question: str
    key: str
    epsilon: Fraction
    delta: Fraction
    whole: bool
    version: str = ""
    analyst: str = ""


class Settled(NamedTuple):
    """The answer that the ledger first kept to a question.

    Attributes:
        charged: when it was charged.
        kept: when the ledger kept it.
        analyst: who was charged; empty where it was no analyst.
    """

    charged: dt.datetime
    kept: dt.datetime
    analyst: str


class History:
    """The charges of a ledger, and which of them were answered.

    Entries never change, so that each is read once.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock = threading.Lock()
        self._read = 0
        self._lines: list[HistoryEntry] = []
        self._own: dict[str, dict[str, list[HistoryEntry]]] = {}
        self._open: dict[int, HistoryEntry] = {}
        self._settled: dict[str, Settled] = {}

    def catch_up(self, *, here: bool = False) -> None:
        """Read the ledger's new entries; `here` those that this process knows, all of its own among them."""
        with self._lock:
            self._catch_up(here=here)

    def newest(self, count: int) -> list[HistoryEntry]:
        """The newest charges, the newest first."""
        with self._lock:
            self._catch_up()
            return self._lines[: -count - 1 : -1]

    def count(self) -> int:
        """How many charges there are."""
        with self._lock:
            self._catch_up()
            return len(self._lines)

    def recent(self, since: dt.datetime) -> list[HistoryEntry]:
        """The charges from some time on, and the data set's earlier ones that have no answer, in no order."""
        with self._lock:
            self._catch_up()
            late = list(takewhile(lambda line: line.made >= since, reversed(self._lines)))
            held = (line for line in self._open.values() if line.whole and line.key not in self._settled)
            return late + [line for line in held if line.made < since]

    def of(self, name: str) -> dict[str, HistoryEntry]:
        """The first charge of an analyst for each answer, by its key."""
        with self._lock:
            self._catch_up()
            return {key: lines[0] for key, lines in self._own.get(account_name(name), {}).items()}

    def times(self, name: str, key: str) -> int:
        """How often an analyst was charged for an answer, by the charges that are read: anew where one failed."""
        with self._lock:
            return len(self._charges(name, key))

    def latest(self, name: str, key: str) -> dt.datetime | None:
        """When an analyst was last charged for an answer: anew where one failed; None for never."""
        with self._lock:
            self._catch_up()
            charges = self._charges(name, key)
            return charges[-1].made if charges else None

    def paid(self, name: str, key: str) -> bool:
        """Whether an analyst was charged for an answer."""
        with self._lock:
            self._catch_up()
            return bool(self._charges(name, key))

    def answered(self, key: str) -> bool:
        """Whether the ledger keeps the answer, by the entries that were read so far."""
        with self._lock:
            return key in self._settled

    def settled(self, key: str) -> Settled | None:
        """When the answer that the ledger first kept was charged, to whom, and when it was kept."""
        with self._lock:
            return self._settled.get(key)

    def _charges(self, name: str, key: str) -> Sequence[HistoryEntry]:
        return self._own.get(account_name(name), {}).get(key, ())

    def _catch_up(self, *, here: bool = False) -> None:
        while new := self._ledger.since(self._read, here=here):
            for entry in new:
                self._take(entry)
                self._read = entry.number
            if len(new) < PAGE:
                return

    def _take(self, entry: Entry) -> None:
        if entry.settles is not None:
            charged = self._open.pop(entry.settles, None)
            made = entry.time if charged is None else charged.made
            analyst = "" if charged is None else charged.analyst
            self._settled.setdefault(entry.question, Settled(made, entry.time, analyst))
        if entry.kind != "charge" or not entry.postings:
            return
        who, what = who_and_what(entry.description)
        loss = entry.postings[0].loss
        whole = any(subject_of(line.account) == DATA_SET for line in entry.postings)
        version = version_of(entry.postings[0].account)
        accounts = [subject_of(line.account) for line in entry.postings]
        line = HistoryEntry(
            entry.number, entry.time, who, what, entry.question, loss.epsilon, loss.delta, whole, version,
            next(filter(None, map(analyst_of, accounts)), ""),
        )  # fmt: skip
        self._open[entry.number] = line
        self._lines.append(line)
        for posting in entry.postings:
            own = self._own.setdefault(subject_of(posting.account), {})
            own.setdefault(entry.question, []).append(line)
