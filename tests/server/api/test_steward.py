"""The addresses of stewards: a name, a budget, a token; the log pages and what they hold."""

from __future__ import annotations

import pytest

from tests.server.conftest import COUNT, Running

API = "/api/v1"


def test_a_new_analyst_can_ask_once_there_are_a_budget_and_a_token(running: Running) -> None:
    assert running.call("POST", f"{API}/people", "stella", {"name": "hal"}).status == 201
    made = running.call("POST", f"{API}/people/hal/tokens", "stella", {"days": 2, "scopes": ["ask", "read"]})
    running.tokens["hal"] = made.json["token"]
    assert running.call("GET", f"{API}/datasets", "hal").json == {"datasets": []}
    put = running.call("PUT", f"{API}/people/hal/budgets/hospital", "stella", {"epsilon": "0.5"})
    assert put.status == 200
    question = {"query": COUNT, "epsilon": "0.25"}
    assert running.call("POST", f"{API}/datasets/hospital/query", "hal", question).status == 200
    (hal,) = [
        one for one in running.call("GET", f"{API}/people", "audrey").json["people"] if one["name"] == "hal"
    ]
    assert hal["budgets"] == [{"dataset": "hospital", "epsilon": "0.5", "spent": "0.25", "left": "0.25"}]
    actions = [line["action"] for line in running.call("GET", f"{API}/audit?limit=3", "audrey").json["lines"]]
    assert actions == ["budget set", "token made", "person added"]


def test_pages_of_the_audit_log_follow_one_another(running: Running) -> None:
    lines = running.call("GET", f"{API}/audit", "stella").json["lines"]
    first = running.call("GET", f"{API}/audit?limit=2", "stella").json["lines"]
    rest = running.call("GET", f"{API}/audit?before={first[-1]['number']}", "stella").json["lines"]
    assert first + rest == lines


def test_the_log_says_that_a_question_was_answered_from_its_slot_on(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = running.session("ana")
    session.sql(COUNT, epsilon="1/3")  # as another process would: no desk of this one knows it

    def newest() -> bool:
        (line,) = running.call("GET", f"{API}/datasets/hospital/log?limit=1", "audrey").json["charges"]
        assert (line["who"], line["epsilon"]) == ("ana", "1/3")
        return bool(line["answered"])

    monkeypatch.setattr(running.service.asks, "_slot", 1e6)
    assert not newest()
    monkeypatch.setattr(running.service.asks, "_slot", 0.0)
    assert newest()  # so without slots the moment of the answer is seen


def test_accounts_of_a_provider_are_linked_and_unlinked(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"account": "auth0|5f7c/1", "name": "ana"}
    assert running.call("POST", f"{API}/accounts", "stella", asked).status == 422  # nobody signs in so here
    monkeypatch.setattr(running.service, "provider", object())
    assert running.call("POST", f"{API}/accounts", "stella", {**asked, "name": "nobody.here"}).status == 422
    assert running.call("POST", f"{API}/accounts", "stella", asked).status == 201
    assert running.call("POST", f"{API}/accounts", "stella", {**asked, "name": "ben"}).status == 422  # taken
    assert running.call("GET", f"{API}/accounts", "audrey").json["accounts"] == [asked]
    gone = f"{API}/accounts?account=auth0%7C5f7c%2F1"
    assert running.call("DELETE", gone, "stella").json == {"unlinked": asked["account"]}
    assert running.call("DELETE", gone, "stella").status == 422
    assert running.call("GET", f"{API}/accounts", "audrey").json["accounts"] == []


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/people", {"name": "Hal"}),
        ("POST", "/people", {"name": "x", "role": "king"}),
        ("POST", "/people", {"name": "x", "scopes": ["manage"]}),
        ("PUT", "/people/ana/budgets/hospital", {"epsilon": "0"}),
        ("PUT", "/people/ana/budgets/hospital", {}),
        ("POST", "/people/ana/tokens", {"scopes": ["manage"]}),
        ("POST", "/people/ana/tokens", {"days": 0}),
        ("DELETE", "/tokens/missing", None),
        ("GET", "/audit?limit=100000", None),
        ("GET", "/audit?before=-1", None),
    ],
)
def test_wrong_bodies_are_refused(running: Running, method: str, path: str, body: object) -> None:
    assert running.call(method, API + path, "stella", body).status == 422
