"""Work of callers in threads: so much at once, so long, and answered at times that say little.

The time that a question takes depends on the data. So an answer, and an error alike, is held back until the next of a
row of slots: base, 2 base, 4 base, … after the question came. Of the time only the slot can be seen: the number of
slots up to the time-out is about log2(timeout / base). Until that slot the work counts as at work, after the time-out
too: else the moment at which it makes room, or at which its answer can be had elsewhere, would show its time.

An answer that the ledger kept can be had in other processes, too. They know the moment at which it was kept, and not
the one at which the work ended. Two slots would tell more of the time than one: so all count until it was kept, and
give it the same room to be written. Only an answer that takes longer to write, and so misses its slot, has another one.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import math
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from time import monotonic
from typing import Any, TypeVar

from discreet.engines.sandbox import asked_by
from discreet.errors import Busy
from discreet.records import dataclass

T = TypeVar("T")
WRITING = 4
"""An answer that was kept has the shortest slot divided by this to be written."""


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

    workers: int = 32
    waiting: int = 40
    each: int = 4
    timeout: float = 64.0
    slot: float = 0.25


class TooLong(Exception):
    """The time is up, and the work goes on."""


@dataclass(eq=False)
class _CallerWork:
    """Some work of a caller.

    Attributes:
        caller: whose.
        about: the thing that the caller knows it by.
        began: when it came, as `monotonic` has it.
        took: tells after how many seconds the ledger kept its answer; None where it kept none.
        until: the slot until which it counts as at work; infinite until it is done.
        future: the work itself, from when it was handed to a thread until it is done.
    """

    caller: str
    about: object
    began: float
    took: Callable[[], float | None]
    until: float = math.inf
    future: Future[Any] | None = None


class Desk:
    """Does the work of callers in threads of its own."""

    def __init__(self, caps: Caps, name: str) -> None:
        self.caps = caps
        self._pool = ThreadPoolExecutor(caps.workers, thread_name_prefix=f"discreet-{name}")
        self._lock = threading.Lock()
        self._works: list[_CallerWork] = []

    async def do(
        self,
        caller: str,
        work: Callable[[], T],
        about: object = None,
        took: Callable[[], float | None] = lambda: None,
    ) -> T:
        """Do some work, and return its result or raise its error, in its slot.

        Args:
            caller: whose work it is.
            work: is done in a thread.
            about: stands in `at_work` until the slot.
            took: tells, once it is done, after how many seconds the ledger kept its answer; None where it kept none.

        Raises:
            Busy: there is too much to do, for this caller or for all. The work was not begun, and never will be.
            TooLong: the time is up; the work goes on.
        """
        job = _CallerWork(caller, about, monotonic(), took)
        waiter = asyncio.wrap_future(self._submit(job, work))
        # The caller may be gone by then, or is told that it takes too long.
        waiter.add_done_callback(see_outcome)
        done, _ = await asyncio.wait([waiter], timeout=self.caps.timeout)
        if not done:
            future = job.future
            if future is not None and future.cancel():  # no thread has begun it
                self._leave(job)
                raise Busy(
                    "The service has too much to do: the request was not begun.", "Try again in a while."
                )
            raise TooLong
        if self.caps.slot:
            await asyncio.sleep(job.until - monotonic())
        self._leave(job)
        return waiter.result()

    def at_work(self) -> list[object]:
        """The things that all work is about that was begun, and whose slot has not come."""
        with self._lock:
            return [job.about for job in self._present()]

    def cancel(self, about: object) -> bool:
        """Take work back that no thread has begun; whether it was in time."""
        with self._lock:
            futures = [job.future for job in self._present() if job.about is about]
        return any(future.cancel() for future in futures if future is not None)

    def close(self) -> None:
        """Wait for the work that was begun; an answer that was charged is settled."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _submit(self, job: _CallerWork, work: Callable[[], T]) -> Future[T]:
        with self._lock:
            present = self._present()
            if sum(other.caller == job.caller for other in present) >= self.caps.each:
                raise Busy(
                    f"You have {self.caps.each} requests at work, the most at once.", "Wait for one of them."
                )
            if len(present) >= self.caps.workers + self.caps.waiting:
                raise Busy("The service has too much to do.", "Try again in a while.")
            self._works.append(job)
        try:
            future = self._pool.submit(contextvars.copy_context().run, _asked_by, job.caller, work)
        except BaseException:
            self._leave(job)
            raise
        job.future = future
        future.add_done_callback(lambda _: self._done(job))
        return future

    def _present(self) -> list[_CallerWork]:
        """All work whose slot has not come; the lock is held."""
        now = monotonic()
        self._works = [job for job in self._works if job.until > now]
        return self._works

    def _done(self, job: _CallerWork) -> None:
        # It keeps its callbacks, and so this work: with the answer they would stay as garbage.
        job.future = None
        if not self.caps.slot:
            self._leave(job)
            return
        base, elapsed = self.caps.slot, monotonic() - job.began
        took = None
        with contextlib.suppress(Exception):  # else the caller would wait without end
            took = job.took()
        # By the clock of the ledger, which may have been set meanwhile.
        kept = 0.0 if took is None else slot_of_answer(min(took, elapsed), base)
        with self._lock:
            job.until = job.began + max(kept, slot_after(elapsed, base))

    def _leave(self, job: _CallerWork) -> None:
        with self._lock:
            job.until = -math.inf
            self._present()


def _asked_by(caller: str, work: Callable[[], T]) -> T:
    with asked_by(caller):
        return work()


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


def slot_of_answer(took: float, base: float) -> float:
    """The slot of an answer that the ledger kept after so many seconds, with room to write it.

    Example:
        >>> [slot_of_answer(took, 0.25) for took in (0.1, 0.2, 0.4, 0.45)]
        [0.25, 0.5, 0.5, 1.0]
    """
    return slot_after(took + base / WRITING, base)


def see_outcome(future: asyncio.Future[T]) -> None:
    """Look at the outcome of work that nobody waits for, or asyncio would complain about it."""
    if not future.cancelled():
        future.exception()
