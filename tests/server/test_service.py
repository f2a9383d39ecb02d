"""Questions that take too long, and answers that are too large."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import pytest

from discreet.errors import LedgerError, PostProcessingError
from discreet.release.exactly import exact
from discreet.server import desk, service
from discreet.server.history import History
from discreet.server.records.asks import Began, budget_beside
from discreet.session.analyst import AnalystSession
from discreet.session.queries import Queries
from discreet.session.waiting import heavy
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


def test_very_many_numbers_are_refused_before_the_charge(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "MOST_VALUES", 8)
    several = {
        "query": "SELECT county, COUNT(*) AS a, AVG(age) AS b, SUM(age) AS c FROM visits GROUP BY county LIMIT 1",
        "epsilon": "0.5",
    }
    same = {"query": COUNT.replace("COUNT(*)", "COUNT(*) AS m, COUNT(*)"), "epsilon": "0.5"}
    for what, question in (("query", several), ("mock", several), ("query", same)):
        answer = running.call("POST", f"{HOSPITAL}/{what}", "ben", question)
        assert (answer.status, answer.json["error"]) == (422, "QueryRefused")
        assert "9 numbers" in answer.json["cause"]
    both = {"queries": {"a": COUNT, "b": same["query"]}, "epsilon": "0.5"}
    answer = running.call("POST", f"{HOSPITAL}/workload", "ben", both)
    assert (answer.status, answer.json["cause"].count("15 numbers")) == (422, 1)
    assert running.call("GET", f"{HOSPITAL}/budget", "ben").json["spent"] == "0"


def test_a_statement_that_does_not_end_is_refused_before_the_charge(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heavy, "MANY", 4)
    monkeypatch.setattr(heavy, "PATIENCE", -1.0)
    crossed = f"WITH g AS ({COUNT}) SELECT SUM(a.n) AS s FROM g a, g b"
    answer = running.call("POST", f"{HOSPITAL}/query", "ben", {"query": crossed, "epsilon": "0.5"})
    assert (answer.status, answer.json["error"], answer.json["charged"]) == (422, "QueryRefused", None)
    both = {"queries": {"a": COUNT, "b": crossed}, "epsilon": "0.5"}
    answer = running.call("POST", f"{HOSPITAL}/workload", "ben", both)
    assert (answer.status, answer.json["error"], answer.json["charged"]) == (422, "QueryRefused", None)
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


def test_an_answer_is_not_to_be_had_before_its_slot(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    running.person("gus", epsilon=1)
    question = {"query": COUNT, "epsilon": "0.25"}
    asked, slot, plain = [], threading.Event(), asyncio.sleep

    async def sleep(seconds: float) -> None:
        while seconds > 1e6 and not slot.is_set():  # else it is the server's own
            await plain(0.01)
        if seconds < 1e6:
            await plain(seconds)

    def released() -> tuple[bool, int, str]:
        (one,) = running.call("GET", f"{HOSPITAL}/releases", "gus").json["releases"]
        seen = running.call("GET", f"{HOSPITAL}/releases/{one['key']}", "gus")
        return one["answered"], seen.status, seen.json.get("cause", "")

    slot_after = desk.slot_after
    monkeypatch.setattr(desk, "slot_after", lambda elapsed, base: 1e9)
    monkeypatch.setattr("discreet.server.desk.asyncio.sleep", sleep)
    asker = threading.Thread(
        target=lambda: asked.append(running.call("POST", f"{HOSPITAL}/query", "gus", question).status)
    )
    asker.start()
    history = running.service.datasets["hospital"].history
    while not any(history.answered(key) for key in history.of("gus")):
        time.sleep(0.01)
    (key,) = history.of("gus")
    at_work = running.service.questions.at_work()
    held = [(work.dataset, work.key) for work in at_work if isinstance(work, Began)]
    try:
        assert held == [("hospital", key)], "the desk holds it back, whoever asks"
        assert released() == (False, 422, "This question has no answer yet.")
        with monkeypatch.context() as patch:  # not in the ledger either, which another process is asked about
            patch.setattr(history, "answered", lambda key: False)
            patch.setattr(running.service.asks, "held_back", lambda dataset, key: False)
            assert released() == (False, 422, "This question has no answer yet."), (
                "else the moment would be told"
            )
    finally:
        slot.set()
    asker.join(20)
    assert asked == [200]
    monkeypatch.setattr(desk, "slot_after", slot_after)
    end = time.monotonic() + 20
    while released()[:2] != (True, 200):
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize(("name", "status"), [("olga", 200), ("otto", 502)])
def test_the_slot_of_an_answer_is_counted_to_its_settlement(
    running: Running, monkeypatch: pytest.MonkeyPatch, name: str, status: int
) -> None:
    """Of an error above the noise, too, which the ledger keeps as it keeps an answer."""
    running.person(name, epsilon=9)
    seen: list[float | None] = []
    done = desk.Desk._done

    def noted(self: desk.Desk, one: desk._CallerWork) -> None:
        done(self, one)
        if self is running.service.questions:
            seen.append(one.took())

    def fail(*_: object, **__: object) -> None:
        raise PostProcessingError("It is too large.", "Ask for less.")

    monkeypatch.setattr(desk.Desk, "_done", noted)
    if status != 200:
        monkeypatch.setattr(Queries, "finish", fail)
    began = running.service.state.exactly() / 1e6
    question = {"query": COUNT, "epsilon": exact(Fraction(status, 1024))}
    assert running.call("POST", f"{HOSPITAL}/query", name, question).status == status
    history = running.service.datasets["hospital"].history
    (key,) = history.of(name)
    settled, (took,) = history.settled(key), seen
    assert settled is not None
    assert settled.analyst == name
    assert took is not None
    assert 0 < took <= settled.kept.timestamp() - began


@pytest.mark.parametrize("form", ["json", "csv", "arrow"])
def test_the_budget_beside_an_answer_is_that_right_after_its_charge(
    running: Running, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """Else it would count the other charges until the work ended, and tell when that was."""
    running.person(f"pia{form}", epsilon=9)
    terms = running.service.people.grants(f"pia{form}")["hospital"]
    session = running.service.datasets["hospital"].analyst(f"pia{form}", terms)
    finish, said = Queries.finish, list[object]()

    def slowly(*given: Any, **more: Any) -> Any:
        monkeypatch.setattr(Queries, "finish", finish)
        with ThreadPoolExecutor(1) as pool:  # meanwhile
            pool.submit(session.sql, COUNT, f"0.0{len(form)}7").result()
        return finish(*given, **more)

    def noted(of: AnalystSession) -> object:
        said.append(budget_beside(of))
        return said[-1]

    monkeypatch.setattr(Queries, "finish", slowly)
    monkeypatch.setattr("discreet.server.api.analyst.budget_beside", noted)
    question = {"query": f"{COUNT} WHERE age < {len(form)}3", "epsilon": "0.5"}
    assert running.call("POST", f"{HOSPITAL}/query?format={form}", f"pia{form}", question).status == 200
    assert repr(said[0]).startswith("epsilon 8.5 left of 9 (0.5 spent)")
    assert session.budget.spent > Fraction(1, 2)


def test_a_refused_question_leaves_nothing_on_the_disk(running: Running) -> None:
    running.person("hal", epsilon=1)
    assert running.call("POST", f"{HOSPITAL}/query", "hal", {"query": COUNT, "epsilon": "1.5"}).status == 409
    assert running.service.state.first_row("SELECT * FROM asks WHERE name = 'hal'") is None
    for _ in range(2):
        running.call("POST", f"{HOSPITAL}/query", "hal", {"query": COUNT, "epsilon": "0.75"})
    assert len(running.call("GET", f"{HOSPITAL}/releases", "hal").json["releases"]) == 1


def test_rows_that_are_made_above_the_noise_are_limited_too(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "MOST_GROUPS", 8)
    running.person("ida", epsilon=1)
    crossed = f"SELECT a.n FROM ({COUNT}) a, ({COUNT}) b"
    for charged in ({"epsilon": "0.5", "delta": "0"}, None):  # the noisy tables are kept
        answer = running.call("POST", f"{HOSPITAL}/query", "ida", {"query": crossed, "epsilon": "0.5"})
        assert (answer.status, answer.json["error"]) == (502, "PostProcessingError")
        assert answer.json["charged"] == charged
    assert running.call("GET", f"{HOSPITAL}/budget", "ida").json["spent"] == "0.5"
    free = running.call("POST", f"{HOSPITAL}/query", "ida", {"query": "SELECT * FROM range(9)"})
    assert (free.status, free.json["charged"]) == (502, None)
    mock = running.call("POST", f"{HOSPITAL}/mock", "ida", {"query": crossed, "epsilon": "0.5"})
    assert (mock.status, mock.json["charged"]) == (502, None)


def test_an_answer_that_cannot_be_written_is_told_as_charged(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The budget left is read once more for the answer, when the ledger may be out of reach."""

    def unread(_: AnalystSession, *, here: bool) -> None:
        raise LedgerError("The disk is full.", "Make room.")

    running.person("lou", epsilon=1)
    question = {"query": COUNT, "epsilon": "0.5"}
    with monkeypatch.context() as broken:
        broken.setattr(AnalystSession, "_budget", unread)
        for charged in ({"epsilon": "0.5", "delta": "0"}, None):
            answer = running.call("POST", f"{HOSPITAL}/query", "lou", question)
            assert (answer.status, answer.json["error"]) == (503, "LedgerError")
            assert answer.json["charged"] == charged
    assert running.call("POST", f"{HOSPITAL}/query", "lou", question).status == 200
    assert running.call("GET", f"{HOSPITAL}/budget", "lou").json["spent"] == "0.5"


