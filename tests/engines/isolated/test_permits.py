"""Permits: so many at once, the next for the caller with the fewest, and none that is lost."""

from __future__ import annotations

import contextlib
import threading
import time
from contextlib import ExitStack

import pytest

from discreet.engines.isolated.permits import Permits

PATIENCE = 30.0


def begun(
    permits: Permits, caller: str, order: list[str], leave: threading.Event | None = None
) -> threading.Thread:
    """A thread that takes one permit, once it stands in the row, and keeps it until it is to leave."""

    def take() -> None:
        with permits.taken(caller, PATIENCE) as had:
            order.append(caller if had else "none")
            if leave is not None:
                leave.wait(PATIENCE)

    before = len(permits._waiting)
    one = threading.Thread(target=take)
    one.start()
    until = time.monotonic() + PATIENCE
    while len(permits._waiting) == before and time.monotonic() < until:
        time.sleep(0.001)
    return one


def test_the_next_one_is_for_whoever_holds_the_fewest() -> None:
    """Two callers hold all, and more of theirs came first."""
    permits, order = Permits(4), list[str]()
    with ExitStack() as stack:
        held = [stack.enter_context(ExitStack()) for _ in range(4)]
        for at, one in enumerate(held):
            assert one.enter_context(permits.taken(("ada", "ada", "ada", "ben")[at], 0))
        threads = [begun(permits, name, order) for name in ("ada", "ada", "ben", "cleo", "dan")]
        held[3].close()  # one of ben's
        for thread in threads:
            thread.join(PATIENCE)
    assert order[:3] == ["ben", "cleo", "dan"]
    assert order[3:] == ["ada", "ada"]


def test_nobody_waits_while_one_is_free() -> None:
    permits = Permits(8)
    with ExitStack() as stack:
        assert all(stack.enter_context(permits.taken("ada", 0)) for _ in range(8))
        assert not stack.enter_context(permits.taken("ben", 0.01))


def test_two_that_come_free_at_once_are_both_taken() -> None:
    """Whoever came first is not the next, and looks before the next one has taken one of the two."""
    permits, order, leave = Permits(3), list[str](), threading.Event()
    with ExitStack() as stack:
        others = stack.enter_context(ExitStack())
        for name, held in (("ada", stack), ("cleo", others), ("dan", others)):
            held.enter_context(permits.taken(name, 0))
        threads = [begun(permits, name, order, leave) for name in ("ada", "ben")]
        with permits._changed:  # nobody looks in between
            others.close()
        until = time.monotonic() + PATIENCE / 2
        while len(order) < 2 and time.monotonic() < until:
            time.sleep(0.001)
        taken = list(order)
        leave.set()
        for thread in threads:
            thread.join(PATIENCE)
    assert sorted(taken) == ["ada", "ben"]


@pytest.mark.parametrize("callers", [1, 3])
def test_all_are_given_back(callers: int) -> None:
    permits, done = Permits(2), list[bool]()

    def work(name: str) -> None:
        for _ in range(50):
            with contextlib.suppress(ZeroDivisionError), permits.taken(name, PATIENCE) as had:
                done.append(had)
                raise ZeroDivisionError

    threads = [threading.Thread(target=work, args=(f"{at % callers}",)) for at in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert done == [True] * 300
    assert (permits._free, dict(permits._held), permits._waiting) == (2, {}, [])
