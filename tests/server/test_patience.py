"""Connections that wait too long before they ask."""

from __future__ import annotations

import contextlib
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.server import patience
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


def answered(port: int, sent: bytes) -> bytes:
    """All that a connection says until it is closed."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as one:
        one.sendall(sent)
        return b"".join(iter(lambda: one.recv(4096), b""))