def test_an_answer_that_was_paid_for_meanwhile_is_told_as_free(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same question may be asked twice at once: one of the two pays, and the other one is given the answer."""

    def unread(_: AnalystSession) -> None:
        raise LedgerError("The disk is full.", "Make room.")

    running.person("mia", epsilon=1)
    question = {"query": COUNT, "epsilon": "0.5"}
    assert running.call("POST", f"{HOSPITAL}/query", "mia", question).status == 200
    with monkeypatch.context() as late:  # as the charge of the other one looks just before it is there
        late.setattr(History, "paid", lambda *_: False)
        late.setattr(AnalystSession, "budget", property(unread))
        answer = running.call("POST", f"{HOSPITAL}/query?format=csv", "mia", question)
    assert (answer.status, answer.json["charged"]) == (503, None)
    assert running.call("GET", f"{HOSPITAL}/budget", "mia").json["spent"] == "0.5"


def test_analysts_cannot_keep_others_from_looking(running: Running) -> None:
    go = threading.Event()
    crowd = [
        threading.Thread(target=lambda: asyncio.run(running.service.looks.do("ana", lambda: go.wait(20))))
        for _ in range(running.service.looks.caps.each)
    ]
    for one in crowd:
        one.start()
    while len(running.service.looks.at_work()) < len(crowd):
        time.sleep(0.01)
    assert running.call("GET", f"{HOSPITAL}/budget", "ben").status == 200  # would wait for all of them
    assert not go.is_set()
    assert running.service.office is not running.service.looks
    go.set()
    for one in crowd:
        one.join(20)
