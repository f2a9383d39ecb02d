"""Ctrl-C and other signals stop a question at once, during any work of the engine.

Python runs the handler of a signal in the main thread, and only when the call that the main thread is in returns: a
query of some seconds would be waited for. So it runs in another thread, and the main thread waits in a way that a
signal breaks off. Then the engine is told to stop, on its server too.

The thread is kept for the next question: to start one, with a key for its noise and the memory that DuckDB sets up for
each thread, takes longer than many a query over small data.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from discreet.engines.engine import Engine

R = TypeVar("R")
AGAIN = 0.05
"""Seconds until the engine is told again: the query may not have begun when it was told first."""
LOOK = 0.2
"""Seconds until a signal is seen that came just before the main thread began to wait, which wakes it no more."""
PATIENCE = 10.0
"""Seconds that an engine is waited for which does not stop. Then it is left alone, and its thread ends with it."""


class _ThreadWork(Generic[R]):
    """Work in a thread of its own, with its result or its error."""

    def __init__(self, work: Callable[[], R]) -> None:
        self._work = work
        self._result: list[R] = []
        self._error: BaseException | None = None
        self.done = threading.Event()

    def run(self) -> None:
        try:
            self._result.append(self._work())
        except BaseException as error:
            self._error = error
        finally:
            self.done.set()

    def result(self) -> R:
        if self._error is not None:
            error, self._error = self._error, None  # else the error and its traceback would hold each other
            raise error
        return self._result.pop()


class _WorkerThread:
    """A thread that does the work of the main thread, one piece after the other, until it is let go."""

    def __init__(self) -> None:
        self._works: queue.SimpleQueue[_ThreadWork[Any] | None] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="discreet-question", daemon=True).start()

    def do(self, work: _ThreadWork[Any]) -> None:
        self._works.put(work)

    def let_go(self) -> None:
        """Let the thread end behind its last work."""
        self._works.put(None)

    def _run(self) -> None:
        while (work := self._works.get()) is not None:
            work.run()
            del work  # else its plan and its session would stay in memory until the next question


_idle: list[_WorkerThread] = []
"""The thread that waits for work of the main thread, if there is one; taken out while it works."""


def interruptibly(engine: Engine, work: Callable[[], R]) -> R:
    """Do work that asks an engine; a signal that raises in the main thread stops it at once.

    Args:
        engine: the engine to interrupt.
        work: the function to call; in another thread when this is the main one.

    Returns:
        The result of the work. Its error is raised here.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    own = _ThreadWork(work)
    worker = _idle.pop() if _idle else _WorkerThread()
    try:
        worker.do(own)
        while not own.done.wait(LOOK):
            pass
    except BaseException:
        _stop(engine, own.done)
        worker.let_go()
        raise
    _idle.append(worker)
    return own.result()


def _stop(engine: Engine, done: threading.Event) -> None:
    """Tell the engine to stop until the work has ended."""
    end = time.monotonic() + PATIENCE
    while not done.is_set() and time.monotonic() < end:
        telling = threading.Thread(target=_tell, args=(engine,), daemon=True)
        telling.start()
        while telling.is_alive() and not done.wait(AGAIN):
            if time.monotonic() > end:
                return
        done.wait(AGAIN)


def _tell(engine: Engine) -> None:
    with contextlib.suppress(Exception):
        engine.interrupt()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # the thread is not in the child
