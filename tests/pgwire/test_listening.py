from __future__ import annotations

import datetime as dt
import socket
import struct
from pathlib import Path

import psycopg
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from discreet.errors import InvalidParameter, ServerError
from discreet.pgwire import listening, opening
from discreet.pgwire import messages as protocol
from discreet.pgwire.listening import bound, certificate, serving
from tests.pgwire.conftest import Wire, begin, message, read, said
from tests.server.conftest import Running, running  # noqa: F401


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate of its own, for localhost."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.UTC)
    made = x509.CertificateBuilder(
        name, name, key.public_key(), x509.random_serial_number(), now, now + dt.timedelta(1)
    )
    made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
    chain, secret = folder / "chain.pem", folder / "key.pem"
    chain.write_bytes(made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    secret.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    )
    return chain, secret


def test_tls_and_nothing_in_the_clear_from_elsewhere(
    running: Running,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chain, key = make_certificate(tmp_path)
    listener = bound("127.0.0.1", 0)
    port = listener.getsockname()[1]
    url = f"host=localhost hostaddr=127.0.0.1 port={port} user=ana password={running.tokens['ana']} dbname=hospital"
    with serving(running.service, listener, certificate("0.0.0.0", chain, key)):
        monkeypatch.setattr(opening, "is_loopback", lambda _: False)
        with psycopg.connect(f"{url} sslmode=verify-full sslrootcert={chain}") as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
            assert connection.pgconn.ssl_in_use
        with pytest.raises(psycopg.OperationalError, match="cross the network"):
            psycopg.connect(f"{url} sslmode=disable")
        with socket.create_connection(("127.0.0.1", port), timeout=10) as raw:
            # Bytes that somebody put before TLS begins are never taken for the client's.
            raw.sendall(struct.pack("!ii", 8, protocol.SSL) + begin())
            assert raw.recv(1) in (b"S", b"")
            assert raw.recv(100) == b""


def test_files_that_are_no_certificate_and_addresses_without_one_are_refused(tmp_path: Path) -> None:
    chain, key = make_certificate(tmp_path)
    for host, one, other in (
        ("0.0.0.0", None, None),
        ("127.0.0.1", chain, None),
        ("127.0.0.1", chain, tmp_path / "x"),
    ):
        with pytest.raises(InvalidParameter):
            certificate(host, one, other)
    assert certificate("127.0.0.1", None, None) is None
    assert certificate("::1", chain, key) is not None


def test_a_port_that_is_taken_is_told() -> None:
    with bound("127.0.0.1", 0) as taken, pytest.raises(ServerError):
        bound("127.0.0.1", taken.getsockname()[1])


def test_so_many_connections_and_no_more(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "MOST_CONNECTIONS", 1)
    with wire.connect() as connection:
        with pytest.raises(psycopg.OperationalError):
            wire.connect()
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_nobody_takes_all_connections(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "MOST_OF_ONE", 2)
    with (
        wire.connect(),
        wire.connect(),
        pytest.raises(psycopg.OperationalError, match="You have 2 connections"),
    ):
        wire.connect()
    monkeypatch.setattr(listening, "MOST_CONNECTIONS", 3)
    strangers = [socket.create_connection(("127.0.0.1", wire.port)) for _ in range(5)]
    with wire.connect() as connection:  # the oldest of those who say nothing makes room
        assert connection.execute("SELECT 1").fetchone() == (1,)
    for one in strangers:
        one.close()


def test_strangers_are_slowed_down(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire.running.service.strangers, "allows", lambda _: False)
    with socket.create_connection(("127.0.0.1", wire.port), timeout=10) as raw:
        raw.sendall(begin() + message(b"p", b"wrong\0"))
        assert said(read(raw))["C"] == "53300"


def test_connections_end_with_the_service(running: Running) -> None:  # noqa: F811
    listener = bound("127.0.0.1", 0)
    port = listener.getsockname()[1]
    with serving(running.service, listener):
        raw = socket.create_connection(("127.0.0.1", port), timeout=10)
        raw.sendall(begin())
        assert read_one(raw)
    assert raw.recv(10) == b""
    raw.close()
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=1)


def read_one(connection: socket.socket) -> bytes:
    return connection.recv(9)
