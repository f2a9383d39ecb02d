"""One request to a server and its answer. Nothing is followed, retried, unpickled or run."""

from __future__ import annotations

import http.client
import ipaddress
import json
import os
import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from discreet.client.wire import to_error
from discreet.errors import InvalidParameter, ServerError
from discreet.records import dataclass, field

TIMEOUT = 600.0
"""Seconds to wait for an answer: longer than a server lets a question run."""
MOST = 1 << 30
"""Bytes of an answer that are read at most."""


@dataclass(frozen=True)
class ServerAddress:
    """The place of a server, and the token for it.

    Attributes:
        host: its name or number.
        port: where it listens.
        secure: whether it is spoken to through TLS.
        path: the beginning of every path, without a slash at its end.
        token: the secret; never shown.
        timeout: seconds to wait for an answer.
    """

    host: str
    port: int
    secure: bool
    path: str
    token: str = field(repr=False)
    timeout: float

    @classmethod
    def read(cls, url: str, token: str, timeout: float) -> ServerAddress:
        """Read an address.

        Raises:
            InvalidParameter: it is none, or the token would cross a network in the clear.
        """
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port = None, None
        if not host or parts.scheme not in ("http", "https") or parts.query or parts.username:
            raise InvalidParameter(
                "This is no address of a server.", 'Write connect("https://stats.example.org", token=…).'
            )
        secure = parts.scheme == "https"
        if not secure and not is_loopback(host):
            raise InvalidParameter(
                "Over http:// the token and the answers would cross the network for all to read.",
                "Write https://; plain http:// is for this machine alone.",
            )
        if not token.isascii() or not token.isprintable() or " " in token:
            raise InvalidParameter("The token is not one of this service.", "Copy it whole.")
        return cls(host, port or (443 if secure else 80), secure, parts.path.rstrip("/"), token, timeout)

    @classmethod
    def of(cls, url: str, token: str | None, timeout: float = TIMEOUT) -> ServerAddress:
        """Read an address; without a token that of the environment, DISCREET_TOKEN, is taken.

        Raises:
            InvalidParameter: as for `read`, or there is no token.
        """
        given = token or os.environ.get("DISCREET_TOKEN")
        if not given:
            raise InvalidParameter("There is no token.", "Write token=… or set DISCREET_TOKEN.")
        return cls.read(url, given, timeout)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.secure else 'http'}://{host}:{self.port}{self.path}"


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, which no network lies between.

    Example:
        >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("localhost.example.org")
        (True, True, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def call(
    address: ServerAddress, method: str, path: str, body: Mapping[str, Any] | None = None, accept: str = ""
) -> bytes:
    """Send one request.

    Args:
        address: of the server.
        method: GET, POST, PUT or DELETE.
        path: below the address.
        body: is sent as JSON.
        accept: the media type that is asked for.

    Raises:
        DiscreetError: the one that the server says.
        ServerError: it cannot be reached, or its answer cannot be read.
    """
    headers = {"Authorization": f"Bearer {address.token}", "Accept": accept or "application/json"}
    data = None
    if body is not None:
        data = json.dumps(body, allow_nan=False).encode()
        headers["Content-Type"] = "application/json"
    try:
        connection = _connection(address)
        try:
            connection.request(method, address.path + path, data, headers)
            with connection.getresponse() as answer:
                status, said = answer.status, answer.read(MOST + 1)
                if answer.length and len(said) <= MOST:  # reading up to a number of bytes does not say so
                    raise http.client.IncompleteRead(said)
        finally:
            connection.close()
    except (OSError, http.client.HTTPException):
        fault: ServerError | None = ServerError(
            f"The server at {address} cannot be reached, or broke off.",
            "If a question was on its way, ask the same again: it is free if it was answered.",
        )
    else:
        fault = None
    if fault is not None:
        raise fault
    if len(said) > MOST:
        raise ServerError("The answer of the server is larger than 1 GiB.", "Ask for fewer groups.")
    if 200 <= status < 300:
        return said
    raise _refusal(said)


def document(said: bytes) -> Any:
    """Read JSON.

    Raises:
        ServerError: it is none.
    """
    try:
        return json.loads(said)
    except (ValueError, RecursionError):
        pass
    raise unreadable()


def unreadable() -> ServerError:
    """The error for an answer of another shape than this version knows."""
    return ServerError(
        "The answer of the server cannot be read.", "Check the address, and that both sides have one version."
    )


def _refusal(said: bytes) -> Exception:
    try:
        return to_error(json.loads(said))
    except (ValueError, RecursionError):
        return unreadable()


def _connection(address: ServerAddress) -> http.client.HTTPConnection:
    if not address.secure:
        return http.client.HTTPConnection(address.host, address.port, timeout=address.timeout)
    context = ssl.create_default_context()
    return http.client.HTTPSConnection(address.host, address.port, timeout=address.timeout, context=context)
