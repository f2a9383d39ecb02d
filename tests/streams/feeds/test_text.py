"""Blocks of text mean the same as their lines, one by one, and the place is behind each piece."""

from __future__ import annotations

import datetime as dt
import io
import json
import os
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import StreamError
from discreet.streams import Lines
from discreet.streams.feeds import text as module
from discreet.streams.feeds.text import TextFeed
from tests.depth import examples

NEEDED = ("time", "patient", "cost")
ODD = [
    b'"p, 1",2026-01-01,x,5', b'p"1,2026-01-01,x,5', b'"p""1",2026-01-01,x,5', b'"open,2026-01-01,x,5', b"", b" ",
    b"1,2", b"1,2,3,4,5", b"\xff,2026-01-01,x,5", b"\xef\xbb\xbfp,2026-01-01,x,5", b"a\rb,2026-01-01,x,5", b"p,t,x,5\r",
    b'"a\rb",2026-01-01,x,5', "\u00e9,2026-01-01,x,5".encode(), b"a\0,2026-01-01,x,5", b"#tick 2026-01-02", b",,,",
    b'"",2026-01-01,x,5', b"NULL,NaN,x,n/a", b'""",2026', b"'a',b,c,d", b"a\\,b,c,d",
]  # fmt: skip
ODD_JSON = [
    b"{}", b"{}{}", b"[1]", b"", b'{"patient": 1}', b'{"patient": "1", "time": 5}', b'{"patient": 1.5}', b"null",
    b'{"patient": 12345678901234567890}', b'{"patient": true}', b'{"patient": null, "cost": NaN}', b'{"patient": "a',
    b'{"patient": "a", "patient": "b"}', b'{"patient": "\\ud800"}', b'{"patient": "\\u00e9"}', b'{"patient": {"a": 1}}',
    b'{"time": "2026-01-01 00:00:00"}', b'{"cost": 9007199254740993}', b' {"patient": 2}', b'{"patient": 2} ',
    b'{"patient": 3}\r', b'\xef\xbb\xbf{"patient": 3}', b'{"patient": "\xff"}', b'{"a":"}', b'{"}{}',
    b'{"cost": 1e400}',
]  # fmt: skip


def listed(pieces: Any) -> list[Any]:
    """All rows of pieces: the needed columns of each, and times."""
    out: list[Any] = []
    for piece in pieces:
        if isinstance(piece, dt.datetime):
            out.append(piece)
            continue
        rows = piece.to_pylist() if isinstance(piece, pa.Table) else piece
        there = [tuple(row.get(name) for name in NEEDED) for row in rows if row is not None]
        out += [tuple("NaN" if value != value else value for value in row) for row in there]
    return out


def by_line(text: bytes) -> list[Any]:
    lines = Lines(io.BytesIO(text), needed=NEEDED)
    return listed([[lines.row(line)] for line in lines])


def in_blocks(text: bytes, **more: Any) -> list[Any]:
    return listed(TextFeed(io.BytesIO(text), needed=NEEDED, numbers=("cost",), **more).pieces())


def csv(lines: list[bytes]) -> bytes:
    return b"\n".join([b"patient,time,other,cost", *lines])


@settings(max_examples=examples(20, 100), deadline=None)
@given(odd=st.lists(st.tuples(st.integers(0, 99), st.sampled_from(ODD) | st.binary(max_size=12)), max_size=4))
def test_csv_in_blocks_is_csv_by_line(odd: list[tuple[int, bytes]]) -> None:
    lines = [b"p%d,2026-01-0%dT09:30,x,%d.5" % (n, 1 + n % 9, n) for n in range(100)]
    for at, line in odd:
        lines[at] = line
    assert in_blocks(csv(lines)) == by_line(csv(lines))


@settings(max_examples=examples(20, 100), deadline=None)
@given(
    odd=st.lists(
        st.tuples(st.integers(0, 99), st.sampled_from(ODD_JSON) | st.binary(max_size=12)), max_size=4
    )
)
def test_json_in_blocks_is_json_by_line(odd: list[tuple[int, bytes]]) -> None:
    lines = [
        b'{"patient": "p%d", "time": "2026-01-01T09:30", "other": [1], "cost": %d}' % (n, n)
        for n in range(100)
    ]
    for at, line in odd:
        lines[at] = line
    text = b'{"patient": "p", "time": "2026-01-01", "cost": 5}\n' + b"\n".join(lines)
    # A whole number that became a double, or a double that is whole, is the same number; nothing is lost.
    assert in_blocks(text) == by_line(text)


UNREAD = {
    "a name that is no UTF-8": b'"caf\xe9": 1',
    "a value that is no UTF-8": b'"town": "Orl\xe9ans"',
    "a number of too many digits": b'"other": ' + b"1" * 5000,
    "members nested too deep": b'"other": ' + b"[" * 30_000 + b"]" * 30_000,
}
"""Members that no column needs, by which a line is no row."""


