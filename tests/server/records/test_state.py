"""The state of a service, in a file and in a database alike."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from time import monotonic, sleep

import pytest

from discreet.ledger.group_commit import QueuedWork
from discreet.server.records.state import ServiceState
from tests.server.conftest import OpenState


def test_it_is_kept(open_state: OpenState, kept: str) -> None:
    first = open_state(kept)
    first.note("ana", "signed in")
    first.close()
    second = open_state(kept)
    assert [line.who for line in second.audit(10)] == ["ana"]
    assert second.audit(10, before=1) == []
    second.close()


def test_a_transaction_that_fails_leaves_nothing(open_state: OpenState, kept: str) -> None:
    state = open_state(kept)

    def fails() -> None:
        with state.writing():
            state.note("ana", "signed in")
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fails()
    assert state.audit(10) == []
    state.close()


def test_threads_and_processes_share_it(open_state: OpenState, kept: str) -> None:
    states = [open_state(kept) for _ in range(3)]

    def write(state: ServiceState) -> None:
        for at in range(20):
            with state.writing():
                state.note("ana", str(at))

    threads = [threading.Thread(target=write, args=(state,)) for state in states for _ in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(states[0].audit(1000)) == 120
    assert states[0].verify().number == 120
    for state in states:
        state.close()


def see_noted(state: ServiceState) -> None:
    """Sixteen threads note something at once, and one of them fails: each other line is there, and not twice.

    All of them wait behind another one, so that they share one transaction.
    """
    failed: list[int] = []

    def note(at: int) -> None:
        def work() -> int:
            state.note("ana", str(at))
            if at == 7:
                raise ValueError("no")
            return at

        try:
            assert state.together(work) == at
        except ValueError:
            failed.append(at)

    begun, first = threading.Event(), threading.Event()

    def hold() -> None:
        begun.set()
        first.wait(60)

    threads = [threading.Thread(target=state.together, args=(hold,))]
    threads += [threading.Thread(target=note, args=(at,)) for at in range(16)]
    for one in threads:
        one.start()
        assert begun.wait(60)
    deadline = monotonic() + 60
    while len(state._group._waiting) < 16 and monotonic() < deadline:
        sleep(0.001)
    first.set()
    for one in threads:
        one.join()
    assert failed == [7]
    assert sorted(int(line.action) for line in state.audit(100)) == [at for at in range(16) if at != 7]
    assert state.verify().number == 15


def test_those_who_write_together_lose_nothing(open_state: OpenState, kept: str) -> None:
    state = open_state(kept)
    see_noted(state)
    state.close()


@pytest.mark.parametrize("fault", ["one is lost", "an error is everybody's"])
def test_a_shared_commit_that_is_wrong_is_found(
    open_state: OpenState, kept: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted faults."""
    state = open_state(kept)
    together = ServiceState._together

    def wrong(self: ServiceState, requests: Sequence[QueuedWork]) -> None:
        if len(requests) == 1:
            together(self, requests)
        elif fault == "one is lost":
            together(self, [one for one in requests if one is not requests[-1]])
            requests[-1].done = True
        else:
            together(self, requests)
            for one in requests:
                one.done = True  # though the transaction was undone

    state._group._run = lambda requests: wrong(state, requests)
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    with pytest.raises(AssertionError):
        see_noted(state)
    state.close()
