"""A value that is none of its type is NULL by itself, in every feed of columns; damage stays damage."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.streams.feeds.arrow import ArrowFeed
from discreet.streams.feeds.parquet import ParquetFeed
from discreet.streams.feeds.sound import sound

STRING, BINARY = pa.string(), pa.binary()
GIVEN = [b"p1", b"secret \xff that is long", None, b"p2"]
LEFT = ["p1", None, None, "p2"]
KINDS = [
    (pa.string(), pa.binary()),
    (pa.large_string(), pa.large_binary()),
    (pa.string_view(), pa.binary_view()),
]


def texts(kind: Any = STRING, raw: Any = BINARY) -> Any:
    given = pa.array([b"out", *GIVEN], raw)
    return pa.Array.from_buffers(kind, 5, given.buffers())[1:]


@pytest.mark.parametrize(("kind", "raw"), KINDS)
def test_a_text_that_is_not_utf8_is_null(kind: Any, raw: Any) -> None:
    found = sound(pa.table({"u": texts(kind, raw), "n": [1, 2, 3, 4]}))
    assert found.to_pydict() == {"u": LEFT, "n": [1, 2, 3, 4]}
    assert found.schema.field("u").type == kind


def test_a_dictionary_and_half_a_day() -> None:
    named = pa.DictionaryArray.from_arrays(pa.array([1, 0, None, 3]), texts())
    days = pa.array([0, 1, None, 86_400_000]).view(pa.date64())
    found = sound(pa.table({"u": named, "d": days}))
    assert found.column("u").to_pylist() == [None, "p1", None, "p2"]
    assert found.column("d").is_valid().to_pylist() == [True, False, False, True]


def test_damage_stays_damage() -> None:
    array = pa.array(["ab", "cd"])
    far = pa.py_buffer(b"".join(at.to_bytes(4, "little") for at in (0, 2, 1 << 20)))
    with pytest.raises(pa.ArrowInvalid):
        sound(pa.table({"u": pa.Array.from_buffers(pa.string(), 2, [None, far, array.buffers()[2]])}))


def test_feeds_go_on_behind_such_a_value(tmp_path: Path) -> None:
    table = pa.table({"u": texts()})
    out = io.BytesIO()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    out.seek(0)
    pq.write_table(table, tmp_path / "a.parquet")
    for feed in (ArrowFeed(out, False, ["u"]), ParquetFeed(tmp_path, ["u"])):
        assert [row["u"] for piece in feed.pieces() for row in piece.to_pylist()] == LEFT
