"""Before a fork every store lets go of its connection, and no transaction runs."""

from __future__ import annotations

import os

import pytest

from discreet.ledger import forks


class Store:
    """Notes what is done to it."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def hold(self) -> None:
        self.done.append("hold")

    def release(self) -> None:
        self.done.append("release")

    def let_go(self, *, child: bool = False) -> None:
        self.done.append("let go in the child" if child else "let go")


@pytest.mark.skipif(not hasattr(os, "register_at_fork"), reason="needs fork")
def test_a_store_is_held_and_released_before_and_let_go_after() -> None:
    store = Store()
    forks.before_each(store)
    forks._before_fork()
    assert store.done == ["hold", "release"]
    forks._after_fork()
    assert store.done == ["hold", "release", "let go"]
    forks._before_fork()
    forks._in_child()
    assert store.done[3:] == ["hold", "release", "let go in the child"]


def test_a_store_that_is_gone_is_forgotten() -> None:
    forks.before_each(Store())
    forks._before_fork()
    assert not any(isinstance(one, Store) for one in forks._held)
    forks._after_fork()
