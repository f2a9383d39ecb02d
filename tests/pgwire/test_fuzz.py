"""Conversations that no client would have: messages that were changed, cut, repeated, and sent byte by byte.

Whatever comes, each connection ends, every byte answered is a whole message of the protocol, no byte and no line of
the log holds a value of the data, a path or a trace, others are served, a question that did not arrive whole costs
nothing, and no task and no socket stays. A deep run changes 100,000 messages, and cuts at each byte.
"""

from __future__ import annotations

import asyncio
import io
import os
import random
import socket
import ssl
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from discreet.pgwire import conversation, listening
from discreet.pgwire import messages as protocol
from discreet.pgwire.listening import bound, certificate, serving
from tests.depth import DEEP, examples
from tests.pgwire import talk
from tests.pgwire.conftest import Wire
from tests.pgwire.strictly import read_strictly
from tests.pgwire.test_listening import make_certificate
from tests.server.hidden import SECRET, all_logged, see_nothing_private, serving_hidden

MESSAGES = examples(100, 110_000)
ANALYSTS = ("ana", "ben", "cyd", "dan")
LOOPS: list[asyncio.AbstractEventLoop] = []
UNFORESEEN = ("a connection failed", "a request failed", "Unhandled", "never retrieved")
"""Words of a log that say that nobody thought of something."""
STEADY = "SHOW server_version"
LINGER = struct.pack("ii", 1, 0)
"""A connection that is closed so is reset."""


class Watched(listening.Listener):
    """A listener whose tasks can be counted."""

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """As before."""
        LOOPS[:] = [asyncio.get_running_loop()]
        await super().take(reader, writer)


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listening, "Listener", Watched)
        for running in serving_hidden(tmp_path_factory.mktemp("wire"), ANALYSTS):
            listener = bound("127.0.0.1", 0)
            with serving(running.service, listener):
                yield Wire(running, listener.getsockname()[1])


@pytest.fixture(scope="module")
def log() -> Iterator[io.StringIO]:
    with all_logged() as said:
        yield said


def spoken(
    wire: Wire, data: bytes, pieces: Callable[[int], int], reset: bool = False, orderly: bool = False
) -> str:
    """Send bytes in pieces, and read strictly to the end; the letters that came."""
    got, cut = bytearray(), reset
    with socket.create_connection(("127.0.0.1", wire.port), timeout=60) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            at = 0
            while at < len(data):
                step = pieces(len(data) - at)
                connection.sendall(data[at : at + step])
                at += step
            if reset:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER)
                return ""
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(1 << 16):
                got += piece
        except TimeoutError:
            pytest.fail("a connection neither ends nor answers")
        except OSError:
            cut = True  # the server ended it while bytes were on their way
    see_nothing_private(wire.running, got.decode(errors="replace"), data.decode(errors="replace"))
    return read_strictly(bytes(got), cut, orderly)


def spent(wire: Wire, who: str) -> Any:
    return wire.running.service.datasets["hospital"].session.ledger.spent(f"analyst {who}")


def left(steady: int, patience: float = 30) -> None:
    """See that no task is there but those of the connections that go on."""
    until = time.monotonic() + patience
    while (tasks := len(asyncio.all_tasks(LOOPS[0]))) > steady and time.monotonic() < until:
        time.sleep(0.01)
    assert tasks <= steady, "a task is left behind"


def sockets() -> int:
    """The sockets of this process; 0 where the system does not tell."""
    found = 0
    with suppress(OSError):
        for one in os.listdir("/proc/self/fd"):
            with suppress(OSError):
                found += os.readlink(f"/proc/self/fd/{one}").startswith("socket:")
    return found


def fuzz(wire: Wire, seed: int, messages: int, who: tuple[str, ...] = ANALYSTS) -> Counter[str]:
    """Have conversations until so many messages were changed; the letters that were answered."""
    heard = Counter[str]()

    def speak(name: str) -> None:
        rng, changes, token = random.Random(f"{seed} {name}"), 0, wire.running.tokens[name]
        with wire.connect(name) as steady:
            while changes < messages / len(who):
                first, other = (talk.conversation(rng, name, token) for _ in range(2))
                data, count = talk.fuzzed(rng, first, other)
                changes += count
                whole = rng.random() < 0.7
                largest = 1 if rng.random() < 0.1 and len(data) < 2000 else 200
                pieces = (lambda most: most) if whole else (lambda most: rng.randint(1, min(most, largest)))  # noqa: B023
                before, reset = spent(wire, name), rng.random() < 0.05
                try:
                    letters = spoken(wire, data, pieces, reset)
                except AssertionError as error:
                    raise AssertionError(f"{error}; seed {seed}, {name}, {data!r}") from error
                heard.update(letters)
                if not reset and not talk.complete(data):
                    assert spent(wire, name) == before, (
                        seed,
                        name,
                        data,
                        "an incomplete question was charged",
                    )
                if rng.random() < 0.05:
                    assert steady.execute(STEADY).fetchone(), "others are not served"
            assert steady.execute(STEADY).fetchone()

    with ThreadPoolExecutor(len(who)) as pool:
        list(pool.map(speak, who))
    left(0)
    return heard


