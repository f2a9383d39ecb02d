"""A server that speaks ClickHouse's HTTP, answered by the embedded one: no other is to be had from a package here.

It takes what clickhouse-connect sends: the text in the body or in `query`, settings as parameters, and a format. Users,
compression and cancelling are beyond it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

from tests import servers

OTHERS = {"query", "database", "default_format", "query_id", "session_id", "user", "password", "compress",
          "enable_http_compression", "client_protocol_version", "wait_end_of_query", "session_timeout"}  # fmt: skip


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(200, b"Ok.\n")

    def do_POST(self) -> None:
        given = dict(parse_qsl(urlsplit(self.path).query))
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        sql = "\n".join(filter(None, (given.get("query"), body)))
        asked = getattr(self.server, "asked")  # noqa: B009
        asked.append((sql, given))
        form, head = given.get("default_format", "TabSeparated"), sql.rstrip().rstrip(";")
        before, word, after = head.rpartition("FORMAT ")
        if word and after.strip().isalnum():
            head, form = before.strip(), after.strip()
        try:
            if "database" in given:
                servers.clickhouse().query(f"USE {given['database']}")
            for name, value in given.items():
                if name not in OTHERS and not name.startswith("param_"):
                    servers.clickhouse().query(f"SET {name} = '{value}'")
            self._answer(200, servers.clickhouse().query(head, form).bytes(), form)
        except Exception as error:
            self._answer(500, str(error).encode())

    def _answer(self, status: int, body: bytes, form: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-ClickHouse-Format", form)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serving() -> Iterator[tuple[str, list[tuple[str, dict[str, str]]]]]:
    """The host and port of a server on this machine, and what it was asked."""
    servers.clickhouse()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    asked: list[tuple[str, dict[str, str]]] = []
    setattr(server, "asked", asked)  # noqa: B010
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
