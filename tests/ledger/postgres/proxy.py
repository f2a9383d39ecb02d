"""A network between a ledger and its server that fails in the middle of a commit."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time
from typing import Literal, Self
from urllib.parse import parse_qs, urlsplit

Cut = Literal["before", "after", "while"]
_COMMIT = b"COMMIT\0"


class Proxy:
    """Hands bytes on, and cuts a connection when a commit comes by.

    Args:
        url: of a server on a socket of this machine.

    Attributes:
        cuts: the faults to come: `before` the server sees the commit; `after` it has committed, with its answer lost;
            `while` the server goes on with the commit for half a second after the client lost sight of it.
        closed: whether new connections are refused.
    """

    def __init__(self, url: str) -> None:
        self._to = f"{parse_qs(urlsplit(url).query)['host'][0]}/.s.PGSQL.5432"
        self.cuts: list[Cut] = []
        self.closed = False
        self._server = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._listen, daemon=True)]
        self._threads[0].start()

    @property
    def url(self) -> str:
        """The address of the server behind this network."""
        return f"postgresql://postgres@127.0.0.1:{self._server.getsockname()[1]}/postgres"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._server.accept()
                if self.closed:
                    client.close()
                    continue
                threading.Thread(target=self._hand_on, args=(client,), daemon=True).start()

    def _hand_on(self, client: socket.socket) -> None:
        server = socket.socket(socket.AF_UNIX)
        server.connect(self._to)
        with client, server, contextlib.suppress(OSError):
            while True:
                for ready in select.select([client, server], [], [])[0]:
                    data = ready.recv(1 << 16)
                    if not data:
                        return
                    if ready is client and _COMMIT in data and self.cuts:
                        self._cut(self.cuts.pop(0), client, server, data)
                        return
                    (server if ready is client else client).sendall(data)

    def _cut(self, how: Cut, client: socket.socket, server: socket.socket, data: bytes) -> None:
        if how == "while":
            client.close()
            time.sleep(0.5)
        if how != "before":
            server.sendall(data)
            server.recv(1 << 16)
