"""Who asks a question that is being answered elsewhere waits for that answer, and pays nothing.

A turn is a lock that ends with its holder, however that ends: threads of a process take turns by a lock in memory,
processes by a lock that ends with a process: a byte of a file beside the ledger, or a lock of the server. A turn is a
courtesy: it saves budget and guards nothing. Who cannot have it in time is charged as before.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import threading
import time
from collections.abc import Iterator

from discreet.ledger.store import Turns

if sys.platform != "win32":
    import fcntl

WAIT = 60.0
"""Seconds to wait for the same question elsewhere."""
_PAUSE = 0.05
_NEXT = 1 << 60
"""The byte of whoever writes next: behind those of all questions."""
POLITE, HURRIED = 2.0, 0.05
"""Seconds to wait for whoever writes next, and after such a wait was in vain: it may be a process that was stopped."""


class _QuestionLock:
    """The lock of one question in this process, and how many hold it or wait for it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0


_mutex = threading.Lock()
_locks: dict[tuple[str, str], _QuestionLock] = {}
_files: dict[str, int] = {}  # never closed: closing one would free all locks that this process has in it


@contextlib.contextmanager
def turn(place: str, question: str, wait: float = WAIT, beyond: Turns | None = None) -> Iterator[bool]:
    """Be the only one to ask a question, or wait for whoever does.

    Args:
        place: the name that tells ledgers apart.
        question: the canonical question.
        wait: seconds to wait at most.
        beyond: locks that other processes see.

    Yields:
        Whether the turn was had in time.
    """
    deadline = time.monotonic() + wait
    key = (place, question)
    with _mutex:
        held = _locks.setdefault(key, _QuestionLock())
        held.users += 1
    mine = False
    try:
        mine = held.lock.acquire(timeout=wait)
        if not mine:
            yield False
            return
        taken = beyond is not None and beyond.take(question, deadline)
        try:
            yield beyond is None or taken
        finally:
            if taken and beyond is not None:
                beyond.give(question)
    finally:
        if mine:
            held.lock.release()
        with _mutex:
            held.users -= 1
            if not held.users:
                _locks.pop(key, None)


class FileTurns:
    """Locks of single bytes of a file, which the system frees when a process ends.

    Args:
        place: the path of the file, which is made where it is not there.
    """

    def __init__(self, place: str) -> None:
        self._place = place
        self._polite = POLITE

    def take(self, question: str, deadline: float) -> bool:
        """See `Turns`."""
        file = _file(self._place)
        return file is not None and _lock(file, _byte(question), deadline)

    def give(self, question: str) -> None:
        """See `Turns`."""
        file = _file(self._place)
        if file is not None:
            _unlock(file, _byte(question))

    @contextlib.contextmanager
    def next_to_write(self, wait: float) -> Iterator[bool]:
        """Be the next of all processes to write: none that has just written comes first, however fast it is.

        It is a courtesy, and another lock keeps writers apart. So nobody waits for long: a process that is stopped
        while it is the next would else hold up each write of all others.

        Args:
            wait: seconds at most; then go on without.

        Yields:
            Whether it is the next.
        """
        file = _file(self._place)
        mine = file is not None and _lock(file, _NEXT, time.monotonic() + min(wait, self._polite), 0.0005)
        self._polite = POLITE if mine else HURRIED
        try:
            yield mine
        finally:
            if mine and file is not None:
                _unlock(file, _NEXT)


def _byte(question: str) -> int:
    return int.from_bytes(hashlib.sha256(question.encode()).digest()[:7], "big")


def _file(place: str) -> int | None:
    """The file of turns, open; None where it cannot be had."""
    if sys.platform == "win32":
        return None
    with _mutex:
        if place not in _files:
            try:
                _files[place] = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except OSError:
                return None
        return _files[place]


def _lock(file: int, byte: int, deadline: float, pause: float = _PAUSE) -> bool:
    if sys.platform == "win32":
        return False
    while True:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
        except (BlockingIOError, PermissionError):
            if time.monotonic() > deadline:
                return False
            time.sleep(pause)
        except OSError:  # no locks on this file system
            return False
        else:
            return True


def _unlock(file: int, byte: int) -> None:
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            fcntl.lockf(file, fcntl.LOCK_UN, 1, byte)


def _in_child() -> None:
    # The threads that held these are not in the child, and it inherits no lock of a file.
    global _mutex
    _mutex = threading.Lock()
    _locks.clear()
    while _files:
        with contextlib.suppress(OSError):
            os.close(_files.popitem()[1])


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
