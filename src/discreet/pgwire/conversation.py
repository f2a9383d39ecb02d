"""One connection: its start, its password, and its messages one after the other."""

from __future__ import annotations

import asyncio
import logging
import secrets
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from discreet.client.transport import is_loopback
from discreet.dbapi.binding import bind, count
from discreet.dbapi.statements import split
from discreet.errors import (
    BudgetExceeded,
    Busy,
    DiscreetError,
    EngineError,
    InvalidParameter,
    LedgerError,
    NotAllowed,
    PostProcessingError,
    QueryRefused,
    TimedOut,
    charged_words,
)
from discreet.pgwire import messages as wire
from discreet.pgwire.answers import REPORTED, Answers, Column, Failed, Result, position
from discreet.pgwire.messages import Bind, Malformed, Parse, Reader
from discreet.pgwire.types import as_bytes, as_text, has_bytes, parameter, unknown_format
from discreet.server.people import Caller
from discreet.server.problems import told
from discreet.server.service import Service

LOG = logging.getLogger("discreet.pgwire")
START_PATIENCE, IDLE_PATIENCE = 20.0, 3600.0
"""Seconds for the start of a connection, and for the next message."""
MOST_KEPT = 100
"""Prepared statements of a connection, and results that wait."""
STATES: tuple[tuple[type[DiscreetError], str], ...] = (
    (BudgetExceeded, "53400"), (Busy, "53300"), (TimedOut, "57014"), (NotAllowed, "42501"), (InvalidParameter, "22023"),
    (QueryRefused, "42000"), (PostProcessingError, "22000"), (EngineError, "58000"), (LedgerError, "58030"),
    (DiscreetError, "XX000"),
)  # fmt: skip
"""SQLSTATE by the first class that an error is of."""


def state_of(error: DiscreetError) -> str:
    """SQLSTATE of an error.

    Example:
        >>> state_of(BudgetExceeded("the data set", "1", "0")), state_of(QueryRefused("No."))
        ('53400', '42000')
    """
    return next(code for kind, code in STATES if isinstance(error, kind))


class Ended(Exception):
    """The connection is over, without a word."""


class Refused(Exception):
    """The connection is over, for a reason that is told.

    Args:
        state: SQLSTATE.
        cause: the reason.
        hint: the remedy.
    """

    def __init__(self, state: str, cause: str, hint: str = "") -> None:
        super().__init__(cause)
        self.state, self.hint = state, hint


class Desk(Protocol):
    """What connections share."""

    service: Service
    tls: ssl.SSLContext | None
    running: dict[tuple[int, int], Conversation]


@dataclass
class Prepared:
    """A prepared statement.

    Attributes:
        query: its text.
        types: the numbers of the types of its parameters.
    """

    query: str
    types: tuple[int, ...]


@dataclass
class Portal:
    """A statement with its values.

    Attributes:
        text: with the values in it.
        formats: of the columns of the result, as the client sent them.
        columns: once they were told.
        result: once it was asked.
        sent: how many rows were sent.
    """

    text: str
    formats: tuple[int, ...]
    columns: Sequence[Column] | None = None
    result: Result | None = None
    sent: int = 0


