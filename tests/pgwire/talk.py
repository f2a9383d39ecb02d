"""Real conversations of clients as lists of messages, and changes that no client would make to them."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from dataclasses import dataclass

from tests.pgwire.conftest import message
from tests.server.mutation import SEEDS, mutated

QUESTION = "SELECT county, COUNT(*) AS n FROM visits WHERE age > {} GROUP BY county"
SSL, GSS, CANCEL, VERSION = 80877103, 80877104, 80877102, 0x30000
EDGES = (-(1 << 31), -2, -1, 0, 1, 3, 4, 32_767, 65_535, (1 << 18) - 4, (1 << 18) + 1, 1 << 24, (1 << 31) - 1)
TYPES = (
    0,
    16,
    17,
    20,
    21,
    23,
    25,
    26,
    114,
    700,
    701,
    705,
    1009,
    1043,
    1082,
    1114,
    1184,
    1700,
    2950,
    3802,
    99_999,
)
NASTY = (
    b"\0",
    b"\xff\xfe",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\xf8",
    b"\x80",
    "\u202e".encode(),
    b"'",
    b"\\",
    b"%s",
    b"$1",
)
"""Bytes that end a text or are no UTF-8, and some that a text is built with."""


@dataclass(frozen=True)
class Said:
    """One message of a client.

    Attributes:
        letter: empty for those of the start.
        body: the bytes after the length.
        length: as the client says it; None where it is right.
    """

    letter: bytes
    body: bytes
    length: int | None = None

    @property
    def data(self) -> bytes:
        """The bytes that are sent."""
        length = len(self.body) + 4 if self.length is None else self.length
        return self.letter + struct.pack("!i", length) + self.body


class Raw(Said):
    """Bytes that are no message."""

    @property
    def data(self) -> bytes:
        """These bytes."""
        return self.body


def texts(*words: bytes) -> bytes:
    """Texts as the protocol has them."""
    return b"".join(word + b"\0" for word in words)


def start(user: str, token: str, code: int = VERSION) -> list[Said]:
    """The first message and the password."""
    said = (
        texts(b"user", user.encode(), b"database", b"hospital", b"options", b"-c discreet.epsilon=0.01")
        + b"\0"
    )
    return [Said(b"", struct.pack("!i", code) + said), Said(b"p", texts(token.encode()))]


def asked(text: str) -> Said:
    """A statement in the simple way."""
    return Said(b"Q", texts(text.encode(errors="replace").replace(b"\0", b" ")))


def prepared(text: str, value: bytes | None, form: int = 0, name: bytes = b"") -> list[Said]:
    """A statement with one parameter in the extended way."""
    given = struct.pack("!i", -1) if value is None else struct.pack("!i", len(value)) + value
    return [
        Said(b"P", texts(name, text.encode()) + struct.pack("!hi", 1, 20)),
        Said(b"D", b"S" + texts(name)),
        Said(b"B", texts(name, name) + struct.pack("!hhh", 1, form, 1) + given + struct.pack("!hh", 1, 0)),
        Said(b"D", b"P" + texts(name)),
        Said(b"E", texts(name) + struct.pack("!i", 2)),
        Said(b"E", texts(name) + struct.pack("!i", 0)),
        Said(b"C", b"P" + texts(name)),
        Said(b"S", b""),
    ]


END = Said(b"X", b"")


def _questions(rng: random.Random) -> list[Said]:
    return [asked(QUESTION.format(rng.randrange(90))), END]


def _statements(rng: random.Random) -> list[Said]:
    return [asked(mutated(rng)), asked(rng.choice(SEEDS)), END]


def _extended(rng: random.Random) -> list[Said]:
    form = rng.randrange(2)
    value = struct.pack("!q", rng.randrange(90)) if form else str(rng.randrange(90)).encode()
    text = rng.choice([QUESTION.format("$1"), "SELECT $1", "SELECT * FROM generate_series(1, $1)"])
    return [*prepared(text, rng.choice([value, None]), form, rng.choice([b"", b"one"])), END]


def _settings(rng: random.Random) -> list[Said]:
    name = rng.choice(["epsilon", "intervals", "nothing"])
    value = rng.choice(["0.01", "on", "-1", "1e400", "''"])
    return [asked(f"SET discreet.{name} = {value}"), asked("SHOW discreet"), asked("DISCARD ALL"), END]


def _transaction(rng: random.Random) -> list[Said]:
    return [
        asked("BEGIN"),
        asked(rng.choice(SEEDS)),
        asked("SAVEPOINT a; SELECT nothing"),
        asked("ROLLBACK"),
        END,
    ]


def _copy(rng: random.Random) -> list[Said]:
    way = rng.choice(
        ["COPY visits FROM STDIN", "COPY visits TO STDOUT", "COPY (SELECT note FROM visits) TO '/tmp/x'"]
    )
    end = rng.choice([Said(b"c", b""), Said(b"f", texts(b"no more"))])
    return [asked(way), Said(b"d", b"1\t2\tA\n"), Said(b"d", rng.randbytes(20)), end, Said(b"S", b""), END]


def _catalogue(rng: random.Random) -> list[Said]:
    asks = ["SHOW TABLES", "DESCRIBE visits", "SELECT * FROM pg_class", "SELECT * FROM information_schema.columns",
            "SHOW server_version", "EXPLAIN SELECT COUNT(*) AS n FROM visits", "SELECT current_user, version()"]  # fmt: skip
    return [asked(rng.choice(asks)), asked(rng.choice(asks)), Said(b"H", b""), END]


def _empty(rng: random.Random) -> list[Said]:
    said = prepared(rng.choice(["", "SET discreet.epsilon = 0.01", "BEGIN"]), None)
    return [asked(""), *said[:1], Said(b"B", texts(b"", b"") + b"\0" * 6), *said[3:], END]


def _call(rng: random.Random) -> list[Said]:
    call = struct.pack("!ihhi", rng.choice(TYPES), 0, 1, 3) + b"abc" + struct.pack("!h", 0)
    return [Said(b"F", call), Said(b"S", b""), END]


KINDS: tuple[Callable[[random.Random], list[Said]], ...] = (
    _questions, _statements, _extended, _extended, _settings, _transaction, _copy, _catalogue, _empty, _call,
)  # fmt: skip


def conversation(rng: random.Random, user: str, token: str) -> list[Said]:
    """A conversation of a client that knows the protocol."""
    if rng.random() < 0.04:
        return [Said(b"", struct.pack("!iii", CANCEL, rng.randrange(400), rng.getrandbits(31)))]
    first = [Said(b"", struct.pack("!i", code)) for code in (SSL, GSS) if rng.random() < 0.2]
    if rng.random() < 0.05:
        token = rng.choice(["", "discreet_x_y", token[:-1], token + "x"])
    code = VERSION + 2 if rng.random() < 0.05 else VERSION
    return [*first, *start(user, token, code), *rng.choice(KINDS)(rng)]


def changed(rng: random.Random, said: Said) -> Said:
    """One message with a change inside."""
    body, kind = bytearray(said.body), rng.randrange(8)
    at = rng.randrange(len(body) + 1)
    if rng.random() < 0.5:  # the numbers stand at the end
        at = max(0, len(body) - rng.randrange(12))
    if kind == 0:
        return Said(said.letter, said.body, rng.choice(EDGES))
    if kind == 1:
        return Said(said.letter, said.body, len(body) + 4 + rng.choice([-5, -2, -1, 1, 2, 50]))
    if kind == 2:
        return Said(bytes([rng.randrange(256)]) if said.letter else b"", said.body)
    if kind == 3:
        body[at:] = b""
    elif kind == 4:
        body[at:at] = rng.choice(NASTY) * rng.choice([1, 1, 1, 300])
    elif kind == 5:
        body[at : at + 2] = struct.pack("!H", rng.choice(EDGES) & 0xFFFF)
    elif kind == 6:
        body[at : at + 4] = struct.pack("!I", rng.choice((*EDGES, *TYPES)) & 0xFFFF_FFFF)
    else:
        body[at : at + rng.randrange(4)] = rng.randbytes(rng.randrange(4))
    return Said(said.letter, bytes(body))


def fuzzed(rng: random.Random, talk: list[Said], other: list[Said]) -> tuple[bytes, int]:
    """The bytes of a conversation with up to six changes, and how many messages were changed."""
    talk, kept = list(talk), 0 if rng.random() < 0.25 else sum(one.letter in (b"", b"p") for one in talk)
    count = rng.randint(1, 6)
    for _ in range(count):
        at, kind = rng.randint(min(kept, len(talk)), len(talk)), rng.randrange(11)
        if kind < 6 and at < len(talk):
            talk[at] = changed(rng, talk[at])
        elif kind == 6:
            talk[at:at] = talk[at : at + 1] * rng.choice([1, 2, 120])
        elif kind == 7:
            del talk[at : at + 1]
        elif kind == 8:
            talk[at:at] = [rng.choice(other)]
        elif kind == 9:
            talk[at:at] = [Raw(b"", rng.randbytes(rng.randrange(12)))]
        else:
            rest = talk[kept:]
            rng.shuffle(rest)
            talk[kept:] = rest
    data = b"".join(one.data for one in talk)
    return (data[: rng.randint(0, len(data))] if rng.random() < 0.1 else data), count


def complete(data: bytes) -> int:
    """How many messages that ask are whole in the bytes of a client: Query and Execute, read by the manual alone."""
    at = 0
    while True:
        if len(data) < at + 8:
            return 0
        length, code = struct.unpack_from("!ii", data, at)
        at += max(length, 0)
        if not 8 <= length <= 10_000 or at > len(data) or code == CANCEL:
            return 0
        if code not in (SSL, GSS):
            break
    found = 0
    while len(data) >= at + 5:
        (length,) = struct.unpack_from("!i", data, at + 1)
        letter, end = data[at : at + 1], at + 1 + length
        if length < 4 or end > len(data) or letter == b"X":
            break
        found += letter in (b"Q", b"E")
        at = end
    return found


assert message(b"Q", texts(b"a")) == Said(b"Q", texts(b"a")).data
