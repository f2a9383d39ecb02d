"""Questions that take too long, and answers that are too large."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from discreet.server import service
from discreet.session.queries import Queries
from tests.server.conftest import COUNT, Running

HOSPITAL = "/api/v1/datasets/hospital"


def test_a_time_out_stays_charged_and_its_answer_comes_for_nothing(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, go, plain = threading.Event(), threading.Event(), Queries.run

    def waits(*args: object) -> object:
        reached.set()
        go.wait(60)
        return plain(*args)  # type: ignore[arg-type]

    async def out_of_time(
        waiters: list[asyncio.Future[object]], timeout: float
    ) -> tuple[set[object], set[object]]:
        while not reached.is_set():  # the time is up once the question is charged and at work
            await asyncio.sleep(0.01)
        return set(), set(waiters)

    monkeypatch.setattr(Queries, "run", waits)
    question = {"query": COUNT, "epsilon": "0.5"}
    with monkeypatch.context() as hurried:
        hurried.setattr("discreet.server.desk.asyncio.wait", out_of_time)
        answer = running.call("POST", f"{HOSPITAL}/query", "ana", question)
    assert (answer.status, answer.json["error"]) == (504, "TimedOut")
    assert answer.json["charged"] == {"epsilon": "0.5", "delta": "0"}
    assert running.call("GET", f"{HOSPITAL}/budget", "ana").json["spent"] == "0.5"
    go.set()
    for _ in range(2000):
        (newest,) = running.call("GET", f"{HOSPITAL}/releases", "ana").json["releases"]
        if newest["answered"]:
            break
        time.sleep(0.02)
    again = running.call("GET", f"{HOSPITAL}/releases/{newest['key']}", "ana")
    assert len(again.json["rows"]) == 3
    assert running.call("POST", f"{HOSPITAL}/query", "ana", question).json["rows"] == again.json["rows"]
    assert running.call("GET", f"{HOSPITAL}/budget", "ana").json["spent"] == "0.5"


def test_very_many_groups_are_refused_before_the_charge(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "MOST_GROUPS", 2)
    for what in ("query", "mock"):
        answer = running.call("POST", f"{HOSPITAL}/{what}", "ben", {"query": COUNT, "epsilon": "0.5"})
        assert (answer.status, answer.json["error"]) == (422, "QueryRefused")
        assert "3 groups" in answer.json["cause"]
    assert running.call("GET", f"{HOSPITAL}/budget", "ben").json["spent"] == "0"


def test_a_data_set_that_was_taken_away_is_gone_and_its_losses_stay(running: Running) -> None:
    running.person("eve", epsilon=1)
    question = {"query": "SELECT AVG(age) AS age FROM visits", "epsilon": "0.75"}
    assert running.call("POST", f"{HOSPITAL}/query", "eve", question).status == 200
    assert running.call("DELETE", "/api/v1/people/eve/budgets/hospital", "stella").status == 200
    for method, path in (("GET", HOSPITAL), ("GET", f"{HOSPITAL}/releases"), ("POST", f"{HOSPITAL}/query")):
        assert running.call(method, path, "eve", question if method == "POST" else None).status == 404
    assert (
        running.call("PUT", "/api/v1/people/eve/budgets/hospital", "stella", {"epsilon": "1"}).status == 200
    )
    assert running.call("GET", f"{HOSPITAL}/budget", "eve").json["left"] == "0.25"


def test_a_token_that_is_revoked_is_worthless_at_once(running: Running) -> None:
    running.person("fay", epsilon=1)
    token = next(one["id"] for one in running.service.people.tokens() if one["name"] == "fay")
    assert running.call("GET", "/api/v1/me", "fay").status == 200
    assert running.call("DELETE", f"/api/v1/tokens/{token}", "stella").status == 200
    assert running.call("GET", "/api/v1/me", "fay").status == 401
