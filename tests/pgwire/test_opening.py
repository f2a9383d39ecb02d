from __future__ import annotations

import socket
import struct

import psycopg
import pytest

from discreet.pgwire import messages as protocol
from tests.pgwire.conftest import Wire, begin, letters, message, read, said


@pytest.mark.parametrize(
    ("who", "change", "state"),
    [
        ("ana", {"password": "discreet_x_y"}, "28P01"),
        ("ana", {"user": "ben"}, "28P01"),
        ("ana", {"dbname": "nothing"}, "3D000"),
        ("ana", {"options": "-cdiscreet.epsilon=-1"}, "22023"),
        ("rita", {}, "42501"),
        ("stella", {}, "42501"),
        ("nobody", {}, "3D000"),
    ],
)
def test_who_may_not_come_in(wire: Wire, who: str, change: dict[str, str], state: str) -> None:
    parts = dict(one.split("=", 1) for one in wire.url(who).replace("options=''", "").split())
    with pytest.raises(psycopg.OperationalError) as caught:
        psycopg.connect(" ".join(f"{name}={value}" for name, value in {**parts, **change}.items()))
    words = str(caught.value)
    assert {
        "28P01": "no valid token",
        "3D000": "no data set",
        "22023": "epsilon",
        "42501": "not allow questions",
    }[state] in words


def test_ssl_is_refused_where_there_is_none_and_other_versions_too(wire: Wire) -> None:
    with socket.create_connection(("127.0.0.1", wire.port), timeout=20) as connection:
        for code in (protocol.SSL, protocol.GSS):
            connection.sendall(struct.pack("!ii", 8, code))
            assert connection.recv(1) == b"N"
        connection.sendall(begin(version=0x20000))
        assert said(read(connection))["C"] == "08P01"
    with socket.create_connection(("127.0.0.1", wire.port), timeout=20) as connection:
        connection.sendall(
            begin(version=0x30002) + message(b"p", wire.running.tokens["ana"].encode() + b"\0")
        )
        assert letters(read(connection)).startswith("vRR")


@pytest.mark.parametrize(
    "sent", [b"\0\0\0\4", b"\xff" * 8, b"\0\0\xff\xff", struct.pack("!ii", 12, 0x30000) + b"user"]
)
def test_a_start_that_is_none_is_refused(wire: Wire, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", wire.port), timeout=20) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        assert letters(read(connection)) in ("", "E")
