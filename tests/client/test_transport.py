"""Addresses that would give a token away, and servers that answer with anything."""

from __future__ import annotations

import socket
import threading

import pytest

from discreet.client.transport import ServerAddress, call, document
from discreet.errors import DiscreetError, InvalidParameter, ServerError


@pytest.mark.parametrize(
    "url",
    [
        "http://stats.example.org", "http://localhost.example.org", "ftp://localhost", "localhost:80", "", "https://",
        "https://u:p@host", "https://host/?q=1", "http://[::1", "https://host:99999",
    ],
)  # fmt: skip
def test_addresses_that_are_refused(url: str) -> None:
    with pytest.raises(InvalidParameter):
        ServerAddress.read(url, "discreet_x_y", 1)


@pytest.mark.parametrize("token", ["a b", "a\r\nHost: b", "ä"])
def test_texts_that_would_forge_a_header_are_refused(token: str) -> None:
    with pytest.raises(InvalidParameter):
        ServerAddress.read("https://host", token, 1)


def test_the_token_is_not_shown() -> None:
    address = ServerAddress.read("https://stats.example.org/sub/", "discreet_x_secret", 1)
    assert str(address) == "https://stats.example.org:443/sub"
    assert "secret" not in repr(address)


@pytest.mark.parametrize(
    "answer",
    [
        b"", b"\x80\x04.", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc", b"HTTP/1.1 500 X\r\n\r\n<html>",
        b"HTTP/1.1 422 X\r\n\r\n[]",
        b'HTTP/1.1 422 X\r\n\r\n{"error": "SystemExit", "cause": 1, "fix": 2, "charged": null}',
        b'HTTP/1.1 422 X\r\n\r\n{"error": "QueryRefused", "cause": "", "fix": "", "charged": {"epsilon": "x"}}',
        b"HTTP/1.1 302 X\r\nLocation: http://127.0.0.1:1/\r\n\r\n", b"HTTP/1.1 500 X\r\n\r\n" + b"[" * 100_000,
    ],
)  # fmt: skip
def test_a_server_that_answers_with_anything_is_an_error_of_ours(answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        address = ServerAddress.read(f"http://127.0.0.1:{listener.getsockname()[1]}", "discreet_x_y", 5)
        with pytest.raises(DiscreetError) as fault:
            call(address, "GET", "/")
        assert isinstance(fault.value, ServerError)
        thread.join(5)


def test_what_is_no_json_is_refused() -> None:
    for said in (b"", b"\x80\x04.", b"[" * 100_000):
        with pytest.raises(ServerError):
            document(said)
