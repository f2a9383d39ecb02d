"""Lines that are alike are read as a parser reads them, and lines that are otherwise are left to it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet.streams.feeds import alike
from discreet.streams.feeds.alike import LineLayout, read_alike
from tests.depth import examples

KINDS = {"time": pa.string(), "person": pa.string(), "cost": pa.float64(), "rank": pa.int64()}
BASE = [
    b'{"time": "2026-01-01","person":"p%d", "cost":%d.5,"other":%d, "rank": %d}' % (n, n, -n, 7 * n)
    for n in range(1, 8)
]
NUMBERS = [
    b"0", b"-0", b"-0.5", b"12", b"0.25", b"1.50", b"01", b"-01.5", b".5", b"5.", b"-", b"--1", b"1-1", b"1.2.3",
    b"1e3", b"+1", b"1E400", b"NaN", b"Infinity", b"null", b"true", b"0x1", b" 1", b"1 ", b"1,", b'"1"', b"", b".",
    b"-.5", b"1_0", b"[1]", b"1" * 30, b"1" * 5000, "\u0661".encode(),
]  # fmt: skip
TEXTS = [
    b"", b"a b", b'"', b"\\", b'\\"', b"\\u00e9", "\u00e9".encode(), b"\xff", b"\t", b"\x7f", b"\x00", b'","person":"x',
    b"}", b'"}', b'","cost":1', b'\\","cost":1', b"\xef\xbb\xbf",
]  # fmt: skip


def read(lines: list[bytes]) -> list[dict[str, Any]] | None:
    """The rows by columns; None where they are left to a parser."""
    text = b"".join(line + b"\n" for line in lines)
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))
    try:
        text.decode()
        found = read_alike(text, ends, KINDS)
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return None
    return None if found is None else pa.table(found).to_pylist()


def parsed(lines: list[bytes]) -> list[dict[str, Any]] | None:
    """The rows by Python's parser; None where a line is no object, or a value not of its type."""
    out = []
    for line in lines:
        try:
            row = json.loads(line)
        except ValueError:
            return None
        for name, kind in KINDS.items():
            types: Any = {pa.string(): str, pa.float64(): (int, float), pa.int64(): int}[kind]
            if (
                not isinstance(row, dict)
                or not isinstance(row.get(name), types)
                or isinstance(row[name], bool)
            ):
                return None
        # A whole number is rounded to a double here; `TextFeed` leaves those that this moves to the parser.
        out.append({name: float(row[name]) if name == "cost" else row[name] for name in KINDS})
    return out


def means_the_same(lines: list[bytes]) -> bool:
    found = read(lines)
    if found is None:
        return True
    return [dict(sorted(row.items())) for row in found] == [
        dict(sorted(row.items())) for row in parsed(lines) or []
    ]


def with_number(number: bytes, member: bytes = b"cost") -> list[bytes]:
    line = b'{"time": "2026-01-01","person":"p", "cost":1.5,"other":2, "rank": 3}'
    old = {b"cost": b"1.5", b"other": b"2", b"rank": b"3"}[member]
    begin, _, end = line.partition(member + b'":' + (b" " if member == b"rank" else b"") + old)
    return [*BASE, begin + member + b'":' + (b" " if member == b"rank" else b"") + number + end]


def with_text(text: bytes) -> list[bytes]:
    return [*BASE, b'{"time": "2026-01-01","person":"' + text + b'", "cost":1.5,"other":2, "rank": 3}']


def test_lines_that_are_alike_need_no_parser() -> None:
    assert read(BASE) == parsed(BASE)
    assert read(BASE[:1]) == parsed(BASE[:1])


@pytest.mark.parametrize("number", [b"0", b"-0", b"-0.5", b"12", b"0.25", b"1.50"])
def test_numbers_of_other_lengths_are_read(number: bytes) -> None:
    assert read(with_number(number)) == parsed(with_number(number))


@pytest.mark.parametrize("member", [b"cost", b"other", b"rank"])
@pytest.mark.parametrize("number", NUMBERS)
def test_no_number_has_another_meaning(number: bytes, member: bytes) -> None:
    assert means_the_same(with_number(number, member))


@pytest.mark.parametrize("text", TEXTS)
def test_no_text_has_another_meaning(text: bytes) -> None:
    assert means_the_same(with_text(text))


@settings(max_examples=examples(50, 300), deadline=None)
@given(
    line=st.integers(0, len(BASE) - 1),
    at=st.integers(0, 70),
    cut=st.integers(0, 4),
    new=st.sampled_from([b'"', b",", b":", b"}", b"0", b".", b"-", b" ", b"x", b'","', b'":"'])
    | st.binary(max_size=4),
)
@example(0, 8, 0, b'"')
@example(3, 9, 1, b'"')
def test_no_line_has_another_meaning(line: int, at: int, cut: int, new: bytes) -> None:
    lines = list(BASE)
    changed = lines[line][:at] + new + lines[line][at + cut :]
    lines[line] = changed.replace(b"\n", b"")
    if lines[line].startswith(b"{") and lines[line].endswith(b"}"):  # all others are seen before
        assert means_the_same(lines)


@pytest.mark.parametrize(
    "line",
    [
        b'{"a":1,"a":2}', b'{"a":null}', b'{"a":[1]}', b'{"a":{"b":1}}', b"{}", b'{"a":true}', b'{"a":1}{"b":2}',
        b'{"a":"\\u00e9"}', b'{"a":01}', b'{"a":1.}', b'{"a" 1}',
    ],
)  # fmt: skip
def test_a_first_line_of_other_values_has_no_layout(line: bytes) -> None:
    assert LineLayout.of(line) is None


@pytest.mark.parametrize(
    ("check", "fault", "lines"),
    [
        ("_same", lambda *_: True, [*BASE[:3], BASE[3].replace(b'"person"', b'"nobody"')]),
        ("_all_numbers", lambda _: True, with_number(b"01")),
        ("_QUOTE", ord("\t"), with_text(b'x","person":"y')),
    ],
)
def test_a_check_that_is_left_out_is_found(
    check: str, fault: Any, lines: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert means_the_same(lines)
    monkeypatch.setattr(alike, check, fault)
    if check == "_QUOTE":
        assert read(BASE) is None  # nothing is alike without its quotes
    else:
        assert not means_the_same(lines)
