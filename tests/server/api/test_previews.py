"""Previews offer no price for a question that the service refuses for the size of its answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from discreet.server import service
from tests.server.conftest import COUNT, Running, run
from tests.server.visit import Visit

HOSPITAL = "/api/v1/datasets/hospital"
TOTAL = "SELECT COUNT(*) AS n FROM visits"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    yield from run(tmp_path_factory.mktemp("service"))


@pytest.mark.parametrize(("most", "said"), [("MOST_GROUPS", "3 groups"), ("MOST_VALUES", "numbers")])
def test_a_question_that_is_too_large_has_no_preview(
    running: Running, monkeypatch: pytest.MonkeyPatch, most: str, said: str
) -> None:
    asked: list[tuple[str, dict[str, object]]] = [
        ("preview", {"query": COUNT, "epsilon": "0.5"}),
        ("preview", {"query": COUNT, "within": {"n": 50}}),
        ("workload/preview", {"queries": {"a": COUNT, "b": TOTAL}, "epsilon": "0.5"}),
        ("offer", {"query": COUNT, "epsilon": "0.5"}),
    ]
    for address, body in asked:
        assert running.call("POST", f"{HOSPITAL}/{address}", "ben", body).status == 200, address
    monkeypatch.setattr(service, most, 2)
    for address, body in asked:
        answer = running.call("POST", f"{HOSPITAL}/{address}", "ben", body)
        assert (answer.status, answer.json["error"]) == (422, "QueryRefused"), address
        if "queries" not in body:
            assert said in answer.json["cause"]
    small = running.call("POST", f"{HOSPITAL}/preview", "ben", {"query": TOTAL, "epsilon": "0.5"})
    assert small.status == 200


def test_its_page_says_so_and_has_no_button_that_asks(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    visit = Visit(running, "ben")
    two = f"{COUNT};\n{TOTAL}"
    for query in (COUNT, two):
        assert (
            b"Ask, and pay epsilon 0.5"
            in visit.send("/data/hospital/preview", query=query, epsilon="0.5").data
        )
    monkeypatch.setattr(service, "MOST_GROUPS", 2)
    for query in (COUNT, two):
        page = visit.send("/data/hospital/preview", query=query, epsilon="0.5").data.decode()
        assert "the service gives at most 2." in page
        assert "Ask, and pay" not in page
        assert "From better privacy to better accuracy" not in page