class Conversation:
    """One connection.

    Args:
        desk: of all connections.
        reader: of bytes.
        writer: of bytes.
        number: of the connection.
    """

    def __init__(self, desk: Desk, reader: asyncio.StreamReader, writer: Any, number: int) -> None:
        self._desk, self._reader, self._writer = desk, reader, writer
        self.key = (number, secrets.randbits(31))
        self._token = ""
        self._answers: Answers
        self._statements: dict[str, Prepared] = {}
        self._portals: dict[str, Portal] = {}
        self._skipping = False
        self._task: asyncio.Task[Result] | None = None
        self._secure = False

    # The start -------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Speak until the end; nothing that a client sends raises anything here."""
        try:
            if not await asyncio.wait_for(self._start(), START_PATIENCE):
                return
            self._desk.running[self.key] = self
            while True:
                await self._next()
        except Refused as error:
            self._say_error(error.state, str(error), error.hint, severity="FATAL")
            await self._flush()
        except Malformed:
            self._say_error("08P01", "This is no message of the protocol.", severity="FATAL")
            await self._flush()
        except (Ended, OSError, EOFError, TimeoutError, ssl.SSLError):
            pass
        finally:
            self._desk.running.pop(self.key, None)

    async def _start(self) -> bool:
        """Agree on TLS, who calls, and about which data; False where that was all."""
        while True:
            code, data = await self._first()
            if code in (wire.SSL, wire.GSS):
                if code == wire.GSS or self._desk.tls is None or self._secure:
                    self._writer.write(b"N")
                    continue
                self._writer.write(b"S")
                await self._writer.drain()
                # Bytes that came before TLS could be somebody else's.
                if self._reader._buffer:  # type: ignore[attr-defined]
                    raise Ended
                await self._writer.start_tls(self._desk.tls)
                self._secure = True
                continue
            if code == wire.CANCEL:
                self._cancel(data)
                return False
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
        dataset = self._dataset(caller, asked)
        self._answers = Answers(self._desk.service, caller, dataset)
        self._welcome(asked, caller)
        return True

    async def _first(self) -> tuple[int, bytes]:
        length = Reader(await self._reader.readexactly(4)).int32()
        if not 8 <= length <= wire.MOST_STARTUP:
            raise Malformed
        data = await self._reader.readexactly(length - 4)
        return Reader(data).int32(), data[4:]

    def _peer(self) -> str:
        return str((self._writer.get_extra_info("peername") or ("",))[0])

    async def _signed_in(self, user: str) -> Caller:
        service = self._desk.service
        self._writer.write(wire.authentication(3))
        letter, data = await self._message()
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
        names = [one.name for one in self._desk.service.visible(caller)]
        name = asked.get("database") or caller.name
        if name in names:
            return name
        if name == caller.name and len(names) == 1:
            return names[0]  # a client that is told of no database names the user
        raise Refused("3D000", "There is no data set of this name for you.",
                      f"Yours are {', '.join(names)}." if names else "Ask the steward for a budget.")  # fmt: skip

    def _welcome(self, asked: dict[str, str], caller: Caller) -> None:
        try:
            for name, value in asked.items():
                self._answers.set(name, value)
            words = asked.get("options", "").replace("--", "-c ").split()
            for word in words:
                name, _, value = word.removeprefix("-c").partition("=")
                self._answers.set(name, value)
        except DiscreetError as error:
            raise Refused(state_of(error), error.cause, error.fix) from None
        parts = [wire.authentication(0)]
        said = {**REPORTED, "session_authorization": caller.name,
                "application_name": asked.get("application_name", "")[:64]}  # fmt: skip
        parts += [wire.message(b"S", wire.text(name), wire.text(value)) for name, value in said.items()]
        parts += [wire.message(b"K", wire.int32(self.key[0]), wire.int32(self.key[1])), wire.ready("I")]
        self._writer.write(b"".join(parts))

    # Cancelling ------------------------------------------------------------------------------------------

    def _cancel(self, data: bytes) -> None:
        reader = Reader(data)
        key = (reader.int32(), reader.int32())
        reader.end()
        other = self._desk.running.get(key)
        if other is not None and other._task is not None:
            other._task.cancel()

    # Messages --------------------------------------------------------------------------------------------

    async def _message(self) -> tuple[bytes, bytes]:
        letter = await self._reader.readexactly(1)
        length = Reader(await self._reader.readexactly(4)).int32()
        if not 4 <= length <= wire.MOST:
            raise Malformed
        return letter, await self._reader.readexactly(length - 4)

    async def _next(self) -> None:
        """Take the next message, and do as it says."""
        await self._flush()
        letter, data = await asyncio.wait_for(self._message(), IDLE_PATIENCE)
        if letter == b"X":
            raise Ended
        if letter == b"S":
            self._skipping = False
            self._end_of_statement()
            return
        if self._skipping:
            return
        do = {b"Q": self._query, b"P": self._parse, b"B": self._bind, b"D": self._describe, b"E": self._execute,
              b"C": self._close, b"H": self._hold, b"F": self._no_call, b"d": self._hold, b"c": self._hold,
              b"f": self._hold}.get(letter)  # fmt: skip
        if do is None:
            raise Malformed
        try:
            await do(data)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            self._fail("57014", "You cancelled the question. If it was charged, the charge stays.",
                       "Ask the same again: once it was answered it is free.")  # fmt: skip
        except Failed:
            self._fail("25P02", "The transaction has failed.", "ROLLBACK ends it.")
        except (Malformed, Refused, Ended, OSError, EOFError):
            raise
        except Exception as error:
            self._fail_of(error, self._text_of(letter, data))
        if letter in (b"Q", b"F"):
            self._skipping = False
            self._end_of_statement()

    def _text_of(self, letter: bytes, data: bytes) -> str:
        """The text that the place of a fault is in; empty where parameters have moved it."""
        return Reader(data).text() if letter == b"Q" else ""

    def _end_of_statement(self) -> None:
        if self._answers.state == "I":
            self._portals.clear()
        self._writer.write(wire.ready(self._answers.state))

    async def _hold(self, data: bytes) -> None:
        """Flush, and what is left of a copy: nothing is to be done."""

    async def _no_call(self, data: bytes) -> None:
        raise InvalidParameter("Functions are not called by their number here.", "Write a SELECT.")

    # The simple way --------------------------------------------------------------------------------------

    async def _query(self, data: bytes) -> None:
        reader = Reader(data)
        text = reader.text()
        reader.end()
        statements = split(text)
        if not statements:
            self._writer.write(wire.message(b"I"))
        for statement in statements:
            result = await self._asked(statement)
            if result.columns:
                self._writer.write(_described(result.columns, ()))
            self._send(result, (), 0)
            self._finish(result)
            await self._writer.drain()

    async def _asked(self, text: str) -> Result:
        """Ask one statement; a request to cancel ends the wait for it, and never the charge."""
        self._see_caller()
        self._task = asyncio.ensure_future(self._answers.result(text))
        try:
            result = await self._task
        finally:
            self._task = None
        for words in result.notices:
            said = (("S", "NOTICE"), ("V", "NOTICE"), ("C", "00000"), ("M", words))
            self._writer.write(wire.fields(b"N", said))
        return result

    def _see_caller(self) -> None:
        """See that the token still holds, and that its owner does not ask too often.

        Raises:
            Refused: it was revoked, or is too old.
            Busy: they do.
        """
        caller = self._desk.service.people.caller(self._token)
        if caller is None:
            raise Refused("28000", "The token no longer holds.", "Ask the steward for another one.")
        if not self._desk.service.rate.allows(caller.name):
            raise Busy("You ask too often.", "Wait for a moment.")

    # The extended way ------------------------------------------------------------------------------------

    async def _parse(self, data: bytes) -> None:
        asked = Parse.read(data)
        if len(split(asked.query)) > 1:
            raise QueryRefused("There is more than one statement.", "Prepare them one at a time.")
        count(asked.query, "numeric_dollar")
        _see_room(self._statements, asked.name)
        self._statements[asked.name] = Prepared(asked.query, asked.types)
        self._writer.write(wire.message(b"1"))

    async def _bind(self, data: bytes) -> None:
        asked = Bind.read(data)
        found = self._prepared(asked.statement)
        values = [
            parameter(value, _at(found.types, place, 0), _at(asked.formats, place, 0, spread=True))
            for place, value in enumerate(asked.values)
        ]
        _see_room(self._portals, asked.portal)
        text = bind(found.query, values, "numeric_dollar")
        self._portals[asked.portal] = Portal(text, asked.results)
        self._writer.write(wire.message(b"2"))

    async def _describe(self, data: bytes) -> None:
        kind, name = wire.one_of(data)
        if kind == "P":
            portal = self._portal(name)
            self._writer.write(_described(await self._columns(portal), portal.formats))
            return
        found = self._prepared(name)
        number = count(found.query, "numeric_dollar")
        types = [_at(found.types, place, 0) or 25 for place in range(number)]
        self._writer.write(wire.message(b"t", wire.int16(number), *map(_unsigned, types)))
        self._see_caller()
        columns = await self._answers.columns(bind(found.query, [None] * number, "numeric_dollar"))
        self._writer.write(_described(columns, ()))

    async def _columns(self, portal: Portal) -> Sequence[Column]:
        if portal.columns is None:
            self._see_caller()
            portal.columns = await self._answers.columns(portal.text)
            for place, column in enumerate(portal.columns):
                if _at(portal.formats, place, 0, spread=True) and not has_bytes(column.kind):
                    raise unknown_format()  # before anything is charged
        return portal.columns

    async def _execute(self, data: bytes) -> None:
        reader = Reader(data)
        name, most = reader.text(), reader.int32()
        reader.end()
        portal = self._portal(name)
        if not portal.text.strip():
            self._writer.write(wire.message(b"I"))
            return
        if portal.result is None:
            if any(portal.formats):
                await self._columns(portal)
            portal.result = await self._asked(portal.text)
            if portal.columns and len(portal.columns) == len(portal.result.columns):
                portal.result.columns = portal.columns  # as they were told
        result = portal.result
        portal.sent = self._send(result, portal.formats, portal.sent, most)
        if portal.sent < len(result.rows):
            self._writer.write(wire.message(b"s"))
        else:
            self._finish(result)
        await self._writer.drain()

    async def _close(self, data: bytes) -> None:
        kind, name = wire.one_of(data)
        (self._statements if kind == "S" else self._portals).pop(name, None)
        self._writer.write(wire.message(b"3"))

    def _prepared(self, name: str) -> Prepared:
        if name not in self._statements:
            raise InvalidParameter("There is no prepared statement of this name.", "Prepare it first.")
        return self._statements[name]

    def _portal(self, name: str) -> Portal:
        if name not in self._portals:
            raise InvalidParameter("There is no portal of this name.", "Bind it first.")
        return self._portals[name]

    # Out -------------------------------------------------------------------------------------------------

    def _send(self, result: Result, formats: Sequence[int], first: int, most: int = 0) -> int:
        """Send rows, and return how many were sent so far."""
        last = min(first + most, len(result.rows)) if most > 0 else len(result.rows)
        forms = [_at(formats, place, 0, spread=True) for place in range(len(result.columns))]
        for row in result.rows[first:last]:
            self._writer.write(
                wire.row([
                    None if value is None else as_bytes(value, column.kind) if form else as_text(value)
                    for value, column, form in zip(row, result.columns, forms, strict=True)
                ])
            )  # fmt: skip
        return last

    def _finish(self, result: Result) -> None:
        self._writer.write(wire.message(b"C", wire.text(result.tag)))

    def _fail_of(self, error: Exception, text: str) -> None:
        if not isinstance(error, DiscreetError):
            LOG.error(
                "a request failed: %s", type(error).__name__
            )  # the kind alone: a message may quote a value
        said = told(error)
        cause = said.cause if said.charged is None else f"{said.cause} {charged_words(said.charged)}"
        self._fail(state_of(said), cause, said.fix, position(said, text), charged_words(said.charged))

    def _fail(self, state: str, cause: str, hint: str, place: str = "", detail: str = "") -> None:
        self._answers.fail()
        self._skipping = True
        self._say_error(state, cause, hint, place, detail)

    def _say_error(
        self,
        state: str,
        cause: str,
        hint: str = "",
        place: str = "",
        detail: str = "",
        severity: str = "ERROR",
    ) -> None:
        said = (
            ("S", severity),
            ("V", severity),
            ("C", state),
            ("M", cause),
            ("D", detail),
            ("H", hint),
            ("P", place),
        )
        self._writer.write(wire.fields(b"E", said))

    async def _flush(self) -> None:
        await self._writer.drain()


def _described(columns: Sequence[Column], formats: Sequence[int]) -> bytes:
    """The description of columns, or the message that there are none."""
    if not columns:
        return wire.message(b"n")
    forms = [_at(formats, place, 0, spread=True) for place in range(len(columns))]
    return wire.described([(one.name, one.kind.oid, one.kind.size) for one in columns], forms)


def _at(values: Sequence[int], place: int, default: int, spread: bool = False) -> int:
    """The value of a place; one that is alone may stand for all."""
    if spread and len(values) == 1:
        return values[0]
    return values[place] if place < len(values) else default


def _unsigned(number: int) -> bytes:
    return wire.int32(number - (1 << 32) if number >= 1 << 31 else number)


def _see_room(kept: dict[str, Any], name: str) -> None:
    if name not in kept and len(kept) >= MOST_KEPT:
        raise Busy(f"A connection keeps at most {MOST_KEPT} of these.", "Close some of them.")
