"""Connections that wait too long before they ask."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.server import patience, start
from discreet.server.guard import HEADERS
from discreet.server.patience import PatientProtocol
from tests.server.conftest import FAST, Running, run

ASKED = b"GET /api/v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\n"


@pytest.mark.parametrize("sent", [b"", ASKED, ASKED + b"\r\n" + ASKED])
def test_a_request_that_is_never_whole_is_not_waited_for(
    running: Running, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(patience, "HEAD_PATIENCE", 0.2)
    with socket.create_connection(("127.0.0.1", running.port), timeout=10) as one:
        one.sendall(sent)
        said = b""
        while piece := one.recv(4096):  # until it is closed; the time-out of the socket fails the test
            said += piece
    assert said.count(b"200 OK") == sent.count(b"\r\n\r\n")


def test_behind_a_proxy_an_unreadable_request_gets_the_headers_of_every_answer(tmp_path: Path) -> None:
    with contextlib.contextmanager(run)(tmp_path, replace(FAST, secure=True)) as running:
        said = answered(running.port, b"\0\1\2 no request\r\n\r\n")
    assert b" 400 " in said
    assert b"strict-transport-security: max-age=" in said


@pytest.mark.parametrize("quick", [True, False])
def test_a_connection_too_many_is_refused_as_every_request_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick: bool
) -> None:
    monkeypatch.setattr(start, "MOST_CONNECTIONS", 1)
    if not quick:
        monkeypatch.setattr(start, "protocol", lambda: PatientProtocol)
    with (
        contextlib.contextmanager(run)(tmp_path, replace(FAST, secure=True)) as running,
        socket.create_connection(("127.0.0.1", running.port), timeout=10) as other,
    ):
        other.sendall(ASKED + b"\r\n")
        assert status(other) == 200
        head, _, said = answered(running.port, ASKED + b"\r\n").partition(b"\r\n\r\n")
        assert b" 503 " in head
        assert all(name + b": " + value in head for name, value in (*HEADERS, (b"connection", b"close")))
        assert b"strict-transport-security: max-age=" in head
        assert json.loads(said)["error"] == "Busy"
        assert json.loads(said)["charged"] is None
        with socket.create_connection(("127.0.0.1", running.port), timeout=10) as idle:
            idle.sendall(ASKED)  # it stays, and the one that came first is served on
            other.sendall(ASKED + b"\r\n")
            assert status(other) == 200
        other.close()
        statuses = (answered(running.port, ASKED + b"Connection: close\r\n\r\n") for _ in range(500))
        assert any(b" 200 " in one for one in statuses)  # once the server has seen that the other one is gone


def answered(port: int, sent: bytes) -> bytes:
    """All that a connection says until it is closed."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as one:
        one.sendall(sent)
        return b"".join(iter(lambda: one.recv(4096), b""))


def status(connection: socket.socket) -> int:
    """The status of one answer, which is read to its end: its head and its body may come one after the other."""
    answer = http.client.HTTPResponse(connection)
    answer.begin()
    answer.read()
    return answer.status
