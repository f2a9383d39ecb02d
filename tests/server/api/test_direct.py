"""Addresses past the layers of the framework: the same answers, refusals and counts as through them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from discreet.server.api import direct
from tests.server.conftest import COUNT, Answer, Running, run

HOSPITAL = "/api/v1/datasets/hospital"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    yield from run(tmp_path_factory.mktemp("service"))


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that were served directly."""
    found: list[str] = []
    called = direct._Called.__call__

    async def noted(self: Any, request: Any, place: Any, body: Any) -> Any:
        found.append(request.url.path)
        return await called(self, request, place, body)

    monkeypatch.setattr(direct._Called, "__call__", noted)
    return found


def both(running: Running, served: list[str], path: str, who: str, body: object) -> tuple[Answer, Answer]:
    """The same request directly, and through the framework, which is asked for by a charset."""
    first = running.call("POST", f"{HOSPITAL}/{path}", who, body)
    assert len(served) == 1
    second = running.call(
        "POST", f"{HOSPITAL}/{path}", who, body, Content_Type="application/json; charset=utf-8"
    )
    assert len(served) == 1
    return first, second


@pytest.mark.parametrize(
    ("path", "who", "body"),
    [
        ("query", "ana", {"query": COUNT, "epsilon": "0.1"}),
        ("query", "ana", {"query": COUNT, "epsilon": "1000"}),  # more than there is
        ("query", "ana", {"query": COUNT}),  # no epsilon
        ("query", "ana", {"query": "SELECT age FROM visits", "epsilon": "0.1"}),  # refused, with a place
        ("query", "rita", {"query": COUNT, "epsilon": "0.1"}),  # may not ask
        ("query", "nobody", {"query": COUNT, "epsilon": "0.1"}),  # has no budget
        ("query", "stella", {"query": COUNT, "epsilon": "0.1"}),  # a steward
        ("preview", "rita", {"query": COUNT, "epsilon": "0.1"}),
        ("preview", "rita", {"query": COUNT, "within": {"n": 5}}),
        ("preview", "audrey", {"query": COUNT, "epsilon": "0.1"}),
    ],
)
def test_answers_and_refusals_are_those_of_the_framework(
    running: Running, served: list[str], path: str, who: str, body: object
) -> None:
    running.call("POST", f"{HOSPITAL}/{path}", who, body, Accept="text/csv")  # paid for now, if at all
    served.clear()
    first, second = both(running, served, path, who, body)
    assert (first.status, first.json) == (second.status, second.json)
    assert {name for name in first.headers if name != "date"} == {
        name for name in second.headers if name != "date"
    }
    assert first.headers["content-type"] == second.headers["content-type"]


@pytest.mark.parametrize(
    ("raw", "kind", "query"),
    [
        (b"{", "application/json", ""),
        (b"null", "application/json", ""),
        (b"[]", "application/json", ""),
        (b'{"query": 1}', "application/json", ""),
        (b'{"query": "SELECT 1", "more": 1}', "application/json", ""),
        (b'{"query": "SELECT 1"}', "text/plain", ""),
        (b'{"query": "SELECT 1"}', "application/json", "?format=nothing"),
    ],
)
def test_all_that_is_not_plain_goes_through_the_framework(
    running: Running, served: list[str], raw: bytes, kind: str, query: str
) -> None:
    answer = running.call("POST", f"{HOSPITAL}/query{query}", "ana", raw=raw, Content_Type=kind)
    assert answer.status == 422
    assert served == []


def test_a_key_that_stands_twice_reaches_neither(running: Running, served: list[str]) -> None:
    raw = b'{"query": "SELECT COUNT(*) AS n FROM visits", "epsilon": "0.1", "epsilon": "9"}'
    answer = running.call("POST", f"{HOSPITAL}/query", "ana", raw=raw)
    assert (answer.status, "twice" in answer.json["cause"], served) == (422, True, [])


def test_other_methods_and_no_token_are_refused_as_before(running: Running, served: list[str]) -> None:
    assert running.call("GET", f"{HOSPITAL}/query", "ana").status == 404
    assert running.call("POST", f"{HOSPITAL}/query", "", {"query": COUNT, "epsilon": 1}).status == 401
    assert served == []


def test_they_are_counted_by_their_address(running: Running, served: list[str]) -> None:
    def counted() -> str:
        return running.call("GET", "/api/v1/metrics", "audrey").data.decode()

    line = 'discreet_requests_total{address="/api/v1/datasets/{name}/preview",outcome="served"} '
    before = counted().partition(line)[2].partition("\n")[0]
    assert running.call("POST", f"{HOSPITAL}/preview", "ana", {"query": COUNT, "epsilon": 1}).status == 200
    assert int(counted().partition(line)[2].partition("\n")[0]) == int(before or 0) + 1
    assert len(served) == 1
