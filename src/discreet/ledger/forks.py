"""Stores across forks: no connection is carried over, and no transaction runs while a process forks."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Protocol


class Forking(Protocol):
    """A store that must know of a fork."""

    def hold(self) -> None:
        """Wait for the running transaction and keep others out."""

    def release(self) -> None:
        """Let go of the connection that no child may have."""

    def let_go(self, *, child: bool = False) -> None:
        """Undo `hold`; in a forked child also forget the threads that waited."""


# A connection must not be used across a fork: to SQLite the child would seem to hold the parent's file locks, and a
# server takes the words of both for those of one. So every store lets go of its connection before a fork, and parent
# and child each open one again when they need it.
_stores: weakref.WeakSet[Forking] = weakref.WeakSet()
_held: list[Forking] = []
_forking = threading.RLock()  # one fork at a time, so that two cannot wait for each other's stores


def before_each(store: Forking) -> None:
    """Release a store before each fork, as long as it lives."""
    _stores.add(store)


def _before_fork() -> None:
    _forking.acquire()
    for store in list(_stores):
        store.hold()
        store.release()
        _held.append(store)


def _after_fork(child: bool = False) -> None:
    while _held:
        _held.pop().let_go(child=child)
    _forking.release()


def _in_child() -> None:
    _after_fork(child=True)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child)
