"""The bounds of requests as httptools reads them: lines without end, and lines behind a body."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import pytest

from discreet.server.guard import HEADERS
from discreet.server.patience import MOST_HEAD
from discreet.server.running.quick_protocol import QuickProtocol
from discreet.server.start import protocol
from tests.server.conftest import Running, run

HEAD = b"POST /api/v1/me HTTP/1.1\r\nHost: localhost\r\n"
PIECES = HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    yield from run(tmp_path_factory.mktemp("service"))


def answer(running: Running, *sent: bytes) -> bytes:
    """The answer to some pieces of a connection, until it is closed or quiet."""
    said = b""
    with socket.create_connection(("127.0.0.1", running.port), timeout=60) as connection:
        try:
            for piece in sent:
                connection.sendall(piece)
            while b"\r\n\r\n" not in said and (piece := connection.recv(65_536)):
                said += piece
        except (BrokenPipeError, ConnectionResetError):
            pass
    return said


def test_it_is_the_one_that_is_used() -> None:
    assert protocol() is QuickProtocol


@pytest.mark.parametrize(
    "line", [b"X-Long: " + b"x" * 1000, b"X-Short: x\r\n" * 80], ids=["one line", "many lines"]
)
@pytest.mark.parametrize(
    "before", [HEAD, PIECES + b"0\r\n", PIECES + b"1;"], ids=["head", "trailers", "pieces"]
)
def test_lines_without_end_are_not_read(running: Running, before: bytes, line: bytes) -> None:
    token = b"Host: localhost\r\nAuthorization: Bearer " + running.tokens["ana"].encode()
    before = before.replace(b"Host: localhost", token, 1)
    said = answer(running, before, *[line] * (4 * MOST_HEAD // len(line) + 2))
    assert b"200 OK" not in said
    assert b" 400 " in said or not said


def test_a_line_behind_the_body_says_nothing(running: Running) -> None:
    token = running.tokens["ana"].encode()
    said = answer(running, PIECES, b"0\r\nAuthorization: Bearer " + token + b"\r\n\r\n")
    assert b" 401 " in said


def test_a_large_body_in_pieces_is_read_up_to_the_limit_of_the_guard(running: Running) -> None:
    token = b"Authorization: Bearer " + running.tokens["ana"].encode()
    body = b"%x\r\n%s\r\n" % (60_000, b" " * 60_000)
    said = answer(running, HEAD + token + b"\r\nTransfer-Encoding: chunked\r\n\r\n", body, body, b"0\r\n\r\n")
    assert b" 404 " in said  # nothing is served there, and it was read
    assert b" 422 " in answer(
        running, HEAD + token + b"\r\nTransfer-Encoding: chunked\r\n\r\n", *[body] * 6, b"0\r\n\r\n"
    )


@pytest.mark.parametrize(
    "sent",
    [
        HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        b"GET /api/v1/health HTTP/1.1\r\nHost : localhost\r\n\r\n",
        b"GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\n folded\r\n\r\n",
        b"GET /api/v1/health HTTP/1.1\r\nHost: evil.example.org\r\nHost: localhost\r\n\r\n",
        b"GET /api/v1/health\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
)
def test_requests_that_two_readers_could_read_differently_are_refused(running: Running, sent: bytes) -> None:
    see_refusal(answer(running, sent))


def see_refusal(said: bytes) -> None:
    """See that an answer is an error like any other, with the headers of every answer."""
    head, _, body = said.partition(b"\r\n\r\n")
    assert b" 400 " in head or b" 422 " in head, said
    for name, value in HEADERS:
        assert name + b": " + value in head.lower().replace(b"deny", b"DENY"), name
    assert json.loads(body)["charged"] is None


def test_a_refusal_in_the_words_of_the_server_below_is_found() -> None:
    """The planted fault."""
    plain = b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\n\r\nInvalid HTTP request received."
    with pytest.raises(AssertionError):
        see_refusal(plain)


OFFER = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
HEALTH = b"GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n"


def test_a_first_request_that_offers_another_protocol_is_served_with_its_body(running: Running) -> None:
    """As Java's client sends it; the parser of httptools would take the body for the next request."""
    body = b'{"query": "SELECT COUNT(*) AS n FROM visits", "epsilon": 1}'
    head = HEAD.replace(b"/api/v1/me", b"/api/v1/datasets/hospital/preview") + OFFER
    head += b"Content-Type: application/json\r\n"
    token = b"Authorization: Bearer " + running.tokens["ana"].encode()
    said = answer(running, head + token + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    assert b" 200 OK" in said


def test_a_later_request_that_offers_another_protocol_has_no_body(running: Running) -> None:
    with socket.create_connection(("127.0.0.1", running.port), timeout=60) as connection:
        connection.sendall(HEALTH)
        assert b" 200 OK" in connection.recv(65_536)
        connection.sendall(HEAD + OFFER + b"Content-Length: %d\r\n\r\n" % len(HEALTH) + HEALTH)
        said = b""
        while piece := connection.recv(65_536):
            said += piece
    assert b" 400 " in said
    assert b" 200 " not in said
