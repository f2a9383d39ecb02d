"""The application as a whole: its description, and the shape of errors for programs and for people."""

from __future__ import annotations

from tests.server.conftest import Running


def test_every_address_for_programs_is_described_and_no_page_is(running: Running) -> None:
    said = running.call("GET", "/api/v1/openapi.json").json
    assert len(said["paths"]) > 15
    for path, methods in said["paths"].items():
        assert path.startswith("/api/v1/")
        for one in methods.values():
            assert one["summary"]
            assert one["description"]


def test_there_are_no_pages_of_others(running: Running) -> None:
    for path in (
        "/docs",
        "/redoc",
        "/openapi.json",
        "/docs/oauth2-redirect",
        "/data/",
        "/static/../state.py",
        "/static/x",
    ):
        assert running.call("GET", path).status == 404


def test_errors_are_json_for_programs_and_pages_for_people(running: Running) -> None:
    assert running.call("GET", "/api/v1/missing", "ana").headers["content-type"] == "application/json"
    assert running.call("GET", "/missing").headers["content-type"].startswith("text/html")
    for method in ("DELETE", "PUT", "OPTIONS", "TRACE", "PATCH"):
        assert running.call(method, "/api/v1/me", "ana").status == 404
