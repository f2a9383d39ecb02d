"""The questions that each account of a ledger was charged for, read once for all of its accounts.

Entries never change, and an old ledger is long. If each of a hundred analysts read all entries, the last of them would
wait for a hundred ledgers.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from discreet.ledger.store import PAGE

if TYPE_CHECKING:
    from discreet.ledger.ledger import Ledger


class ChargedQuestions:
    """The questions of one ledger, by account."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._questions: dict[str, set[str]] = {}
        self._read = 0  # the entry up to which the ledger was read

    def add(self, account: str, question: str) -> None:
        """Take note of a charge that was made just now."""
        with self._lock:
            self._questions.setdefault(account, set()).add(question)

    def has(self, ledger: Ledger, account: str, question: str) -> bool:
        """Whether an account was ever charged for a question, by this process or another one.

        Args:
            ledger: is read as far as it goes where the charge is not known.
            account: its name.
            question: the canonical one.
        """
        if question in self._questions.get(account, ()):
            return True
        with self._lock:
            self._catch_up(ledger)
            return question in self._questions.get(account, ())

    def _catch_up(self, ledger: Ledger) -> None:
        while page := ledger.since(self._read):
            for entry in page:
                if entry.kind == "charge":
                    for line in entry.postings:
                        self._questions.setdefault(line.account, set()).add(entry.question)
                self._read = entry.number
            if len(page) < PAGE:
                return


_known: WeakKeyDictionary[Ledger, ChargedQuestions] = WeakKeyDictionary()
_making = threading.Lock()


def charged_in(ledger: Ledger) -> ChargedQuestions:
    """The charges of a ledger, the same for all who ask."""
    with _making:
        found = _known.get(ledger)
        if found is None:
            found = _known[ledger] = ChargedQuestions()
        return found
