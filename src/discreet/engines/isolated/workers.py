"""Workers: some processes that evaluate statements of strangers, killed and replaced when one takes too much."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from discreet.engines import sandbox
from discreet.engines.isolated import messages, worker
from discreet.engines.isolated.permits import Permits
from discreet.engines.sandbox import Bounds, Evaluating
from discreet.errors import PostProcessingError, Unavailable

if TYPE_CHECKING:
    import pyarrow as pa

COUNT = 10
"""Processes at once: more than one caller can keep busy at the two desks of the service."""
KEPT = 3
"""Processes that are there before anybody asks; more are begun when they are needed, and stay."""
MEMORY = 512
"""MiB of one."""
SECONDS = 30.0
"""Of one statement."""
GRACE = 1.0
"""Seconds after which a process that does not end its statement by itself is killed."""
BEGINNING = 30.0
"""Seconds that a new process may take until it evaluates; they are no part of the time of a statement."""
INHERITED = ("PATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "TZ")
"""The variables of the environment that a process gets: no password, and no token."""


@contextmanager
def isolated(memory: int = MEMORY, count: int = COUNT, seconds: float = SECONDS) -> Iterator[Workers]:
    """Let all sandboxes of this process evaluate in processes of their own.

    Args:
        memory: MiB that each may take.
        count: how many there are at most.
        seconds: the longest that a statement may take.
    """
    workers = Workers(memory, count, seconds)
    try:
        with sandbox.elsewhere(workers):
            yield workers
    finally:
        workers.close()


class Workers:
    """A pool of processes; each evaluates one statement at a time."""

    def __init__(self, memory: int = MEMORY, count: int = COUNT, seconds: float = SECONDS) -> None:
        self._memory = memory
        self._seconds = seconds
        self._permits = Permits(count)
        self._lock = threading.Lock()
        self._free = [_WorkerProcess(memory) for _ in range(min(KEPT, count))]
        self._closed = False

    def run(
        self, tables: Mapping[str, pa.Table], sql: str, bounds: Bounds, evaluating: Evaluating
    ) -> pa.Table:
        """Run one query over some tables; see `Sandbox.run`.

        Raises:
            PostProcessingError: as `Sandbox.run`; or there is too much to evaluate.
            Unavailable: the machine gives no further process.
        """
        bounds = replace(bounds, seconds=min(bounds.seconds, self._seconds))
        with self._permits.taken(sandbox.caller(), min(bounds.waiting, self._seconds)) as permitted:
            if not permitted:
                raise PostProcessingError(
                    "The service has too much to evaluate at once.", "Ask again in a while."
                )
            used, whole = self._take(), False
            try:
                head, found = used.ask(tables, sql, bounds, self._memory, evaluating)
                whole = not head["last"]
            finally:
                self._give(used, whole)
        if "cause" in head:
            raise PostProcessingError(head["cause"], head["fix"])
        return found["result"]

    def close(self) -> None:
        """End all processes; a statement that is at work fails."""
        with self._lock:
            self._closed, free, self._free = True, self._free, []
        for process in free:
            process.end()

    def _take(self) -> _WorkerProcess:
        with self._lock:
            while self._free:
                process = self._free.pop()
                if process.alive():
                    return process
                process.end()
        made = _begun(self._memory)
        if made is None:
            raise _no_process()
        return made

    def _give(self, used: _WorkerProcess, whole: bool) -> None:
        """Keep a process for the next statement, or end it, and begin another one in its place.

        One that is whole is kept, however many are free: those beyond `KEPT` would be begun again at the next burst,
        which takes longer than most statements, and shows a caller whose free statement waits for it that another
        statement was begun.
        """
        with self._lock:
            kept = whole and not self._closed
            if kept:
                self._free.append(used)  # the next to be taken: it has begun
            elif len(self._free) < KEPT and not self._closed:
                other = _begun(self._memory)
                if other is not None:  # without another one, the next statement begins its own
                    self._free.insert(0, other)
        if not kept:
            used.end()


def _begun(memory: int) -> _WorkerProcess | None:
    """A process; None where the machine gives none, as it has too many, or too many files are open."""
    try:
        return _WorkerProcess(memory)
    except (OSError, subprocess.SubprocessError):
        return None


def _no_process() -> Unavailable:
    return Unavailable(
        "The service can begin no process that would evaluate the question.",
        "Ask the same again in a while, or tell the steward.",
    )


class _WorkerProcess:
    def __init__(self, memory: int) -> None:
        self._ready = False
        self._line, other = messages.pair()
        environment = {name: os.environ[name] for name in INHERITED if name in os.environ}
        environment |= {
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "OPENBLAS_NUM_THREADS": "1",
            "ARROW_DEFAULT_MEMORY_POOL": "system",  # the others reserve a GiB at once
        }
        arguments = map(str, (other.fileno(), memory, os.getpid()))
        try:
            with other:
                self._process = subprocess.Popen(  # noqa: S603  # our own module
                    [sys.executable, "-P", "-m", worker.__name__, *arguments], env=environment, cwd="/",
                    pass_fds=[other.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )  # fmt: skip
        except BaseException:
            self._line.close()
            raise

    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(
        self,
        tables: Mapping[str, pa.Table],
        sql: str,
        bounds: Bounds,
        memory: int,
        evaluating: Evaluating = nullcontext,
    ) -> tuple[dict[str, Any], dict[str, pa.Table]]:
        """Evaluate a statement, once the process has begun.

        Raises:
            PostProcessingError: it takes too long, or the process ended over it.
            Unavailable: the process does not begin.
        """
        try:
            self._begin()
            with evaluating():
                head = {"sql": sql, "timeout": bounds.seconds, "rows": bounds.rows}
                messages.send(self._line, head, tables)
                if self._line.poll(bounds.seconds + GRACE):
                    return messages.receive(self._line, worker.LARGEST * 2)
        except (EOFError, OSError):
            raise PostProcessingError(
                f"The post-processing of the noisy tables needs more than {memory} MiB of memory.",
                "Ask for fewer or shorter values above the aggregates.",
            ) from None
        raise sandbox.too_late(bounds.seconds)

    def _begin(self) -> None:
        if self._ready:
            return
        if not self._line.poll(BEGINNING):
            raise _no_process()
        messages.receive(self._line)
        self._ready = True

    def end(self) -> None:
        """Kill it."""
        self._line.close()
        self._process.kill()
        self._process.wait()
