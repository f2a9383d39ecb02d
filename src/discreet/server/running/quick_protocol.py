"""HTTP as httptools reads it, with the parser of Node.js, and with bounds that uvicorn leaves out."""

from __future__ import annotations

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from discreet.server.patience import MOST_HEAD, Patient, PatientProtocol


class QuickProtocol(Patient, HttpToolsProtocol):
    """Takes a limited number of bytes that belong to no body, and none of the lines behind one."""

    _size = 0
    _in_head = False
    _begun = False

    def data_received(self, data: bytes) -> None:
        """Read on, unless lines come in without end."""
        if not self._begun:
            self._begun = True
            if b"upgrade" in data[:MOST_HEAD].lower():
                self._hand_over(data)
                return
        self._size += len(data)
        super().data_received(data)
        if self._size > MOST_HEAD and not self.transport.is_closing():
            self.send_400_response("Invalid HTTP request received.")

    def _hand_over(self, data: bytes) -> None:
        """Leave a connection to h11 that may offer another protocol, as Java's client does with its first request.

        This parser takes no body there; h11 reads it, and serves the request as if nothing had been offered.
        """
        if self._late is not None:
            self._late.cancel()
        self.connections.discard(self)
        other = PatientProtocol(self.config, self.server_state, self.app_state, self.loop)
        self.transport.set_protocol(other)
        other.connection_made(self.transport)
        other.data_received(data)

    def on_message_begin(self) -> None:
        """Read the lines of a request."""
        self._in_head = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a line that stands before the body; one behind it could say something else than was looked at."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin to serve the request; one that offers another protocol and has a body is refused as unreadable.

        The parser takes no body there, and would read it as the next request of the connection.
        """
        self._in_head, self._size = False, 0
        if self.parser.should_upgrade() and any(
            name == b"transfer-encoding" or (name == b"content-length" and value != b"0")
            for name, value in self.headers
        ):
            raise ValueError
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body, whose size the guard limits."""
        self._size = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is whole."""
        self._size = 0
        super().on_message_complete()
