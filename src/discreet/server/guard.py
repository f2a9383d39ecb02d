"""The guard before every address: who calls, by which name, how much and how often; and the headers of every answer.

It is plain ASGI and outermost, so that an address that is added later is guarded too. Addresses under /api/ need a
token, whichever they are, but for a list of two.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from discreet.errors import Busy, DiscreetError, InvalidParameter
from discreet.server.problems import NotSignedIn, body, status, told
from discreet.server.service import Service

LOG = logging.getLogger("discreet.server")
MOST_BYTES = 1 << 18
"""Bytes of a request's body."""
PATIENCE = 20.0
"""Seconds for a request's body to come in."""
DROPPED, LINGER = 1 << 20, 2.0
"""Bytes, and seconds, of the rest of a refused request that are read and dropped before it is answered.

A connection that is closed over bytes that were not read is reset, and whoever still sends never sees the answer.
"""
PUBLIC = frozenset({"/api/v1/health", "/api/v1/openapi.json"})
"""Addresses under /api/ that need no token."""
CSP = (
    "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = (
    (b"content-security-policy", CSP.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    (b"cache-control", b"no-store"),
)
_STRICT = (b"strict-transport-security", b"max-age=31536000")

_ONCE = frozenset({b"host", b"authorization"})
"""Headers that stand once: readers differ in the one of two that counts."""

PARSED = "discreet.parsed"
"""Under this name the scope of a request to /api/ holds its body, where that is JSON."""

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class Guard:
    """Wraps an application.

    Args:
        app: behind the guard.
        service: whose people may come in.
    """

    def __init__(self, app: App, service: Service) -> None:
        self._app = app
        self._service = service
        secure = service.settings.secure
        self.headers = (*HEADERS, _STRICT) if secure else HEADERS
        self._own = {name for name, _ in self.headers} - {b"cache-control"} | {b"server"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # a websocket: there is none
            return
        begun, rest = False, _Rest(receive)

        async def sending(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                self._service.counted.add(scope.get("route"), message["status"])
                kept = [header for header in message["headers"] if header[0].lower() not in self._own]
                has = {name.lower() for name, _ in kept}
                message["headers"] = [*kept, *(header for header in self.headers if header[0] not in has)]
            await send(message)

        try:
            data = await self._admitted(scope, rest.receive)
            await self._app(scope, _replayed(data, receive), sending)
        except Exception as error:
            if not isinstance(error, DiscreetError):
                LOG.error("a request failed: %s", type(error).__name__)
            if not begun:
                await rest.drop()
                await refuse(told(error), sending)

    async def _admitted(self, scope: Scope, receive: Receive) -> bytes:
        """The body of a request that may come in; its caller stands in the scope.

        Raises:
            DiscreetError: it may not.
        """
        headers = {name.lower(): value for name, value in scope["headers"]}
        if sum(name.lower() in _ONCE for name, _ in scope["headers"]) > len(_ONCE & set(headers)):
            raise InvalidParameter("A header stands twice in the request.", "Send each once.")
        see_host(headers.get(b"host", b"").decode("latin-1"), self._service.settings.hosts)
        state = scope.setdefault("state", {})
        state["caller"] = None
        if scope["path"].startswith("/api/") and scope["path"] not in PUBLIC:
            state["caller"] = self._caller(headers.get(b"authorization", b"").decode("latin-1"), scope)
        try:
            async with asyncio.timeout(PATIENCE):
                data = await _read(receive)
        except TimeoutError:
            raise InvalidParameter("The request came in too slowly.", "Send it again.") from None
        if scope["path"].startswith("/api/"):
            scope[PARSED] = parsed(data)
        return data

    def _caller(self, said: str, scope: Scope) -> Any:
        scheme, _, token = said.partition(" ")
        service = self._service
        caller = service.people.caller(token.strip()) if scheme.lower() == "bearer" else None
        if caller is None:
            peer = str((scope.get("client") or ("",))[0])
            if not service.strangers.allows(peer):
                raise Busy("There are too many requests without a valid token.", "Wait for a minute.")
            raise NotSignedIn(
                "There is no valid token.",
                "Send Authorization: Bearer and a token from the steward, in $DISCREET_TOKEN on the command line.",
            )
        if not service.rate.allows(caller.name):
            raise Busy("You ask too often.", "Wait for a moment.")
        return caller


def see_host(host: str, allowed: tuple[str, ...]) -> None:
    """See that the service is called by a name of its own; a page elsewhere could point its own name here.

    Raises:
        InvalidParameter: it is another one.
    """
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    if name.lower() not in allowed:
        raise InvalidParameter(
            "The service is not called by this name.", "The steward names others with --public-url."
        )


def parsed(data: bytes) -> Any:
    """The content of a body; None where it is no JSON, which is refused elsewhere.

    Raises:
        InvalidParameter: a key stands twice in an object. Readers differ in the one that counts, and epsilon is a
            price.
    """
    twice = False

    def see(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal twice
        found = dict(pairs)
        twice |= len(found) < len(pairs)
        return found

    content = None
    with contextlib.suppress(ValueError, RecursionError):
        content = json.loads(data, object_pairs_hook=see) if data else None
    if twice:
        raise InvalidParameter("A key stands twice in the request.", "Write each key once.")
    return content


class _Rest:
    """The body of a request, and the part of it that nobody has read yet."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._more = True

    async def receive(self) -> Message:
        """The next piece."""
        # One that is given up in the middle of waiting is not waited for again.
        more, self._more = self._more, False
        message = await self._receive()
        self._more = more and message["type"] == "http.request" and bool(message.get("more_body", False))
        return message

    async def drop(self) -> None:
        """Read a short rest that comes soon."""
        size = 0
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINGER):
                while self._more and size <= DROPPED:
                    size += len((await self.receive()).get("body", b""))


async def _read(receive: Receive) -> bytes:
    data, more = b"", True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise InvalidParameter("The request broke off.", "Send it again.")
        data += message.get("body", b"")
        if len(data) > MOST_BYTES:
            raise InvalidParameter(
                f"The request is larger than {MOST_BYTES >> 10} KiB.", "Send less at once."
            )
        more = message.get("more_body", False)
    return data


def _replayed(data: bytes, receive: Receive) -> Receive:
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": data, "more_body": False}

    return again


async def refuse(error: DiscreetError, send: Send) -> None:
    """Answer with an error."""
    said = json.dumps(body(error), ensure_ascii=False).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(said)).encode())]
    if isinstance(error, NotSignedIn):
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status(error), "headers": headers})
    await send({"type": "http.response.body", "body": said})