def test_no_conversation_makes_the_server_fail(
    wire: Wire, log: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    fuzz(wire, 1, 4)  # opens what stays open
    open_before = sockets()
    heard = fuzz(wire, random.SystemRandom().randrange(1 << 32), MESSAGES)
    with wire.connect("ana", "-c discreet.epsilon=0.01") as connection:
        assert len(connection.execute(talk.QUESTION.format("17.25")).fetchall()) == 3
    left(0)
    assert sockets() <= open_before, "a socket is left behind"
    see_nothing_private(wire.running, log.getvalue(), SECRET, f"{SECRET}1")
    assert not [words for words in UNFORESEEN if words in log.getvalue()]
    wire.running.service.datasets["hospital"].session.ledger.verify()
    with capsys.disabled():
        print(f"\n{MESSAGES} messages changed: {dict(heard)}")
    # In a usual run each of the first five comes dozens of times, as most conversations begin well.
    assert {*("RSKZETDC12st3nINv" if DEEP else "RSKZE")} <= heard.keys(), "the changes are too wild"
    assert heard["E"] > MESSAGES // 20, "the changes are too tame"


def test_no_beginning_of_tls_makes_the_server_fail(wire: Wire, tmp_path: Path) -> None:
    chain, key = make_certificate(tmp_path)
    client = ssl.create_default_context(cafile=str(chain))
    seed = random.SystemRandom().randrange(1 << 32)
    rng, listener = random.Random(seed), bound("127.0.0.1", 0)
    hello = _hello(client)
    with all_logged() as log, serving(wire.running.service, listener, certificate("127.0.0.1", chain, key)):
        at = ("127.0.0.1", listener.getsockname()[1])
        for _ in range(examples(60, 5_000)):
            data = bytearray(hello if rng.random() < 0.7 else rng.randbytes(rng.randrange(300)))
            for _ in range(rng.randrange(4)):
                place = rng.randint(0, len(data))
                data[place : place + rng.randrange(3)] = rng.randbytes(rng.randrange(3))
            with socket.create_connection(at, timeout=60) as connection, suppress(ConnectionError):
                connection.sendall(struct.pack("!ii", 8, talk.SSL))
                assert connection.recv(1) == b"S"
                connection.sendall(data[: rng.randint(0, len(data))] if rng.random() < 0.3 else data)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(1 << 16):
                    pass
        url = (
            wire.url()
            .replace(f"port={wire.port}", f"port={at[1]}")
            .replace("host=127.0.0.1", "host=localhost")
        )
        with psycopg.connect(f"{url} sslmode=verify-full sslrootcert={chain}") as connection:
            assert connection.execute(STEADY).fetchone()
        left(0)
    assert not [words for words in (*UNFORESEEN, "Traceback") if words in log.getvalue()], seed


def _hello(client: ssl.SSLContext) -> bytes:
    """The first bytes of a client of TLS."""
    sent = ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        client.wrap_bio(ssl.MemoryBIO(), sent, server_hostname="localhost").do_handshake()
    return sent.read()


# Cut ------------------------------------------------------------------------------------------------------


def ways(who: str, token: str, literal: str) -> dict[str, tuple[bytes, int]]:
    """A question in both ways: the bytes up to its end, and how many of them ask it."""
    begun = b"".join(one.data for one in talk.start(who, token))
    simple = begun + talk.asked(talk.QUESTION.format(literal)).data
    said = talk.prepared(talk.QUESTION.format(f"{literal} + $1"), b"0")
    ends = [begun + b"".join(one.data for one in said[: at + 1]) for at in range(len(said))]
    return {
        "simple": (simple + talk.END.data, len(simple)),
        "extended": (ends[-1] + talk.END.data, len(ends[4])),
    }


def see_cuts(wire: Wire, who: str, kind: str, sample: int) -> None:
    """Cut a question at each byte, or at some and around its end: it is charged where it is whole, and once."""
    token, rng = wire.running.tokens[who], random.Random(5)
    data, end = ways(who, token, "0.0000")[kind]
    places = range(len(data) + 1)
    if sample < len(places):
        places = sorted({*rng.sample(places, sample), end - 1, end, end + 1, len(data)})  # type: ignore[assignment]
    for at in places:
        data, end = ways(who, token, f"{at % 90}.{at:04d}")[kind]
        before = spent(wire, who)
        spoken(wire, data[:at], lambda most: most, orderly=True)
        charged = (spent(wire, who).epsilon - before.epsilon) * 100
        assert charged == (at >= end), (
            f"{kind}, cut after {at} of {len(data)} bytes, its end is {end}: {charged}"
        )


@pytest.mark.parametrize("kind", ["simple", "extended"])
def test_a_question_that_is_cut_costs_nothing(wire: Wire, kind: str) -> None:
    see_cuts(wire, "cyd", kind, 10_000 if DEEP else 8)


def test_the_pieces_of_a_conversation_change_nothing(wire: Wire) -> None:
    token = wire.running.tokens["dan"]
    said = [
        *talk.start("dan", token),
        *talk.prepared("SELECT $1", b"7"),
        talk.asked("SELECT 1; SELECT 2"),
        talk.END,
    ]
    data = b"".join(one.data for one in said)
    whole = spoken(wire, data, lambda most: most, orderly=True)
    assert whole.endswith("1tT2TDCC3ZTDCTDCZ")
    assert spoken(wire, data, lambda _: 1) == spoken(wire, data, lambda _: 7) == whole
    many = b"".join(one.data for one in [*talk.start("dan", token), *[talk.asked(STEADY)] * 300])
    assert spoken(wire, many, lambda most: most, orderly=True).endswith("TDCZ" * 300)


# Planted faults -------------------------------------------------------------------------------------------


def _fuzz_on(wire: Wire, times: int) -> None:
    for seed in range(3, 3 + times):
        fuzz(wire, seed, 400, ("ana",))


def test_a_server_that_believes_a_length_is_found(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    def believed(self: protocol.Reader, count: int) -> bytes:
        found = self._data[self._at : self._at + count]
        self._at += count
        return found

    monkeypatch.setattr(protocol.Reader, "bytes", believed)
    # The token is another one in each run, and with it the changes. 400 find it in 11 of 12 runs; P(12 miss) < 1e-12.
    with pytest.raises(AssertionError, match="nobody foresaw"):
        _fuzz_on(wire, 12)


def test_a_server_that_asks_a_message_that_was_cut_is_found(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lenient(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
        letter = await reader.readexactly(1)
        length = protocol.Reader(await reader.readexactly(4)).int32()
        try:
            return letter, await reader.readexactly(length - 4)
        except asyncio.IncompleteReadError as error:
            return letter, error.partial + b"\0"

    monkeypatch.setattr(conversation, "message", lenient)
    with pytest.raises(AssertionError, match="cut after"):
        see_cuts(wire, "ana", "simple", 0)


def test_bytes_that_are_no_message_are_found(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    right = protocol.text("SELECT 1")
    for wrong, words in (
        (protocol.message(b"C", right)[:-1], "shorter than"),
        (protocol.message(b"C", right, b"x"), "longer than"),
        (protocol.message(b"C", b"x"), "no end"),
        (protocol.message(b"G"), "no server sends"),
        (protocol.described([("n", 20, 8)], [0]) + protocol.row([b"1", b"2"]), "rows differ"),
        (protocol.fields(b"E", [("S", "ERROR"), ("C", "42000")]), "lacks a field"),
    ):
        with pytest.raises(AssertionError, match=words):
            read_strictly(wrong, orderly=True)


@pytest.mark.parametrize("shown", [SECRET + "7", "its place", "Traceback"])
def test_a_server_that_shows_what_it_must_not_is_found(
    wire: Wire, monkeypatch: pytest.MonkeyPatch, shown: str
) -> None:
    told = conversation.Conversation._say_error
    words = (
        str(wire.running.service.datasets["hospital"].session.ledger.where) if shown == "its place" else shown
    )

    def say(self: conversation.Conversation, state: str, cause: str, *rest: Any, **named: Any) -> None:
        told(self, state, f"{cause} {words}", *rest, **named)

    monkeypatch.setattr(conversation.Conversation, "_say_error", say)
    with pytest.raises(AssertionError):
        fuzz(wire, 4, 60, ("ben",))


def test_a_task_that_stays_is_found(wire: Wire) -> None:
    spoken(wire, b"", lambda most: most)  # the loop is known
    begun = threading.Event()

    async def stays() -> None:
        begun.set()
        await asyncio.sleep(600)

    stay = asyncio.run_coroutine_threadsafe(stays(), LOOPS[0])
    assert begun.wait(60)
    try:
        with pytest.raises(AssertionError, match="left behind"):
            left(0, patience=0.0)
    finally:
        stay.cancel()
