"""The state of a service, in a file and in a database alike."""

from __future__ import annotations

import threading

import pytest

from discreet.server.records.state import State


def test_it_is_kept(kept: str) -> None:
    first = State(kept)
    first.note("ana", "signed in")
    first.close()
    second = State(kept)
    assert [line.who for line in second.audit(10)] == ["ana"]
    assert second.audit(10, before=1) == []
    second.close()


def test_a_transaction_that_fails_leaves_nothing(kept: str) -> None:
    state = State(kept)

    def fails() -> None:
        with state.writing():
            state.note("ana", "signed in")
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fails()
    assert state.audit(10) == []
    state.close()


def test_threads_and_processes_share_it(kept: str) -> None:
    states = [State(kept) for _ in range(3)]

    def write(state: State) -> None:
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
