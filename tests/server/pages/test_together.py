"""Several statements in the editor are one workload: previewed, asked for one price, and free again."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from fractions import Fraction

import pytest

from discreet.ledger.terms import Terms
from discreet.server.pages.together import several
from tests.server.conftest import COUNT, Running, run
from tests.server.visit import Visit

TEXT = f"-- by <i>county</i>\r\n{COUNT};\r\nSELECT COUNT(*) AS total FROM visits; -- the end"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    yield from run(tmp_path_factory.mktemp("service"))


def spent(running: Running) -> Fraction:
    return running.service.datasets["hospital"].analyst("ana", Terms(Fraction(20))).budget.spent


def test_several_statements_are_previewed_and_asked_as_one(running: Running) -> None:
    visit, question = Visit(running, "ana"), {"query": TEXT, "epsilon": "0.5"}
    seen = visit.send("/data/hospital/preview", **question).data.decode()
    assert "epsilon 0.5, all 2 together" in seen
    assert "by &lt;i&gt;county&lt;/i&gt;" in seen
    assert "Ask, and pay epsilon 0.5" in seen
    assert "Epsilon 19.5 would be left." in seen
    assert "Expected error at 95 %" in seen
    assert "Expected for groups" not in seen  # counts need no assumption
    assert spent(running) == 0
    answer = visit.send("/data/hospital/ask", **question)
    assert answer.status == 200
    page = answer.data.decode()
    assert "<h1>2 answers</h1>" in page
    assert "<h2>by &lt;i&gt;county&lt;/i&gt;</h2>" in page
    assert "<td>A</td>" in page
    assert "You have epsilon 19.5 left of 20." in page
    again = visit.send("/data/hospital/ask", **question).data.decode()
    assert "earlier answers, for nothing" in again
    assert page.split("<h2>")[1:3] == again.split("<h2>")[1:3]
    assert spent(running) == Fraction(1, 2)
    history = visit.get("/data/hospital/answers").data.decode()
    link = re.search(r'href="([^"]*)#preview">the same again', history)
    assert link is not None
    known = visit.get(html.unescape(link[1])).data.decode()
    assert "free: you asked this very workload before, for epsilon 0.5, all 2 together" in known
    assert "Epsilon 19.5 is left." in known
    assert "See the answers again, free" in known


def test_the_preview_says_what_its_errors_assume(running: Running) -> None:
    text = f"{COUNT}; SELECT AVG(age) AS age FROM visits; SELECT AVG(age) AS again FROM visits WHERE age > 5"
    seen = Visit(running, "ana").send("/data/hospital/preview", query=text, epsilon="0.5").data.decode()
    assumed = (
        "Expected for groups of 1,000 rows spread over their bounds; for those of 100 rows, about ten times"
    )
    assert seen.count(assumed) == 1


def test_faults_of_several_statements_are_said_before_any_charge(running: Running) -> None:
    visit, before = Visit(running, "ana"), spent(running)
    for fields, words in (
        ({"epsilon": ""}, "The price is missing."),
        ({"simultaneous": "yes"}, "holds for each number"),
        ({"query": f"{COUNT}; SELECT age FROM visits"}, "age"),
        ({"query": "SELECT 1; " * 65}, "too many statements"),
        ({"epsilon": "1000"}, "more than is left"),
    ):
        for action in ("preview", "ask"):
            said = visit.send(f"/data/hospital/{action}", **{"query": TEXT, "epsilon": "0.5", **fields})
            assert said.status == 200
            assert action == "ask" or words in said.data.decode(), words
            assert b"data-line" not in said.data
            assert b"<h1>hospital</h1>" in said.data
    assert b"one at a time" in visit.send("/data/hospital/mock", query=TEXT, epsilon="0.5").data
    assert spent(running) == before


def test_a_semicolon_at_the_end_or_in_a_text_is_no_second_statement() -> None:
    assert not several({"query": "SELECT ';' AS a; -- ;"})
    assert several({"query": "SELECT 1;;SELECT 2"})