def beside(odd: bytes, member: bytes) -> tuple[list[Any], list[Any]]:
    """The rows in blocks and by line, with lines that have a member, and one of another person behind them."""
    line = b'{"patient": "p", "time": "2026-01-01", "cost": 5%s}'
    many = 2000 // len(member) + 2
    text = b"\n".join([line % b"", *[line % (b", " + member)] * many, *[line % b""] * 50, odd])
    return in_blocks(text), by_line(text)


@pytest.mark.parametrize("member", UNREAD)
@pytest.mark.parametrize(
    "odd", [b"", b'{"patient": [7]}', b'{"patient": 7, "time": "2026-01-01", "cost": 1}']
)
def test_a_line_that_is_no_row_is_none_beside_any_other(odd: bytes, member: str) -> None:
    """Else a line of one person would decide whether the lines of others count."""
    found, meant = beside(odd, UNREAD[member])
    assert found == meant


def test_members_that_are_not_looked_at_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted faults."""
    monkeypatch.setattr(module, "_all_short", lambda *_: True)
    for name, member in UNREAD.items():
        found, meant = beside(b"", member)
        assert (found != meant) == ("UTF-8" not in name)
    monkeypatch.setattr(module, "_is_text", lambda _: True)
    for member in UNREAD.values():
        found, meant = beside(b"", member)
        assert found != meant


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_plain_blocks_are_columns(kind: str) -> None:
    rows = [{"patient": f"p{n}", "time": "2026-01-01", "other": "x", "cost": n} for n in range(1000)]
    text = csv([",".join(map(str, row.values())).encode() for row in rows])
    if kind == "json":
        text = "\n".join(map(json.dumps, rows)).encode()
    pieces: list[Any] = list(TextFeed(io.BytesIO(text + b"\n"), needed=NEEDED, numbers=("cost",)).pieces())
    assert [type(piece) for piece in pieces] == [pa.Table]
    assert pieces[0].num_rows == 1000


def test_two_columns_of_one_name_are_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SMALL", 0)
    text = b"time,patient,cost,patient\n" + b"2026-01-01,a,5,b\n" * 3
    assert in_blocks(text) == by_line(text) == [("2026-01-01", "b", "5")] * 3


@pytest.mark.parametrize("small", [0, module.SMALL])
def test_ticks_come_between_the_rows(small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SMALL", small)
    tick, line = b"#tick 2026-01-02", b"p,2026-01-01,x,5"
    row, when = ("2026-01-01", "p", "5"), dt.datetime(2026, 1, 2)
    text = csv([tick, line, tick, tick, b"#tick x", line, line, b"#ticket", tick])
    assert in_blocks(text, ticks=True) == [when, row, when, when, row, row, when]
    text = b"\n".join([tick, b'{"patient": "p", "time": "2026-01-01", "cost": 5}', tick])
    assert in_blocks(text, ticks=True) == [when, ("2026-01-01", "p", 5), when]


@pytest.mark.parametrize("ticks", [False, True])
def test_reading_goes_on_behind_any_piece(ticks: bool) -> None:
    text = csv([b"#tick 2026-01-02" if n % 7 == 0 else b"p%d,2026-01-01,x,5" % n for n in range(50)])
    whole = TextFeed(io.BytesIO(text), needed=NEEDED, ticks=ticks)
    rest = in_blocks(text, ticks=ticks)
    for piece in whole.pieces():
        rest = rest[len(listed([piece])) :]
        again = TextFeed(io.BytesIO(text), needed=NEEDED, ticks=ticks)
        again.skip(whole.read, whole.digest)
        assert listed(again.pieces()) == rest
    assert whole.read == len(text)


def test_a_line_that_is_being_written_waits() -> None:
    file = io.BytesIO(b"patient,time,cost\na,b,c\nd,e")
    feed = TextFeed(file, True, NEEDED)
    assert listed(feed.pieces()) == [("b", "a", "c")]
    place = file.tell()
    file.write(b",f\n")
    file.seek(place)
    assert listed(feed.pieces()) == [("e", "d", "f")]
    assert feed.read == len(file.getvalue())


def test_a_pipe_gives_what_is_there() -> None:
    read, write = os.pipe()
    with os.fdopen(read, "rb") as file, os.fdopen(write, "wb", 0) as end:
        feed = TextFeed(file, needed=NEEDED).pieces()
        end.write(b"patient,time,cost\na,b,c\nd,e,")
        assert listed([next(feed)]) == [("b", "a", "c")]  # and does not wait for the end
        end.write(b"f\n")
        assert listed([next(feed)]) == [("e", "d", "f")]
        end.close()
        assert listed(feed) == []


def test_a_header_that_lacks_a_column_is_refused() -> None:
    with pytest.raises(StreamError, match="header"):
        in_blocks(b"patient,cost\n1,2\n")


def test_a_reader_that_takes_quotes_otherwise_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TextFeed, "_mended", lambda self, piece: piece)
    lines = [b'p"1,2026-01-01,x,5', b'"open,2026-01-01,x,5', b"a\rb,2026-01-01,x,5"] + [
        b"p,2026-01-01,x,5"
    ] * 200
    assert in_blocks(csv(lines)) != by_line(csv(lines))
