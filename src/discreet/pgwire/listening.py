"""The server of the protocol: a thread of its own beside that of HTTP, over the same service."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from discreet.client.transport import is_loopback
from discreet.errors import InvalidParameter, ServerError
from discreet.pgwire.conversation import Conversation
from discreet.pgwire.faults import Refused
from discreet.pgwire.messages import MOST
from discreet.server.service import Service

MOST_CONNECTIONS = 200
MOST_OF_ONE = 50
"""Connections of one caller, so that nobody can take all of them."""


class Listener:
    """Takes connections.

    Args:
        service: that is asked.
        tls: for connections through TLS; None for none.

    Attributes:
        running: the conversations that have begun, by the number and the secret that cancel their questions.
    """

    def __init__(self, service: Service, tls: ssl.SSLContext | None = None) -> None:
        self.service, self.tls = service, tls
        self.running: dict[tuple[int, int], Conversation] = {}
        self._open: dict[asyncio.Task[None], Conversation] = {}
        self._numbers = count(1)

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Speak with one client."""
        task = asyncio.current_task()
        assert task is not None
        if len(self._open) >= MOST_CONNECTIONS and not self._made_room():
            writer.close()
            return
        conversation = Conversation(self, reader, writer, next(self._numbers))
        self._open[task] = conversation
        # An answer of several messages would wait for the client's word on the first.
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            await conversation.run()
        except asyncio.CancelledError:
            pass  # at the end of the service
        finally:
            self._open.pop(task, None)
            writer.close()
            with contextlib.suppress(OSError, ssl.SSLError):
                await writer.wait_closed()

    def _made_room(self) -> bool:
        """End the oldest connection that has not signed in, if there is one."""
        strangers = (task for task, one in self._open.items() if one.key not in self.running)
        oldest = next(strangers, None)
        if oldest is not None:
            oldest.cancel()
            del self._open[oldest]
        return oldest is not None

    def see_room(self, name: str) -> None:
        """See that a caller may have one more connection.

        Raises:
            Refused: they have too many.
        """
        if sum(one.caller == name for one in self.running.values()) >= MOST_OF_ONE:
            raise Refused("53300", f"You have {MOST_OF_ONE} connections.", "Close some of them.")

    async def end(self) -> None:
        """End all conversations; questions that are at work go on, and their charges stay."""
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)


def bound(host: str, port: int) -> socket.socket:
    """A socket that is bound, so that the port is known before anybody is told.

    Raises:
        ServerError: the port is taken.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError:
        pass
    raise ServerError(f"Nothing can listen on {host}, port {port}.", "Name another one with --pg-port.")


def certificate(host: str, chain: Path | None, key: Path | None) -> ssl.SSLContext | None:
    """The TLS of a listener.

    Raises:
        InvalidParameter: the files cannot be used, or tokens would cross a network in the clear.
    """
    if (chain is None) != (key is None):
        raise InvalidParameter("--pg-certificate and --pg-key go together.", "Give both.")
    if chain is None:
        if not is_loopback(host):
            raise InvalidParameter(
                "Tokens and answers would cross the network for all to read.",
                "Give --pg-certificate and --pg-key, or listen on this machine alone.",
            )
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(chain, key)
    except (OSError, ssl.SSLError):
        fault = True
    else:
        fault = False
    if fault:
        raise InvalidParameter(
            "The certificate or its key cannot be read.", "Give PEM files that belong together."
        )
    return context


@contextlib.contextmanager
def serving(service: Service, listener: socket.socket, tls: ssl.SSLContext | None = None) -> Iterator[None]:
    """Serve in a thread until the end of the block.

    Args:
        service: that is asked.
        listener: is bound; it is closed at the end.
        tls: as for `Listener`.
    """
    loop = asyncio.new_event_loop()
    desk = Listener(service, tls)
    server = loop.run_until_complete(asyncio.start_server(desk.take, sock=listener, limit=MOST))
    thread = threading.Thread(target=loop.run_forever, name="discreet-pgwire", daemon=True)
    thread.start()

    async def stop() -> None:
        server.close()
        await desk.end()

    try:
        yield
    finally:
        asyncio.run_coroutine_threadsafe(stop(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()
