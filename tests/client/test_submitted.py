"""Questions that are submitted and fetched later."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

import discreet as dp
from discreet.client import RemoteSession
from discreet.errors import BudgetExceeded, InvalidParameter, NotAllowed, QueryRefused, TimedOut
from tests.server.conftest import COUNT, Running, run


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    yield from run(tmp_path_factory.mktemp("service"))


@pytest.fixture
def far(running: Running) -> RemoteSession:
    return dp.connect(running.url, token=running.tokens["ana"])


def test_the_answer_is_that_of_the_same_question_asked_at_once(running: Running, far: RemoteSession) -> None:
    asked = far.submit(COUNT, 0.5)
    assert (
        repr(asked)
        == f"<Submitted question {asked.key[:12]} at {running.url}; result() waits for its answer>"
    )
    found = asked.result(20)
    assert asked.status() == "answered"
    assert far.submitted(asked.key).result().to_dict() == found.to_dict()
    at_once = far.sql(COUNT, 0.5)
    assert at_once.replayed
    assert at_once.to_dict() == found.to_dict()


def test_a_question_that_waits_is_taken_back_and_costs_nothing(running: Running, far: RemoteSession) -> None:
    go, desk = threading.Event(), running.service.questions
    blocked = [desk._pool.submit(go.wait, 20) for _ in range(desk.caps.workers)]
    before = far.budget.spent
    try:
        asked = far.submit(COUNT, 0.25)
        assert asked.status() == "at work"
        with pytest.raises(TimedOut):
            asked.result(0.01)
        assert asked.cancel()
        with pytest.raises(QueryRefused, match="taken back"):
            asked.result(20)
        assert asked.status() == "cancelled"
    finally:
        go.set()
    assert [one.result() for one in blocked] == [True] * len(blocked)
    assert far.budget.spent == before


def test_errors_come_with_the_question_or_its_result(running: Running, far: RemoteSession) -> None:
    with pytest.raises(QueryRefused, match="nothing"):
        far.submit("SELECT nothing FROM visits", 0.1)
    with pytest.raises(InvalidParameter, match="invented"):
        far.mock(10).submit(COUNT, 0.1)
    with pytest.raises(BudgetExceeded):
        far.submit(COUNT, 1000).result(20)
    with pytest.raises(NotAllowed):
        far.submitted("0" * 64).result()
    other = dp.connect(running.url, token=running.tokens["ben"])
    key = far.submit(COUNT, 0.125).key
    with pytest.raises(NotAllowed):
        other.submitted(key).result()
