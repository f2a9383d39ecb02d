"""Group commit: whoever comes first does the work of all who came meanwhile, in one transaction.

A commit takes as long as the disk needs, and while it lasts others queue. The first in the queue then takes all of them
along, so that many threads wait for one commit, and not each for its own. Each gets its result once that is durable.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar, cast

from discreet.errors import LedgerError
from discreet.ledger.faults import busy
from discreet.ledger.store import NOTHING, Needs

Result = TypeVar("Result")

MOST = 64
"""How many are taken along at once."""


class QueuedWork:
    """One piece of work in the queue, and its outcome."""

    def __init__(self, work: Callable[[Any], Any], writes: bool, needs: Needs = NOTHING) -> None:
        self.work = work
        self.writes = writes
        self.needs = needs
        self.tries = 0
        self.alone = False  # whether it shared a transaction that failed, and is tried again by itself
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = False
        self._left = False
        self._woken = False
        self._leads = False
        self._wake = threading.Lock()
        self._wake.acquire()

    def finish(self) -> None:
        """Say that it is done, and let its thread go on, while others of the batch are still at work."""
        self.done = True
        if not (self._woken or self._leads):
            self._woken = True
            self._wake.release()


class CommitGroup:
    """A queue whose first waiter runs the batch.

    Args:
        run: does all requests of a batch and marks each as done; it raises only errors that are of no request, and
            leaves the requests that are not done to be tried again.
    """

    def __init__(self, run: Callable[[list[QueuedWork]], None]) -> None:
        self._run = run
        self._mutex = threading.Lock()
        self._waiting: list[QueuedWork] = []
        self._busy = False

    def forget(self) -> None:
        """Start anew in a forked child, where the threads that wait do not exist."""
        self._mutex = threading.Lock()
        self._waiting = []
        self._busy = False

    def submit(self, request: QueuedWork, timeout: float) -> bool:
        """Have a request done, by this thread or another. False when it was not begun in time."""
        with self._mutex:
            self._waiting.append(request)
            request._leads = leads = not self._busy
            self._busy = True
        try:
            if not leads and not request._wake.acquire(timeout=timeout):
                with self._mutex:
                    if request in self._waiting and not request._leads:
                        self._waiting.remove(request)
                        return False
                request._wake.acquire()  # it is being done just now, or is the next
            while not request.done:
                self._lead(request)
        except BaseException:
            self._give_up(request)
            raise
        return True

    def gather(self, batch: list[QueuedWork]) -> None:
        """Take more into a batch that `run` is given: those who came while it waited for another process.

        Args:
            batch: as `run` got it, before any of it was begun.
        """
        with self._mutex:
            if batch[0].alone:
                return
            size = next((index for index, queued in enumerate(self._waiting) if queued.alone), MOST)
            size = min(size, MOST - len(batch))
            batch += self._waiting[:size]
            del self._waiting[:size]

    def perform(
        self,
        work: Callable[[Any], Result],
        writes: bool,
        timeout: float,
        where: str,
        needs: Needs = NOTHING,
    ) -> Result:
        """Have work done, and return its result.

        Raises:
            LedgerError: it was not begun in time.
            Exception: that of the work.
        """
        request = QueuedWork(work, writes, needs)
        if not self.submit(request, timeout):
            raise not_begun(where)
        if request.error is not None:
            # Raised out here, the error carries no trace of the database's own, whose text may hold an answer.
            raise request.error
        return cast(Result, request.result)

    def _lead(self, request: QueuedWork) -> None:
        batch: list[QueuedWork] = []
        try:
            with self._mutex:
                alone = self._waiting[0].alone
                size = (
                    1
                    if alone
                    else next((index for index, queued in enumerate(self._waiting) if queued.alone), MOST)
                )
                batch = self._waiting[: min(size, MOST)]
                del self._waiting[: len(batch)]
            self._run(batch)
        finally:
            with self._mutex:
                again = [queued for queued in batch if not (queued.done or queued._left)]
                for queued in again:
                    queued.alone = True
                self._waiting[:0] = again
                if request.done or request not in self._waiting:
                    self._pass_on(request)
            for queued in batch:
                if queued is not request and queued.done and not queued._woken:
                    queued._woken = True
                    queued._wake.release()

    def _pass_on(self, request: QueuedWork) -> None:
        request._leads = False
        if self._waiting:
            self._waiting[0]._leads = True
            self._waiting[0]._wake.release()
        else:
            self._busy = False

    def _give_up(self, request: QueuedWork) -> None:
        """Take a request back whose thread was interrupted."""
        with self._mutex:
            request._left = True
            if request in self._waiting:
                self._waiting.remove(request)
            if request._leads:
                self._pass_on(request)


class CommitProgress:
    """How far a transaction came: the request at work, whether those of several are written, and the commit."""

    request: QueuedWork | None = None
    sharing = False
    committing = False


class Changing(Protocol):
    """The rows of a transaction.

    Attributes:
        changed: whether the request at work wrote any.
        flushing: whether entries are being written, of this request or of those before; it stays so after an error.
    """

    changed: bool
    flushing: bool

    def flush(self) -> None:
        """Write the entries that were appended."""


def run_all(
    requests: Sequence[QueuedWork],
    rows: Changing,
    step: CommitProgress,
    faults: tuple[type[Exception], ...],
) -> None:
    """Run the work of a batch in one transaction.

    An error of a request that wrote nothing is its own; any other undoes the transaction. Entries of earlier
    requests may be written while a later one reads: a fault of that undoes it too.

    Args:
        requests: the batch.
        rows: of the transaction.
        step: is told which request is at work.
        faults: errors of the database.
    """
    # Reading comes first, so that nobody sees entries that are not committed yet.
    for request in sorted(requests, key=lambda queued: queued.writes):
        step.request = request
        try:
            request.result = request.work(rows)
        except faults:
            step.sharing = rows.flushing and len(requests) > 1
            raise
        except Exception as error:
            if rows.changed or rows.flushing:
                step.sharing = rows.flushing and len(requests) > 1
                raise
            request.error = error
            request.done = True
        if not request.writes:
            request.finish()
        rows.changed = False
    step.request = None
    # Entries of several requests are written together. One of them may be at fault: each is tried again alone.
    step.sharing = len(requests) > 1
    rows.flush()
    step.sharing = False


def not_begun(where: str) -> LedgerError:
    """The error of work that waited too long, and was not begun."""
    problem = busy(where)
    problem.unwritten = True
    return problem


def fail(requests: Sequence[QueuedWork], problem: Exception, *, unwritten: bool = False) -> None:
    """Let all requests that are not done end in an error.

    Args:
        requests: the batch.
        problem: the error.
        unwritten: whether it is certain that nothing of them was written: the commit was not begun, or did not stand.
    """
    if unwritten and isinstance(problem, LedgerError):
        problem.unwritten = True
    for request in requests:
        if not request.done:
            request.error = copy.copy(problem)  # each question notes its own charge on it
            request.done = True
