"""Batches of IPC are read once each, from the place that was counted, and damage is said."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import pyarrow as pa
import pytest

from discreet.errors import StreamError
from discreet.streams.feeds.arrow import ArrowFeed

TEXTS = pa.array(["x", "y", "z", "x", None])
TABLES = {
    "plain": pa.table({"a": [1, 2, 3, 4, None], "b": TEXTS, "c": [[1]] * 5}),
    "dictionary": pa.table({"a": [1, 2, 3, 4, None], "b": TEXTS.dictionary_encode()}),
}


def written(table: pa.Table, kind: Any = pa.ipc.new_stream, **options: Any) -> bytes:
    out = io.BytesIO()
    with kind(out, table.schema, **options) as writer:
        writer.write_table(table, max_chunksize=2)
    return out.getvalue()


def rows(feed: ArrowFeed) -> list[Any]:
    return [row for table in feed.pieces() for row in table.to_pylist()]


@pytest.mark.parametrize("kind", [pa.ipc.new_stream, pa.ipc.new_file])
@pytest.mark.parametrize("name", TABLES)
def test_reading_goes_on_behind_any_batch(name: str, kind: Any) -> None:
    table = TABLES[name]
    text = written(table, kind)
    whole, seen = ArrowFeed(io.BytesIO(text), False, ["a", "b"]), 0
    for piece in whole.pieces():
        assert piece.column_names == ["a", "b"]
        seen += piece.num_rows
        again = ArrowFeed(io.BytesIO(text), False, ["a", "b"])
        again.skip(whole.read, whole.digest)
        assert rows(again) == table.select(["a", "b"]).to_pylist()[seen:]
    assert (seen, whole.read) == (5, len(text))
    again = ArrowFeed(io.BytesIO(text), False, ["a", "b"])
    again.skip(whole.read, whole.digest)
    assert rows(again) == []


def test_streams_come_one_behind_the_other_and_compressed() -> None:
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    text = written(TABLES["plain"]) + written(TABLES["dictionary"], options=options)
    assert len(rows(ArrowFeed(io.BytesIO(text), False, ["a", "b"]))) == 10


def test_a_batch_that_is_being_written_waits() -> None:
    text = written(TABLES["plain"])
    file = io.BytesIO()
    feed, found = ArrowFeed(file, True, ["a"]), []
    for at in range(0, len(text), 100):
        place = file.tell()
        file.write(text[at : at + 100])
        file.seek(place)
        found += rows(feed)
    assert [row["a"] for row in found] == [1, 2, 3, 4, None]


@pytest.mark.parametrize("cut", [3, 10, 200, -20])
def test_damage_is_said(cut: int) -> None:
    text = written(TABLES["plain"])
    with pytest.raises(StreamError, match="batch"):
        rows(ArrowFeed(io.BytesIO(text[:cut]), False, ["a"]))


def test_other_bytes_are_no_arrow() -> None:
    for text in (b"patient,time\n1,2026-01-01\n", b"PAR1" + bytes(20)):
        with pytest.raises(StreamError, match="no IPC"):
            rows(ArrowFeed(io.BytesIO(text), False, ["a"]))
    text = written(TABLES["plain"])
    feed = ArrowFeed(io.BytesIO(text), False, ["a"])
    rows(feed)
    with pytest.raises(StreamError, match="does not begin"):
        ArrowFeed(io.BytesIO(written(TABLES["plain"].slice(1))), False, ["a"]).skip(feed.read, feed.digest)


def test_no_damaged_byte_ends_the_process() -> None:
    text = written(TABLES["plain"])
    for at in range(0, len(text), 3):
        damaged = bytearray(text)
        damaged[at] ^= 0xFF
        with contextlib.suppress(StreamError):
            rows(ArrowFeed(io.BytesIO(bytes(damaged)), False, ["a", "b"]))
