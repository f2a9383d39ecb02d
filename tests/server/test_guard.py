"""The guard: names, sizes, rates and headers, for every address."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from discreet.errors import InvalidParameter
from discreet.server import guard
from discreet.server.guard import HEADERS, MOST_BYTES, see_host
from discreet.server.rate import Rate
from discreet.server.records.counted import RequestCounts
from tests.server.conftest import COUNT, FAST, Running, run


@pytest.mark.parametrize("path", ["/", "/api/v1/health", "/api/v1/me", "/missing", "/api/v1/openapi.json"])
def test_every_answer_has_the_headers(running: Running, path: str) -> None:
    for who in ("", "ana"):
        headers = running.call("GET", path, who).headers
        assert {name.decode() for name, _ in HEADERS} <= set(headers)
        assert "unsafe" not in headers["content-security-policy"]
        assert "server" not in headers
        assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize(
    "host", ["evil.example.org", "localhost.evil.org", "", "127.0.0.1.evil.org:80", "[::2]:80"]
)
def test_another_name_is_refused(running: Running, host: str) -> None:
    assert running.call("GET", "/api/v1/health", Host=host).status == 422


def test_the_own_names_are_served(running: Running) -> None:
    for host in ("localhost", f"LOCALHOST:{running.port}", "127.0.0.1", "[::1]:8321"):
        assert running.call("GET", "/api/v1/health", Host=host).status == 200


def test_the_name_of_the_proxy_is_one_of_them() -> None:
    see_host("stats.example.org:443", ("stats.example.org",))
    with pytest.raises(InvalidParameter):
        see_host("stats.example.org.", ("stats.example.org",))


def head(running: Running) -> bytes:
    """The beginning of a request."""
    token = running.tokens["stella"]
    return f"POST /api/v1/people HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n".encode()


def test_large_requests_are_refused_with_and_without_their_length(running: Running) -> None:
    large = b"x" * (MOST_BYTES + 1)
    assert running.call("POST", "/api/v1/datasets/hospital/query", "ana", raw=large).status == 422
    with socket.create_connection(("127.0.0.1", running.port), timeout=20) as connection:
        connection.sendall(head(running) + b"Transfer-Encoding: chunked\r\n\r\n")
        connection.sendall(b"%x\r\n%s\r\n0\r\n\r\n" % (len(large), large))
        assert b" 422 " in connection.recv(200)


PIECES = [{"type": "http.request", "body": b"x" * 50_000, "more_body": at < 3} for at in range(4)]


def asked(running: Running, pieces: list[dict[str, object]]) -> tuple[int, int]:
    """The status of a request without a token, and how many pieces of its body were read before the answer."""
    taken, sent = iter(pieces), []
    read: list[int] = []

    async def receive() -> dict[str, object]:
        read.append(1)
        return next(taken)

    async def send(message: Any) -> None:
        sent.append((message.get("status"), len(read)))

    async def behind(*_: object) -> None:
        raise AssertionError

    scope = {
        "type": "http",
        "path": "/api/v1/people",
        "headers": [(b"host", b"localhost")],
        "client": ("1.2.3.4", 1),
    }
    asyncio.run(guard.Guard(behind, running.service)(scope, receive, send))
    return sent[0]


def test_a_refused_request_is_read_before_it_is_answered(running: Running) -> None:
    """Else its connection is reset, and whoever sends does not see why."""
    assert asked(running, PIECES) == (401, 4)
    assert running.call("POST", "/api/v1/datasets/hospital/query", raw=b"x" * 200_000).status == 401
    endless = [{**PIECES[0], "more_body": True}] * 100
    assert asked(running, endless) == (401, 1 + guard.DROPPED // 50_000)


def test_a_request_that_is_not_read_is_caught(monkeypatch: pytest.MonkeyPatch, running: Running) -> None:
    """The planted fault: nothing is dropped."""
    monkeypatch.setattr(guard, "DROPPED", -1)
    assert asked(running, PIECES) == (401, 0)


def test_a_request_that_trickles_in_is_given_up(monkeypatch: pytest.MonkeyPatch, running: Running) -> None:
    monkeypatch.setattr(guard, "PATIENCE", 0.05)
    with socket.create_connection(("127.0.0.1", running.port), timeout=20) as connection:
        connection.sendall(head(running) + b"Content-Length: 100\r\n\r\n{")
        assert b" 422 " in connection.recv(200)


def test_a_failure_behind_the_guard_says_nothing() -> None:
    async def fails(*_: object) -> None:
        raise RuntimeError("patient 4711")

    sent: list[dict[str, object]] = []

    async def send(message: object) -> None:
        sent.append(message)  # type: ignore[arg-type]

    async def receive() -> dict[str, object]:
        return {"type": "http.request"}

    class Stub:
        settings = FAST
        counted = RequestCounts()

    scope = {"type": "http", "path": "/", "headers": [(b"host", b"localhost")]}
    asyncio.run(guard.Guard(fails, Stub())(scope, receive, send))  # type: ignore[arg-type]
    assert sent[0]["status"] == 500
    assert b"4711" not in sent[1]["body"]  # type: ignore[operator]


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    yield from run(tmp_path_factory.mktemp("slow"), replace(FAST, rate=0.0001, burst=2))


def test_a_caller_who_asks_too_often_is_told_so_and_no_other(slow: Running) -> None:
    assert [slow.call("GET", "/api/v1/me", "ana").status for _ in range(3)] == [200, 200, 429]
    assert slow.call("GET", "/api/v1/me", "ben").status == 200


def test_tokens_that_are_tried_out_are_slowed_down_and_valid_ones_are_not(slow: Running) -> None:
    slow.service.strangers = Rate(0.0001, 2)
    assert [slow.call("GET", "/api/v1/me", "discreet_x_y").status for _ in range(3)] == [401, 401, 429]
    assert slow.call("GET", "/api/v1/me", "stella").status == 200


def test_a_key_that_stands_twice_is_refused_before_the_charge(running: Running) -> None:
    text = json.dumps({"query": COUNT, "epsilon": "0.01"})
    for raw in (text[:-1] + ', "epsilon": "0.9"}', text[:-1] + ', "split": {"n": "1", "n": "2"}}'):
        answer = running.call("POST", "/api/v1/datasets/hospital/query", "ana", raw=raw.encode())
        assert (answer.status, "twice" in answer.json["cause"]) == (422, True)
    assert running.call("GET", "/api/v1/datasets/hospital/budget", "ana").json["spent"] == "0"
