"""Lines are read once each, from the place that was counted, and none can fail."""

from __future__ import annotations

import io
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import StreamError
from discreet.streams import Lines

CSV = b'patient,time\n1,2026-01-01\n"2, the other",2026-01-02\n3\n'
JSON = b'{"patient": 1}\n[1]\n{"patient": \n{"patient": "\\u00e9"}'


def test_csv_has_a_header() -> None:
    lines = Lines(io.BytesIO(CSV))
    assert [lines.row(line) for line in lines] == [
        {"patient": "1", "time": "2026-01-01"}, {"patient": "2, the other", "time": "2026-01-02"}, None,
    ]  # fmt: skip


def test_json_has_none() -> None:
    lines = Lines(io.BytesIO(JSON))
    assert [lines.row(line) for line in lines] == [{"patient": 1}, None, None, {"patient": "é"}]


@pytest.mark.parametrize("text", [CSV, JSON])
def test_reading_goes_on_from_any_line(text: bytes) -> None:
    whole = Lines(io.BytesIO(text))
    rows = [whole.row(line) for line in whole]
    for stop in range(len(rows) + 1):
        first = Lines(io.BytesIO(text))
        begun = [first.row(line) for line in islice(first, stop)]
        again = Lines(io.BytesIO(text))
        again.skip(first.read, first.digest)
        assert begun + [again.row(line) for line in again] == rows


@pytest.mark.parametrize("other", [b"", CSV[:20], CSV.replace(b"1,", b"4,")])
def test_another_input_is_refused(other: bytes) -> None:
    lines = Lines(io.BytesIO(CSV))
    list(lines)
    with pytest.raises(StreamError, match="does not begin"):
        Lines(io.BytesIO(other)).skip(lines.read, lines.digest)


def test_a_line_that_is_being_written_waits() -> None:
    file = io.BytesIO(b"patient\n1\n2")
    lines = Lines(file, follow=True)
    assert [lines.row(line) for line in lines] == [{"patient": "1"}]
    place = file.tell()
    file.write(b"3\n4\n")
    file.seek(place)
    assert [lines.row(line) for line in lines] == [{"patient": "23"}, {"patient": "4"}]
    assert lines.read == len(file.getvalue())


@given(st.binary(max_size=80))
def test_no_line_fails(junk: bytes) -> None:
    for start in (b"patient,time\n", b'{"patient": 1}\n'):
        lines = Lines(io.BytesIO(start + junk))
        for line in lines:
            lines.row(line)


@pytest.mark.parametrize("first", [b"\n", b"\0\r\0\n", b"patient\n", b"1,2026-01-01\n"])
def test_an_input_without_its_header_is_refused(first: bytes) -> None:
    with pytest.raises(StreamError, match="header"):
        list(Lines(io.BytesIO(first), needed=("patient", "time")))


def test_an_input_without_its_column_of_times_says_which_parameter_names_it() -> None:
    with pytest.raises(StreamError, match="time=") as caught:
        list(Lines(io.BytesIO(b"patient,day\n"), needed=("time", "patient")))
    assert "first line" in caught.value.fix
    with pytest.raises(StreamError) as caught:
        list(Lines(io.BytesIO(b"day,time\n"), needed=("time", "patient")))
    assert "time=" not in caught.value.fix


def test_deep_json_is_no_row() -> None:
    lines = Lines(io.BytesIO(b"{}\n" + b"[" * 100_000 + b"\n"))
    assert [lines.row(line) for line in lines] == [{}, None]
