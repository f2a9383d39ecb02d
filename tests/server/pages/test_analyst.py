"""The journey of an analyst, and markup that others wrote."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

import pytest

from discreet.ledger.terms import Terms
from tests.server.conftest import COUNT, Running, run
from tests.server.visit import Visit


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    yield from run(tmp_path_factory.mktemp("service"))


def spent(running: Running) -> Fraction:
    return running.service.datasets["hospital"].analyst("ana", Terms(Fraction(20))).budget.spent


def test_from_sign_in_to_the_answer_and_back_to_it(running: Running) -> None:
    visit = Visit(running, "ana")
    assert visit.get("/").headers["location"] == "/data"
    assert b"Protected is each patient_id" in visit.get("/data").data
    assert b"<code>county</code>" in visit.get("/data/hospital").data
    question = {"query": COUNT.replace(" FROM", "\r\nFROM"), "epsilon": "0.5"}
    seen = visit.send("/data/hospital/preview", **question).data.decode()
    assert "Ask, and pay epsilon 0.5" in seen
    assert "19.5 would be left" in seen
    assert spent(running) == 0
    asked = visit.send("/data/hospital/ask", **question)
    path = asked.headers["location"]
    answer = visit.get(path).data.decode()
    assert re.search(r"<td>A</td><td class=\"right\">[\d,]+ ± \d+</td>", answer)
    assert visit.get(f"{path}/chart.svg").data.startswith(b"<svg")
    assert visit.get(f"{path}/csv").data.splitlines()[0] == b'"county","n","n_low","n_high"'
    assert visit.get(f"{path}/exe").status == 404
    assert path.encode() in visit.get("/data/hospital/answers").data
    assert visit.send("/data/hospital/ask", **question).headers["location"] == path
    assert spent(running) == Fraction(1, 2)
    assert Visit(running, "ben").get(path).status == 404


def test_a_preview_wants_a_price_and_says_what_is_saved_and_what_cannot_be_paid(running: Running) -> None:
    visit = Visit(running, "ana")
    unpriced = visit.send("/data/hospital/preview", query=COUNT, epsilon="").data.decode()
    assert "The price is missing." in unpriced
    assert "Before you ask" not in unpriced
    assert "costs nothing" in visit.send("/data/hospital/preview", query="SELECT 1", epsilon="").data.decode()
    dear = visit.send("/data/hospital/preview", query=COUNT, epsilon="1000").data.decode()
    assert "This is more than is left." in dear
    assert "would be left" not in dear
    cube = "SELECT county, COUNT(*) AS n FROM visits GROUP BY ROLLUP (county)"
    assert (
        "estimated from marginals"
        in visit.send("/data/hospital/preview", query=cube, epsilon="1").data.decode()
    )


def test_trying_on_invented_rows_is_free_and_says_so(running: Running) -> None:
    before = spent(running)
    answer = Visit(running, "ana").send("/data/hospital/mock", query=COUNT, epsilon="5").data
    assert b"no number here means anything" in answer
    assert spent(running) == before


def test_refusals_keep_the_question_and_charge_nothing(running: Running) -> None:
    visit, before = Visit(running, "ana"), spent(running)
    for form in ("preview", "mock", "ask"):
        for fields in (
            {"query": "SELECT age FROM visits", "epsilon": "1"},
            {"query": COUNT, "epsilon": "x"},
            {"query": COUNT, "epsilon": "1", "confidence": "x"},
            {"query": "x" * 100_001, "epsilon": "1"},
            {"query": "", "epsilon": "1"},
        ):
            answer = visit.send(f"/data/hospital/{form}", **fields)
            assert b'role="alert"' in answer.data, (form, fields)
            assert fields["query"].encode() in answer.data
    assert spent(running) == before


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", '"><img src=x onerror=a>', "{{ 7*7 }}", "a\x1bb\u202e"]
)
def test_text_of_others_is_text(running: Running, text: str) -> None:
    visit = Visit(running, "ana")
    quoted = text.replace('"', '""').replace("'", "''")
    question = {
        "query": f'SELECT COUNT(*) AS "{quoted}" FROM visits WHERE age > {len(text)}',
        "epsilon": "0.01",
    }
    pages = [visit.send(f"/data/hospital/{form}", **question) for form in ("preview", "mock", "ask")]
    pages += [visit.get("/data/hospital/answers"), Visit(running, "stella").get("/steward")]
    if "location" in pages[2].headers:
        pages.append(visit.get(pages[2].headers["location"]))
    for page in pages:
        assert page.status in (200, 303)
        assert b"<script" not in page.data
        assert b"<img src=x" not in page.data
        assert b"\x1b" not in page.data
        assert "\u202e".encode() not in page.data
        assert b" style=" not in page.data  # which the policy of contents would block
        assert b"javascript:" not in page.data


def test_cookies_are_for_this_site_and_no_script(running: Running) -> None:
    answer = Visit(running).send("/sign-in", token=running.tokens["ana"])
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert running.tokens["ana"].lower() not in cookie
    assert Visit(running).send("/sign-in", token="discreet_x_y").status == 401
    visit = Visit(running, "ana")
    visit.send("/sign-out")
    assert visit.get("/data").status == 303  # the cookie is worth nothing any more
