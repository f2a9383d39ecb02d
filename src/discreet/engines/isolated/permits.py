"""Permits to evaluate: so many at once, and a fair row of callers who wait for one."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class Permits:
    """Some permits. Where callers wait, the next free one is for the caller who holds the fewest.

    So who asks much at once waits for those who ask little. Nobody waits while a permit is free: else a caller could
    see from their own free statements when their charged question was begun to be evaluated, and so its time.

    Args:
        count: of all permits.

    Example:
        >>> permits = Permits(1)
        >>> with permits.taken("ada", 1), permits.taken("ben", 0.01) as had:
        ...     had
        False
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._held: Counter[str] = Counter()
        self._waiting: list[_Waiting] = []  # in the order in which they came
        self._changed = threading.Condition()

    @contextmanager
    def taken(self, caller: str, waiting: float) -> Iterator[bool]:
        """Hold a permit while the block lasts, and give whether there was one in time.

        Args:
            caller: whose it is.
            waiting: seconds.
        """
        own = _Waiting(caller)
        with self._changed:
            self._waiting.append(own)
            had = self._changed.wait_for(lambda: self._free > 0 and self._next() is own, waiting)
            self._waiting.remove(own)
            if had:
                self._count(caller, 1)
            self._changed.notify_all()  # the next one in the row may have waited for this one to leave it
        try:
            yield had
        finally:
            if had:
                with self._changed:
                    self._count(caller, -1)
                    self._changed.notify_all()

    def _next(self) -> _Waiting:
        return min(self._waiting, key=lambda waiting: self._held[waiting.caller])

    def _count(self, caller: str, more: int) -> None:
        self._free -= more
        self._held[caller] += more
        if not self._held[caller]:
            del self._held[caller]


class _Waiting:
    def __init__(self, caller: str) -> None:
        self.caller = caller
