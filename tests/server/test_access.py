"""Every address times every role and none: the table below is the whole of it, and an address without a line fails."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Route

from discreet.server.app import make_api
from tests.server.conftest import COUNT, Running
from tests.server.visit import Visit

NONE, NOBODY, READER, ANALYST, AUDITOR, STEWARD = "", "nobody", "rita", "ana", "audrey", "stella"
ROLES = (NONE, NOBODY, READER, ANALYST, AUDITOR, STEWARD)
"""Without a token; an analyst without a budget; one who may only read; one who may ask; a steward who may only read."""

QUESTION = {"query": COUNT, "epsilon": "0.01"}
WORKLOAD = {"queries": {"n": COUNT}, "epsilon": "0.01"}
EXPLAINED = {"query": COUNT, "epsilon": "0.01"}
# By method and address: a body, and the status for each of ROLES.
TABLE: dict[tuple[str, str], tuple[object, tuple[int, ...]]] = {
    ("GET", "/api/v1/health"): (None, (200, 200, 200, 200, 200, 200)),
    ("GET", "/api/v1/openapi.json"): (None, (200, 200, 200, 200, 200, 200)),
    ("GET", "/api/v1/me"): (None, (401, 200, 200, 200, 200, 200)),
    ("GET", "/api/v1/datasets"): (None, (401, 200, 200, 200, 200, 200)),
    ("GET", "/api/v1/datasets/{name}"): (None, (401, 404, 200, 200, 200, 200)),
    ("POST", "/api/v1/datasets/{name}/preview"): (QUESTION, (401, 404, 200, 200, 403, 403)),
    ("POST", "/api/v1/datasets/{name}/explain"): (EXPLAINED, (401, 404, 200, 200, 403, 403)),
    ("POST", "/api/v1/datasets/{name}/mock"): ({**QUESTION, "rows": 100}, (401, 404, 200, 200, 403, 403)),
    ("POST", "/api/v1/datasets/{name}/query"): (QUESTION, (401, 404, 403, 200, 403, 403)),
    ("POST", "/api/v1/datasets/{name}/workload"): (WORKLOAD, (401, 404, 403, 200, 403, 403)),
    ("POST", "/api/v1/datasets/{name}/workload/preview"): (WORKLOAD, (401, 404, 200, 200, 403, 403)),
    ("POST", "/api/v1/datasets/{name}/offer"): (QUESTION, (401, 404, 403, 200, 403, 403)),
    ("POST", "/api/v1/datasets/{name}/integers"): (QUESTION, (401, 404, 403, 200, 403, 403)),
    ("POST", "/api/v1/datasets/{name}/questions"): (QUESTION, (401, 404, 403, 202, 403, 403)),
    ("GET", "/api/v1/datasets/{name}/questions/{key}"): (None, (401, 404, 404, 404, 403, 403)),
    ("DELETE", "/api/v1/datasets/{name}/questions/{key}"): (None, (401, 404, 403, 404, 403, 403)),
    ("GET", "/api/v1/datasets/{name}/budget"): (None, (401, 404, 200, 200, 200, 200)),
    ("GET", "/api/v1/datasets/{name}/forecast"): (None, (401, 404, 200, 200, 200, 200)),
    ("GET", "/api/v1/datasets/{name}/card"): (None, (401, 404, 200, 200, 200, 200)),
    ("GET", "/api/v1/datasets/{name}/releases"): (None, (401, 404, 200, 200, 403, 403)),
    ("GET", "/api/v1/datasets/{name}/releases/{key}"): (None, (401, 404, 404, 404, 403, 403)),
    ("GET", "/api/v1/people"): (None, (401, 403, 403, 403, 200, 200)),
    ("POST", "/api/v1/people"): ({"name": "new.one"}, (401, 403, 403, 403, 403, 201)),
    ("PUT", "/api/v1/people/{name}/budgets/{dataset}"): ({"epsilon": 1}, (401, 403, 403, 403, 403, 422)),
    ("DELETE", "/api/v1/people/{name}/budgets/{dataset}"): (None, (401, 403, 403, 403, 403, 422)),
    ("POST", "/api/v1/people/{name}/tokens"): ({}, (401, 403, 403, 403, 403, 422)),
    ("GET", "/api/v1/tokens"): (None, (401, 403, 403, 403, 200, 200)),
    ("DELETE", "/api/v1/tokens/{token}"): (None, (401, 403, 403, 403, 403, 422)),
    ("GET", "/api/v1/accounts"): (None, (401, 403, 403, 403, 200, 200)),
    ("POST", "/api/v1/accounts"): ({"account": "5f7c", "name": "ana"}, (401, 403, 403, 403, 403, 422)),
    ("DELETE", "/api/v1/accounts"): (None, (401, 403, 403, 403, 403, 422)),
    ("GET", "/api/v1/datasets/{name}/log"): (None, (401, 403, 403, 403, 200, 200)),
    ("POST", "/api/v1/datasets/{name}/verify"): (None, (401, 403, 403, 403, 200, 200)),
    ("GET", "/api/v1/metrics"): (None, (401, 403, 403, 403, 200, 200)),
    ("GET", "/api/v1/audit"): (None, (401, 403, 403, 403, 200, 200)),
    ("GET", "/api/v1/audit/export"): (None, (401, 403, 403, 403, 200, 200)),
    ("POST", "/api/v1/audit/verify"): (None, (401, 403, 403, 403, 200, 200)),
}
PREVIEW = {"query": COUNT, "epsilon": "0.01"}
# Of pages: the fields of the form, and the status for each of ROLES, who are signed in. 303 leads elsewhere.
PAGES: dict[tuple[str, str], tuple[dict[str, str] | None, tuple[int, ...]]] = {
    ("GET", "/static/style.css"): (None, (200, 200, 200, 200, 200, 200)),
    ("GET", "/static/pages.js"): (None, (200, 200, 200, 200, 200, 200)),
    ("GET", "/static/icon.svg"): (None, (200, 200, 200, 200, 200, 200)),
    ("GET", "/sign-in"): (None, (200, 200, 200, 200, 200, 200)),
    ("POST", "/sign-in"): ({"token": "x"}, (401, 401, 401, 401, 401, 401)),
    ("GET", "/sign-in/provider"): (None, (404, 404, 404, 404, 404, 404)),  # there is no provider
    ("GET", "/sign-in/provider/back"): (None, (404, 404, 404, 404, 404, 404)),
    ("GET", "/"): (None, (303, 303, 303, 303, 303, 303)),
    ("GET", "/api"): (None, (303, 200, 200, 200, 200, 200)),
    ("GET", "/data"): (None, (303, 200, 200, 200, 200, 200)),
    ("GET", "/data/{name}"): (None, (303, 404, 200, 200, 200, 200)),
    ("GET", "/data/{name}/form"): (None, (303, 404, 200, 200, 403, 403)),
    ("POST", "/data/{name}/preview"): (PREVIEW, (303, 404, 200, 200, 403, 403)),
    ("POST", "/data/{name}/mock"): (PREVIEW, (303, 404, 200, 200, 403, 403)),
    ("POST", "/data/{name}/ask"): (PREVIEW, (303, 404, 403, 303, 403, 403)),
    ("GET", "/data/{name}/card"): (None, (303, 404, 200, 200, 200, 200)),
    ("GET", "/data/{name}/card/{form}"): (None, (303, 404, 404, 404, 404, 404)),  # csv is no form of a card
    ("GET", "/data/{name}/answers"): (None, (303, 404, 200, 200, 403, 403)),
    ("GET", "/data/{name}/answers/{key}"): (None, (303, 404, 404, 404, 403, 403)),
    ("GET", "/data/{name}/answers/{key}/chart.svg"): (None, (303, 404, 404, 404, 403, 403)),
    ("GET", "/data/{name}/answers/{key}/card"): (None, (303, 404, 404, 404, 403, 403)),
    ("GET", "/data/{name}/answers/{key}/{form}"): (None, (303, 404, 404, 404, 403, 403)),
    ("GET", "/steward"): (None, (303, 403, 403, 403, 200, 200)),
    ("POST", "/steward/verify/{name}"): ({}, (303, 403, 403, 403, 200, 200)),
    ("GET", "/begin/{secret}"): (None, (404, 404, 404, 404, 404, 404)),  # there is no policy in the making
    ("GET", "/steward/new"): (None, (303, 403, 403, 403, 403, 404)),
    ("POST", "/steward/new"): ({}, (303, 403, 403, 403, 403, 404)),
    ("GET", "/steward/policy/{name}"): (None, (303, 403, 403, 403, 200, 200)),
    ("GET", "/steward/people"): (None, (303, 403, 403, 403, 200, 200)),
    ("POST", "/steward/people/{action}"): ({"name": "an.other"}, (303, 403, 403, 403, 403, 303)),
    ("GET", "/steward/audit"): (None, (303, 403, 403, 403, 200, 200)),
    ("GET", "/steward/audit/export"): (None, (303, 403, 403, 403, 200, 200)),
    ("POST", "/steward/audit/verify"): ({}, (303, 403, 403, 403, 200, 200)),
    ("POST", "/sign-out"): ({}, (303, 303, 303, 303, 303, 303)),
}
FILLED = {
    "{form}": "csv",
    "{action}": "add",
    "{dataset}": "hospital",
    "{key}": "0" * 64,
    "{token}": "unknown",
    "{secret}": "unknown",
}


def addresses(routes: list[BaseRoute]) -> Iterator[tuple[str, str]]:
    """All methods and addresses that an application has, but HEAD, which answers as GET does."""
    for route in routes:
        assert isinstance(route, Route), "a route of another kind may hide addresses"
        for method in (route.methods or {"ANY"}) - {"HEAD"}:
            yield method, route.path


def test_every_address_has_a_line_and_every_line_an_address(running: Running) -> None:
    found = set(addresses(make_api(running.service).router.routes))
    assert found == set(TABLE) | set(PAGES)
    assert all(path.startswith("/api/") for _, path in TABLE)
    assert not any(path.startswith("/api/") for _, path in PAGES)


def test_an_address_without_a_line_is_found(running: Running) -> None:
    app = make_api(running.service)
    app.add_api_route("/api/v1/planted", lambda: None)
    assert ("GET", "/api/v1/planted") in set(addresses(app.router.routes)) - set(TABLE)


def filled(path: str) -> str:
    """An address with its parts."""
    for name, value in {"{name}": "missing" if "/people/" in path else "hospital", **FILLED}.items():
        path = path.replace(name, value)
    return path


@pytest.mark.parametrize("who", ROLES, ids=lambda who: who or "none")
@pytest.mark.parametrize(("method", "path"), TABLE, ids=lambda part: part)
def test_the_status_of_each_role(running: Running, method: str, path: str, who: str) -> None:
    body, statuses = TABLE[method, path]
    answer = running.call(method, filled(path), who, body)
    assert answer.status == statuses[ROLES.index(who)], answer.data
    if answer.status >= 400:
        assert set(answer.json) >= {"error", "cause", "fix", "charged"}


@pytest.mark.parametrize("who", ROLES, ids=lambda who: who or "none")
def test_the_status_of_each_role_on_pages(running: Running, who: str) -> None:
    visit = Visit(running, who)
    for (_, path), (fields, statuses) in PAGES.items():
        answer = visit.get(filled(path)) if fields is None else visit.send(filled(path), **fields)
        assert answer.status == statuses[ROLES.index(who)], (path, answer.data)
        if not who and answer.status == 303:
            assert answer.headers["location"] == "/sign-in", path


def test_a_form_without_its_seal_changes_nothing(running: Running) -> None:
    for who, role in (("ana", ANALYST), ("stella", STEWARD)):
        visit, other = Visit(running, who), Visit(running, who)
        for (method, path), (fields, statuses) in PAGES.items():
            if method == "POST" and path != "/sign-in" and statuses[ROLES.index(role)] in (200, 303):
                for seal in ("", "0" * 64, "\u00e4", other.seal()):
                    assert visit.send(filled(path), **{**(fields or {}), "seal": seal}).status == 403, path
                for headers in (
                    {"Origin": "https://evil.example.org"},
                    {"Origin": "null"},
                    {"Sec-Fetch-Site": "cross-site"},
                ):
                    assert visit.send(filled(path), headers, **(fields or {})).status == 403, path
    assert "forged" not in running.service.people.names("analyst")


def test_pages_take_no_token_and_programs_no_cookie(running: Running) -> None:
    assert running.call("GET", "/data", "ana").headers["location"] == "/sign-in"
    visit = Visit(running, "ana")
    assert visit.get("/data").status == 200
    assert visit.get("/api/v1/me").status == 401


def test_an_address_that_needs_nothing_would_still_need_a_token(running: Running) -> None:
    """The guard asks for a token before any address under /api/ is looked up, planted ones and missing ones too."""
    assert running.call("GET", "/api/v1/planted").status == 401
    assert running.call("GET", "/api/v1/planted", "ana").status == 404
    for route in make_api(running.service).router.routes:
        if isinstance(route, APIRoute) and route.path.startswith("/api/") and route.path != "/api/v1/health":
            assert route.dependant.dependencies, route.path


@pytest.mark.parametrize(
    "token", ["x", "discreet_", "discreet_aa_bb", "discreet__", "Bearer", "discreet_" + "a" * 400]
)
def test_texts_that_are_no_tokens(running: Running, token: str) -> None:
    assert running.call("GET", "/api/v1/me", token).status == 401


def test_a_token_with_one_other_sign_is_refused(running: Running) -> None:
    token = running.tokens["ana"]
    assert running.call("GET", "/api/v1/me", token).status == 200
    changed = token[:-1] + ("A" if token[-1] != "A" else "B")
    assert running.call("GET", "/api/v1/me", changed).status == 401
    assert running.call("GET", "/api/v1/me", Authorization=f"Basic {token}").status == 401
    assert running.call("GET", f"/api/v1/me?token={token}").status == 401
    assert running.call("GET", "/api/v1/me", Cookie=f"session={token}; token={token}").status == 401
