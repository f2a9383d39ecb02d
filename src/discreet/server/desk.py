"""Work of callers in threads: so much at once, so long, and answered at times that say little.

The time that a question takes depends on the data. So an answer, and an error alike, is held back until the next of a
row of slots: base, 2 base, 4 base, … after the question came. Of the time only the slot can be seen: the number of
slots up to the time-out is about log2(timeout / base).
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from discreet.errors import Busy

T = TypeVar("T")


@dataclass(frozen=True)
class Caps:
    """The limits of a desk.

    Attributes:
        workers: how many are at work at once.
        waiting: how many more may wait.
        each: how many of these one caller may have.
        timeout: seconds after which a caller is told that it takes too long; the work goes on.
        slot: seconds of the shortest slot; 0 for no slots.
    """

    workers: int = 8
    waiting: int = 64
    each: int = 4
    timeout: float = 64.0
    slot: float = 0.25


class TooLong(Exception):
    """The time is up, and the work goes on."""


class Desk:
    """Does the work of callers in threads of its own."""

    def __init__(self, caps: Caps, name: str) -> None:
        self.caps = caps
        self._pool = ThreadPoolExecutor(caps.workers, thread_name_prefix=f"discreet-{name}")
        self._lock = threading.Lock()
        self._busy: Counter[str] = Counter()

    async def do(self, caller: str, work: Callable[[], T]) -> T:
        """Do some work, and return its result or raise its error, in its slot.

        Raises:
            Busy: there is too much to do, for this caller or for all. The work was not begun.
            TooLong: the time is up; the work goes on.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()
        future = self._submit(caller, work)
        waiter = asyncio.wrap_future(future)
        done, _ = await asyncio.wait([waiter], timeout=self.caps.timeout)
        if not done:
            waiter.add_done_callback(_read)
            raise TooLong
        if self.caps.slot:
            await asyncio.sleep(slot_after(loop.time() - began, self.caps.slot) - (loop.time() - began))
        return waiter.result()

    def close(self) -> None:
        """Wait for the work that was begun; an answer that was charged is settled."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _submit(self, caller: str, work: Callable[[], T]) -> Future[T]:
        with self._lock:
            if self._busy[caller] >= self.caps.each:
                raise Busy(
                    f"You have {self.caps.each} requests at work, the most at once.", "Wait for one of them."
                )
            if self._busy.total() >= self.caps.workers + self.caps.waiting:
                raise Busy("The service has too much to do.", "Try again in a while.")
            self._busy[caller] += 1
        try:
            future = self._pool.submit(contextvars.copy_context().run, work)
        except BaseException:
            self._leave(caller)
            raise
        future.add_done_callback(lambda _: self._leave(caller))
        return future

    def _leave(self, caller: str) -> None:
        with self._lock:
            self._busy[caller] -= 1
            if not self._busy[caller]:
                del self._busy[caller]


def slot_after(elapsed: float, base: float) -> float:
    """The first slot that is not over.

    Example:
        >>> [slot_after(elapsed, 0.25) for elapsed in (0, 0.25, 0.26, 3)]
        [0.25, 0.25, 0.5, 4.0]
    """
    slot = base
    while slot < elapsed:
        slot *= 2
    return slot


def _read(waiter: asyncio.Future[T]) -> None:
    """Read the outcome of work that nobody waits for, or asyncio would complain about it."""
    if not waiter.cancelled():
        waiter.exception()
