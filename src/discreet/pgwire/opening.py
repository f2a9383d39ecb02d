"""The start of a connection: TLS or none, who calls, and about which data."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import Any, NamedTuple

from discreet.client.transport import is_loopback
from discreet.errors import DiscreetError
from discreet.pgwire import messages as wire
from discreet.pgwire.answers import REPORTED, ConnectionAnswers
from discreet.pgwire.faults import Ended, Refused, state_of
from discreet.pgwire.messages import Malformed, Reader
from discreet.server.people import Caller
from discreet.server.service import Service


class OpenedConnection(NamedTuple):
    """A connection that has begun.

    Attributes:
        answers: of its statements.
        token: of its caller.
    """

    answers: ConnectionAnswers
    token: str


class Cancelled(Exception):
    """The connection only asks to cancel a question of another one.

    Args:
        key: of that one: its number and its secret.
    """

    def __init__(self, key: tuple[int, int]) -> None:
        super().__init__()
        self.key = key


class Opening:
    """The start of one connection.

    Args:
        service: that is asked.
        tls: None for none.
        reader: of bytes.
        writer: of bytes.
        key: the number and the secret that cancel its questions.
        see_room: refuses a caller, by name, who has too many connections.
    """

    def __init__(
        self, service: Service, tls: ssl.SSLContext | None, reader: asyncio.StreamReader, writer: Any,
        key: tuple[int, int], see_room: Callable[[str], None],
    ) -> None:  # fmt: skip
        self._see_room = see_room
        self._service, self._tls, self._reader, self._writer, self._key = service, tls, reader, writer, key
        self._secure = False
        self._token = ""

    async def opened(self) -> OpenedConnection:
        """Agree on TLS, who calls, and about which data.

        Raises:
            Refused: the caller may not come in.
            Cancelled: that was all.
            Malformed: these are no messages of the protocol.
        """
        while True:
            code, data = await self._first()
            if code in (wire.SSL, wire.GSS):
                if code == wire.GSS or self._tls is None or self._secure:
                    self._writer.write(b"N")
                    continue
                self._writer.write(b"S")
                await self._writer.drain()
                # Bytes that came before TLS could be somebody else's.
                if self._reader._buffer:  # type: ignore[attr-defined]
                    raise Ended
                await self._writer.start_tls(self._tls)
                self._secure = True
                continue
            if code == wire.CANCEL:
                reader = Reader(data)
                key = (reader.int32(), reader.int32())
                reader.end()
                raise Cancelled(key)
            break
        if code >> 16 != 3:
            raise Refused("08P01", "Only version 3 of the protocol is spoken here.")
        asked = wire.startup(data)
        if code != wire.PROTOCOL or any(name.startswith("_pq_.") for name in asked):
            unknown = [name for name in asked if name.startswith("_pq_.")]
            parts = [wire.int32(0), wire.int32(len(unknown)), *map(wire.text, unknown)]
            self._writer.write(wire.message(b"v", *parts))
        if not self._secure and not is_loopback(self._peer()):
            raise Refused("28000", "The token and the answers would cross the network for all to read.",
                          "Connect with sslmode=verify-full.")  # fmt: skip
        caller = await self._signed_in(asked.get("user", ""))
        self._see_room(caller.name)
        dataset = self._dataset(caller, asked)
        answers = ConnectionAnswers(self._service, caller, dataset)
        self._welcome(asked, caller, answers)
        return OpenedConnection(answers, self._token)

    async def _first(self) -> tuple[int, bytes]:
        length = Reader(await self._reader.readexactly(4)).int32()
        if not 8 <= length <= wire.MOST_STARTUP:
            raise Malformed
        data = await self._reader.readexactly(length - 4)
        return Reader(data).int32(), data[4:]

    def _peer(self) -> str:
        return str((self._writer.get_extra_info("peername") or ("",))[0])

    async def _signed_in(self, user: str) -> Caller:
        service = self._service
        self._writer.write(wire.authentication(3))
        letter, data = await message(self._reader)
        if letter != b"p":
            raise Malformed
        reader = Reader(data)
        self._token = reader.text()
        reader.end()
        caller = service.people.caller(self._token)
        if caller is None and not service.strangers.allows(self._peer()):
            raise Refused("53300", "There are too many requests without a valid token.", "Wait for a minute.")
        if caller is None or caller.name != user:
            raise Refused("28P01", "There is no valid token of this user.",
                          "The user is the analyst, and the password is the token.")  # fmt: skip
        return caller

    def _dataset(self, caller: Caller, asked: dict[str, str]) -> str:
        """The data set that is the database."""
        if not {"read", "ask"} <= caller.scopes:
            raise Refused(
                "42501", "This token does not allow questions.", "Ask the steward for one that does."
            )
        names = [dataset.name for dataset in self._service.visible(caller)]
        name = asked.get("database") or caller.name
        if name in names:
            return name
        if name == caller.name and len(names) == 1:
            return names[0]  # a client that is told of no database names the user
        raise Refused("3D000", "There is no data set of this name for you.",
                      f"Yours are {', '.join(names)}." if names else "Ask the steward for a budget.")  # fmt: skip

    def _welcome(self, asked: dict[str, str], caller: Caller, answers: ConnectionAnswers) -> None:
        try:
            for name, value in asked.items():
                answers.set(name, value)
            words = asked.get("options", "").replace("--", "-c ").split()
            for word in words:
                name, _, value = word.removeprefix("-c").partition("=")
                answers.set(name, value)
        except DiscreetError as error:
            raise Refused(state_of(error), error.cause, error.fix) from None
        parts = [wire.authentication(0)]
        said = {**REPORTED, "session_authorization": caller.name,
                "application_name": asked.get("application_name", "")[:64]}  # fmt: skip
        parts += [wire.message(b"S", wire.text(name), wire.text(value)) for name, value in said.items()]
        parts += [wire.message(b"K", wire.int32(self._key[0]), wire.int32(self._key[1])), wire.ready("I")]
        self._writer.write(b"".join(parts))


async def message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """The next message of a client: its letter and the rest.

    Raises:
        Malformed: its length is none.
    """
    letter = await reader.readexactly(1)
    length = Reader(await reader.readexactly(4)).int32()
    if not 4 <= length <= wire.MOST:
        raise Malformed
    return letter, await reader.readexactly(length - 4)
