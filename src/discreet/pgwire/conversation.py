"""One connection: its start, its password, and its messages one after the other."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import select
import ssl
from collections.abc import Sequence
from typing import Any, Protocol

from discreet.dbapi.binding import bind, count
from discreet.dbapi.statements import placed, split
from discreet.errors import Busy, DiscreetError, InvalidParameter, QueryRefused, charged_words
from discreet.pgwire import messages as wire
from discreet.pgwire.answers import (
    ConnectionAnswers,
    Failed,
    Result,
    ResultColumn,
    position,
    without_conditions,
)
from discreet.pgwire.faults import Ended, Refused, state_of
from discreet.pgwire.messages import Bind, Malformed, Parse, Reader
from discreet.pgwire.opening import Cancelled, Opening, message
from discreet.pgwire.prepared import Portal, PreparedStatement, described, see_room, unsigned, value_at
from discreet.pgwire.types import as_bytes, as_text, has_bytes, parameter, unknown_format
from discreet.server.problems import told
from discreet.server.service import Service

LOG = logging.getLogger("discreet.pgwire")
START_PATIENCE, IDLE_PATIENCE = 20.0, 3600.0
"""Seconds for the start of a connection, and for the next message."""
RATE_PATIENCE, _TURN = 10.0, 0.05
"""Seconds that somebody waits who asks too often, and between two looks at that."""
_CLOSED: int = getattr(select, "POLLRDHUP", 0)
"""The other side has closed its end; 0 where a system does not tell."""


class Shared(Protocol):
    """The things that all connections share."""

    service: Service
    tls: ssl.SSLContext | None
    running: dict[tuple[int, int], Conversation]

    def see_room(self, name: str) -> None:
        """See that a caller may have one more connection."""


class Conversation:
    """One connection.

    Args:
        shared: by all connections.
        reader: of bytes.
        writer: of bytes.
        number: of the connection.
    """

    def __init__(self, shared: Shared, reader: asyncio.StreamReader, writer: Any, number: int) -> None:
        self._shared, self._reader, self._writer = shared, reader, writer
        self.key = (number, secrets.randbits(31))
        self._token = self.caller = ""
        self._answers: ConnectionAnswers
        self._statements: dict[str, PreparedStatement] = {}
        self._portals: dict[str, Portal] = {}
        self._skipping = False
        self._asked_at = (0, "")  # the statement at work, behind its place in the text of its message
        self._task: asyncio.Task[Result] | None = None

    # The start -------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Speak until the end; nothing that a client sends raises anything here."""
        try:
            shared = self._shared
            opening = Opening(
                shared.service, shared.tls, self._reader, self._writer, self.key, shared.see_room
            )
            self._answers, self._token = await asyncio.wait_for(opening.opened(), START_PATIENCE)
            self.caller = self._answers.caller
            shared.running[self.key] = self
            while True:
                await self._next()
        except Refused as error:
            await self._say_last(error.state, str(error), error.hint)
        except Cancelled as error:
            other = self._shared.running.get(error.key)
            if other is not None and other._task is not None:
                other._task.cancel()
        except Malformed:
            await self._say_last("08P01", "This is no message of the protocol.")
        except (Ended, OSError, EOFError, TimeoutError, ssl.SSLError):
            pass
        except Exception as error:  # asyncio would log its message, which may quote a value
            LOG.error("a connection failed: %s", type(error).__name__)
        finally:
            self._shared.running.pop(self.key, None)

    # Messages --------------------------------------------------------------------------------------------

    async def _next(self) -> None:
        """Take the next message, and do as it says."""
        await self._flush()
        letter, data = await asyncio.wait_for(message(self._reader), IDLE_PATIENCE)
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
            # Parameters have moved the places of every other message.
            self._fail_of(error, *self._asked_at if letter == b"Q" else (0, ""))
        if letter in (b"Q", b"F"):
            self._skipping = False
            self._end_of_statement()

    def _end_of_statement(self) -> None:
        if self._answers.state == "I":
            self._portals.clear()
        self._writer.write(wire.ready(self._answers.state))

    async def _hold(self, data: bytes) -> None:
        """Flush, and the rest of a copy: nothing is to be done."""

    async def _no_call(self, data: bytes) -> None:
        raise InvalidParameter("Functions are not called by their number here.", "Write a SELECT.")

    # The simple way --------------------------------------------------------------------------------------

    async def _query(self, data: bytes) -> None:
        reader = Reader(data)
        text = reader.text()
        reader.end()
        self._asked_at = (0, text)
        statements = placed(text)
        if not statements:
            self._writer.write(wire.message(b"I"))
        for self._asked_at in statements:
            _, statement = self._asked_at
            result = await self._asked(statement)
            if result.columns:
                self._writer.write(described(result.columns, ()))
            self._send(result, (), 0)
            self._finish(result)
            await self._writer.drain()

    async def _asked(self, text: str) -> Result:
        """Ask one statement; a request to cancel ends the wait for it, and never the charge."""
        self._task = asyncio.ensure_future(self._when_allowed(text))
        try:
            result = await self._task
        finally:
            self._task = None
        for words in result.notices:
            said = (("S", "NOTICE"), ("V", "NOTICE"), ("C", "00000"), ("M", words))
            self._writer.write(wire.fields(b"N", said))
        return result

    async def _when_allowed(self, text: str) -> Result:
        """Wait for a turn, then ask; somebody who cancels or goes while they wait is charged nothing."""
        await self._see_caller()
        return await self._answers.result(text)

    async def _see_caller(self) -> None:
        """See that the token still holds, and wait where its owner asks too often.

        A tool sends a dozen statements about the catalogue before each question, and none of them again: it is slowed
        down to the rate that others keep, and refused only where that takes too long.

        Raises:
            Refused: it was revoked, or is too old.
            Busy: they still do after some seconds.
            Ended: the client has gone meanwhile.
        """
        service, waited = self._shared.service, 0.0
        while True:
            caller = service.people.caller(self._token)
            if caller is None:
                raise Refused("28000", "The token no longer holds.", "Ask the steward for another one.")
            if service.rate.allows(caller.name):
                return
            if waited >= RATE_PATIENCE:
                raise Busy("You ask too often.", "Wait for a moment.")
            await asyncio.sleep(_TURN)
            waited += _TURN
            self._see_there()

    def _see_there(self) -> None:
        """See that a client who waited has not closed the connection: nobody would get the answer that is charged.

        Messages that came before its end, such as its farewell, may not be read yet. So the system is asked, as
        PostgreSQL does it (client_connection_check_interval).

        Raises:
            Ended: it has.
        """
        if self._writer.is_closing() or self._reader.at_eof():
            raise Ended
        if _CLOSED:
            look = select.poll()
            look.register(self._writer.get_extra_info("socket").fileno(), _CLOSED)
            if look.poll(0):
                raise Ended

    # The extended way ------------------------------------------------------------------------------------

    async def _parse(self, data: bytes) -> None:
        asked = Parse.read(data)
        if len(split(asked.query)) > 1:
            raise QueryRefused("There is more than one statement.", "Prepare them one at a time.")
        count(asked.query, "numeric_dollar")
        see_room(self._statements, asked.name)
        self._statements[asked.name] = PreparedStatement(asked.query, asked.types)
        self._writer.write(wire.message(b"1"))

    async def _bind(self, data: bytes) -> None:
        asked = Bind.read(data)
        found = self._prepared(asked.statement)
        values = [
            parameter(value, value_at(found.types, place, 0), value_at(asked.formats, place, 0, spread=True))
            for place, value in enumerate(asked.values)
        ]
        see_room(self._portals, asked.portal)
        text = bind(found.query, values, "numeric_dollar")
        self._portals[asked.portal] = Portal(text, asked.results)
        self._writer.write(wire.message(b"2"))

    async def _describe(self, data: bytes) -> None:
        kind, name = wire.one_of(data)
        if kind == "P":
            portal = self._portal(name)
            self._writer.write(described(await self._columns(portal), portal.formats))
            return
        found = self._prepared(name)
        number = count(found.query, "numeric_dollar")
        kinds = await self._answers.parameters(found.query, number)
        found.types = tuple(value_at(found.types, place, 0) or kind.oid for place, kind in enumerate(kinds))
        self._writer.write(wire.message(b"t", wire.int16(number), *map(unsigned, found.types)))
        await self._see_caller()
        text = without_conditions(found.query) if number else found.query
        left = count(text, "numeric_dollar")
        columns = await self._answers.columns(bind(text, [None] * left, "numeric_dollar"))
        self._writer.write(described(columns, ()))

    async def _columns(self, portal: Portal) -> Sequence[ResultColumn]:
        if portal.columns is None:
            await self._see_caller()
            portal.columns = await self._answers.columns(portal.text)
            for place, column in enumerate(portal.columns):
                if value_at(portal.formats, place, 0, spread=True) and not has_bytes(column.kind):
                    raise unknown_format()  # before anything is charged
        return portal.columns

    async def _execute(self, data: bytes) -> None:
        reader = Reader(data)
        name, most = reader.text(), reader.int32()
        reader.end()
        portal = self._portal(name)
        if not split(portal.text):
            self._writer.write(wire.message(b"I"))
            return
        if portal.result is None:
            if any(portal.formats):
                await self._columns(portal)
            portal.result = await self._asked(portal.text)
            if portal.columns and len(portal.columns) == len(portal.result.columns):
                portal.result.columns = portal.columns  # told before
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

    def _prepared(self, name: str) -> PreparedStatement:
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
        forms = [value_at(formats, place, 0, spread=True) for place in range(len(result.columns))]
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

    def _fail_of(self, error: Exception, before: int, text: str) -> None:
        if not isinstance(error, DiscreetError):
            # The kind alone: a message may quote a value.
            LOG.error("a request failed: %s", type(error).__name__)
        said = told(error)
        cause = said.cause if said.charged is None else f"{said.cause} {charged_words(said.charged)}"
        self._fail(state_of(said), cause, said.fix, position(said, text, before), charged_words(said.charged))

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

    async def _say_last(self, state: str, cause: str, hint: str = "") -> None:
        """Say why the connection ends, to a client that may have gone."""
        self._say_error(state, cause, hint, severity="FATAL")
        with contextlib.suppress(OSError):
            await self._flush()

    async def _flush(self) -> None:
        await self._writer.drain()
