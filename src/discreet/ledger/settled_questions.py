"""Which questions were settled, kept in memory: to hear whether one was, nobody need wait for a transaction.

A question is new as far as the second place tells now; one that was settled stays so. An answer itself is always looked
up. A mistake would cost an analyst a second charge, and nobody any privacy.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from discreet.ledger.chain.entry import Entry

MOST = 200_000
"""How many settlements are kept; with more of them each question is looked up."""


class SettledQuestions:
    """The keys of all settled questions up to some entry of a ledger.

    Args:
        named: the number of the last entry that the second place names now; None where it cannot be read.
        key: the key of a question.
    """

    def __init__(self, named: Callable[[], int | None], key: Callable[[str], str]) -> None:
        self._named = named
        self._following = threading.Lock()
        self._key = key
        self._keys: set[bytes] | None = None
        self._number = 0
        self._many = False

    @property
    def wanted(self) -> bool:
        """Whether the keys are not known and should be read."""
        return self._keys is None and not self._many

    def load(self, number: int, keys: Iterable[str]) -> None:
        """Take the keys of all settlements up to an entry."""
        found = set(map(_short, islice(keys, MOST + 1)))
        with self._following:
            self._many = len(found) > MOST
            self._number = number
            self._keys = None if self._many else found

    def follow(self, number: int, last: Sequence[Entry]) -> None:
        """Take note of the entries committed up to one, of which these are the last; before the head names it."""
        with self._following:
            keys = self._keys
            if keys is None or number <= self._number:
                return
            if not last or last[0].number > self._number + 1 or len(keys) > MOST:
                self._keys = None
                return
            keys.update(_short(self._key(entry.question)) for entry in last if entry.kind == "settle")
            self._number = number

    @property
    def number(self) -> int | None:
        """The entry up to which all settlements are known; None where they are not."""
        return None if self._keys is None else self._number

    def forget(self) -> None:
        """Know nothing any more."""
        self._keys, self._many = None, False

    def has_here(self, question: str) -> bool | None:
        """Whether a question is settled as far as the ledger is known here; None where it is not known."""
        keys = self._keys
        return None if keys is None else _short(self._key(question)) in keys

    def has_within(self, question: str, number: int, last: Sequence[Entry]) -> bool | None:
        """The same up to an entry that a transaction sees; None where that is not known.

        Args:
            question: the canonical one.
            number: of that entry.
            last: the entries up to it, as the transaction read them.
        """
        # The number is read before the keys, as in `has`.
        known = self._number
        here = self.has_here(question)
        if here is not False or known >= number:
            return here
        if not last or last[0].number > known + 1 or last[-1].number != number:
            return None
        return any(entry.kind == "settle" and entry.question == question for entry in last)

    def has(self, question: str, catch_up: Callable[[], object]) -> bool | None:
        """Whether a question is settled; None where that is not known here.

        Args:
            question: the canonical one.
            catch_up: reads the entries that came since, so that `follow` is told of them.
        """
        key, named = _short(self._key(question)), self._named()
        before = self._keys
        if before is None or named is None:
            return None
        if key in before:
            return True
        if self._number < named:
            catch_up()
        # The number is read before the keys: `follow` adds these first, and `load` puts them there last.
        number = self._number
        keys = self._keys
        return key in keys if keys is not None and number >= named else None


def _short(key: str) -> bytes:
    return bytes.fromhex(key[:32])
