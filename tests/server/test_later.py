"""Questions that are asked now and answered later: each state, and that nothing is told before its slot."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from discreet.errors import EngineError
from discreet.server.desk import Caps
from discreet.session.queries import Queries
from tests.server.conftest import COUNT, FAST, Running, run

HOSPITAL = "/api/v1/datasets/hospital"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    settings = replace(FAST, caps=Caps(slot=0.005, timeout=20.0, workers=1))
    yield from run(tmp_path_factory.mktemp("service"), settings)


def submitted(running: Running, who: str, epsilon: str) -> str:
    answer = running.call("POST", f"{HOSPITAL}/questions", who, {"query": COUNT, "epsilon": epsilon})
    assert (answer.status, answer.json["status"]) == (202, "at work"), answer.data
    return str(answer.json["key"])


def status(running: Running, who: str, key: str) -> Any:
    return running.call("GET", f"{HOSPITAL}/questions/{key}", who).json


def ended(running: Running, who: str, key: str) -> Any:
    until = time.monotonic() + 20
    while (said := status(running, who, key))["status"] == "at work" and time.monotonic() < until:
        time.sleep(0.01)
    return said


class Held:
    """Keeps the only worker busy until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.go, self.begun, plain = threading.Event(), threading.Event(), Queries.run

        def slowly(queries: Queries, *more: Any) -> Any:
            self.begun.set()
            assert self.go.wait(20)
            return plain(queries, *more)

        monkeypatch.setattr(Queries, "run", slowly)


def test_a_question_is_answered_later_and_its_answer_is_free(running: Running) -> None:
    key = submitted(running, "ana", "0.125")
    assert ended(running, "ana", key) == {"key": key, "status": "answered"}
    release = running.call("GET", f"{HOSPITAL}/releases/{key}", "ana")
    assert release.status == 200
    assert submitted(running, "ana", "0.125") == key
    assert running.call("GET", f"{HOSPITAL}/budget", "ana").json["spent"] == "0.125"
    assert status(running, "ben", key)["error"] == "NotAllowed", "it is nobody else's business"


def test_one_that_was_not_begun_is_taken_back_uncharged(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(monkeypatch)
    running.person("cyd", epsilon=1)
    first, second = (submitted(running, "cyd", epsilon) for epsilon in ("0.25", "0.5"))
    assert {status(running, "cyd", key)["status"] for key in (first, second)} == {"at work"}
    assert held.begun.wait(20)
    assert running.call("DELETE", f"{HOSPITAL}/questions/{second}", "ben").status == 404
    assert running.call("DELETE", f"{HOSPITAL}/questions/{second}", "cyd").json["cancelled"]
    assert not running.call("DELETE", f"{HOSPITAL}/questions/{first}", "cyd").json["cancelled"]
    held.go.set()
    assert ended(running, "cyd", first)["status"] == "answered"
    assert ended(running, "cyd", second)["status"] == "cancelled"
    assert running.call("GET", f"{HOSPITAL}/budget", "cyd").json["spent"] == "0.25"
    assert running.call("DELETE", f"{HOSPITAL}/questions/{first}", "cyd").status == 404


def test_refusals_and_failures_are_told(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    running.person("dan", epsilon=1)
    for query, epsilon in (
        ("SELECT nonsense FROM visits", "0.1"),
        ("SELECT * FROM information_schema.tables", "0.1"),
    ):
        answer = running.call("POST", f"{HOSPITAL}/questions", "dan", {"query": query, "epsilon": epsilon})
        assert (answer.status, answer.json["error"]) == (422, "QueryRefused")
    said = ended(running, "dan", submitted(running, "dan", "2"))
    assert (said["status"], said["error"], said["charged"]) == ("failed", "BudgetExceeded", None)

    def fails(*_: Any) -> Any:
        raise EngineError("1042 patients")

    monkeypatch.setattr(Queries, "run", fails)
    said = ended(running, "dan", key := submitted(running, "dan", "0.5"))
    assert (said["status"], said["error"], said["charged"]["epsilon"]) == ("failed", "EngineError", "0.5")
    assert "1042" not in str(said)
    running.service.later._known.clear()  # as in another process, or a later one
    assert status(running, "dan", key)["status"] == "at work", "as far as that process knows"
    now = running.service.state.exactly
    monkeypatch.setattr(running.service.state, "exactly", lambda: now() + 21_000_000)
    assert status(running, "dan", key)["status"] == "charged"


def test_the_end_is_not_told_before_its_slot(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    running.person("fay", epsilon=1)
    monkeypatch.setattr("discreet.server.desk.slot_after", lambda elapsed, base: elapsed + 2)
    key = submitted(running, "fay", "0.375")  # which nobody was answered before
    history = running.service.datasets["hospital"].history
    while not (key in history.of("fay") and history.answered(key)):
        time.sleep(0.01)
    assert status(running, "fay", key)["status"] == "at work"
    running.service.later._known.clear()
    assert status(running, "fay", key)["status"] == "at work", "nor by another process"
    with monkeypatch.context() as before:
        before.setattr(history, "answered", lambda key: False)
        assert status(running, "fay", key)["status"] == "at work", "else the moment would be told"
    assert ended(running, "fay", key)["status"] == "answered"


def test_a_statement_that_fails_above_its_numbers_is_told_with_its_charge(running: Running) -> None:
    """It was said to be answered, and fetching it told of an error for which nothing was charged."""
    running.person("gus", epsilon=1)
    # On invented numbers, as it is tried before the charge, it does not fail.
    fails = f"SELECT CASE WHEN n > 9 THEN error('too many') ELSE 'few' END AS s FROM ({COUNT})"
    answer = running.call("POST", f"{HOSPITAL}/questions", "gus", {"query": fails, "epsilon": "0.5"})
    said = ended(running, "gus", str(answer.json["key"]))
    assert (said["status"], said["error"]) == ("failed", "PostProcessingError")
    assert said["charged"] == {"epsilon": "0.5", "delta": "0"}
    assert "too many" not in str(said)
