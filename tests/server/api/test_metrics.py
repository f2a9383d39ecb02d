"""Figures for Prometheus: they can be read, and none depends on data."""

from __future__ import annotations

import inspect
import re
from types import SimpleNamespace
from typing import Any

import pytest

from discreet.errors import EngineError
from discreet.server.api import analyst
from discreet.server.pages import analyst as pages
from discreet.server.records.counted import RequestCounts
from discreet.session.queries import Queries
from tests.server.conftest import COUNT, Running

LINE = re.compile(r'# HELP \w+ .+|# TYPE \w+ \w+|\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? -?[0-9.e+-]+')

CHARGES = 'discreet_charges_total{dataset="hospital"}'


def figures(running: Running) -> dict[str, str]:
    answer = running.call("GET", "/api/v1/metrics", "audrey")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.data.decode().splitlines()
    assert all(LINE.fullmatch(line) for line in lines)
    return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))


def served(path: str, outcome: str = "served") -> str:
    return f'discreet_requests_total{{address="/api/v1/datasets/{{name}}/{path}",outcome="{outcome}"}}'


def test_requests_and_budgets_are_counted(running: Running) -> None:
    before = figures(running)
    question = {"query": COUNT, "epsilon": "0.125"}
    assert running.call("POST", "/api/v1/datasets/hospital/query", "ana", question).status == 200
    assert (
        running.call("POST", "/api/v1/datasets/hospital/query", "ana", {**question, "epsilon": 0}).status
        == 422
    )
    after = figures(running)
    assert int(after[served("query")]) == int(before.get(served("query"), 0)) + 1
    assert int(after[served("query", "refused")]) == int(before.get(served("query", "refused"), 0)) + 1
    spent = 'discreet_budget_epsilon{dataset="hospital",kind="spent"}'
    assert float(after[spent]) - float(before[spent]) == 0.125
    assert int(after[CHARGES]) == int(before[CHARGES]) + 1


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("query", {"query": COUNT, "epsilon": "1/32"}),
        ("workload", {"queries": {"n": COUNT}, "epsilon": "1/33"}),
        ("integers", {"query": COUNT, "epsilon": "1/34"}),
    ],
)
def test_a_failure_after_the_charge_counts_as_an_answer(
    path: str, asked: dict[str, object], running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise EngineError("1042 patients")

    before = figures(running)
    monkeypatch.setattr(Queries, "run", fails)
    assert running.call("POST", f"/api/v1/datasets/hospital/{path}", "ana", asked).status == 502
    after = figures(running)
    assert int(after[served(path)]) == int(before.get(served(path), 0)) + 1
    assert served(path, "failed") not in after
    assert int(after[CHARGES]) == int(before[CHARGES]) + 1


def charging(route: Any) -> bool:
    """Whether an endpoint, or the function of the pages that it calls, gives a question to the desk."""
    return any(words in inspect.getsource(route.endpoint) for words in (".ask(", ".submit("))


def test_every_address_that_charges_counts_a_failure_as_an_answer(running: Running) -> None:
    routers: list[Any] = [analyst.router, pages.router]
    found = {route.path for router in routers for route in router.routes if charging(route)}
    assert {path.rpartition("/")[2] for path in found} == {
        "query",
        "workload",
        "integers",
        "questions",
        "ask",
    }
    counted = RequestCounts()
    for path in found:
        counted.add(SimpleNamespace(path=path), 502)
    assert not [line for line in counted.lines() if "failed" in line]


def test_charges_are_counted_and_not_when_or_whether_one_was_answered(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = running.service.datasets["hospital"].session

    def fails(*_: object) -> None:
        raise EngineError("1042 patients")

    def steps(epsilon: str) -> tuple[int, int]:
        """How many charges one question adds to the figures, and how many entries to the ledger."""
        before, entries = int(figures(running)[CHARGES]), session.ledger.head().number
        running.call("POST", "/api/v1/datasets/hospital/query", "ana", {"query": COUNT, "epsilon": epsilon})
        return int(figures(running)[CHARGES]) - before, session.ledger.head().number - entries

    assert steps("1/16") == (1, 2)
    monkeypatch.setattr(Queries, "run", fails)
    assert steps("1/17") == (1, 1)  # the entries, which were shown here once, tell the two apart
