"""The journey of an analyst, and markup that others wrote."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

import pytest

from discreet.ledger.terms import Terms
from discreet.server.pages.precision import PRICES
from tests.server.conftest import COUNT, Running, run
from tests.server.visit import Visit


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    yield from run(tmp_path_factory.mktemp("service"))


OWN = b'<script src="/static/pages.js" defer></script>'
"""The one script."""


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


def test_a_question_that_was_paid_for_is_offered_for_nothing(running: Running) -> None:
    ana = Visit(running, "ana")
    question = {"query": "SELECT COUNT(*) AS n FROM visits WHERE age < 44", "epsilon": "0.25"}
    assert "Ask, and pay epsilon 0.25" in ana.send("/data/hospital/preview", **question).data.decode()
    assert ana.send("/data/hospital/ask", **question).status == 303
    seen = ana.send("/data/hospital/preview", **question).data.decode()
    assert "free: you asked this very question before, for epsilon 0.25" in seen
    assert "See the answer again, free" in seen
    assert "pay epsilon" not in seen
    for who, body in (("ben", question), ("ana", {**question, "epsilon": "0.26"})):
        assert "free: " not in Visit(running, who).send("/data/hospital/preview", **body).data.decode()
    said = running.call("POST", "/api/v1/datasets/hospital/preview", "ana", question).json
    assert (said["replayed"], said["cost"], said["epsilon"]) == (True, "0", "0.25")
    assert not running.call("POST", "/api/v1/datasets/hospital/preview", "ben", question).json["replayed"]
    plan = running.call("POST", "/api/v1/datasets/hospital/explain", "ana", question).json["text"]
    assert "this very question was answered before" in plan


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


def test_a_form_writes_the_question_and_shows_the_errors_at_several_prices(running: Running) -> None:
    visit, before = Visit(running, "ana"), spent(running)
    asked = "/data/hospital/form?what=average&column=age&by1=county&where1=age&test1=is+at+most&value1=64&epsilon="
    seen = visit.get(asked + "0.2").data.decode()
    assert "SELECT county, AVG(age) AS average_age\nFROM visits\nWHERE age &lt;= 64\nGROUP BY county" in seen
    assert "Ask, and pay epsilon 0.2" in seen
    assert re.findall(r'<button name="epsilon" value="([\d.]+)"', seen) == [
        str(float(one)) if one < 1 else "1" for one in PRICES
    ]
    assert seen.count('aria-current="true"') == 1
    example = re.search(r'<li><a href="(/data/hospital\?query=[^"]+)">How many patient_id, by county', visit.get(
        "/data/hospital").data.decode())  # fmt: skip
    assert example is not None
    assert "Ask, and pay epsilon 0.1" in visit.get(example[1].replace("&amp;", "&")).data.decode()
    for wrong in ("what=x", "what=rows&where1=age&value1=old", "what=rows&epsilon=x"):
        assert b'role="alert"' in visit.get(f"/data/hospital/form?{wrong}").data
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
        assert b"<script" not in page.data.replace(OWN, b"")
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


def test_keys_are_not_listed_twice(running: Running) -> None:
    seen = Visit(running, "ana").get("/data/hospital").data.decode()
    assert "3 keys from the policy" in seen
    assert "3 values" not in seen
