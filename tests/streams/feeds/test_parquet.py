"""Files of Parquet are counted one by one, in the order of their names."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.errors import StreamError
from discreet.streams.feeds.parquet import ParquetFeed


def put(folder: Path, name: str, *values: int) -> None:
    pq.write_table(pa.table({"a": list(values), "b": ["x"] * len(values)}), folder / name)


def values(feed: ParquetFeed) -> list[int]:
    return [value for table in feed.pieces() for value in table.column("a").to_pylist()]


def test_files_come_in_order_and_once(tmp_path: Path) -> None:
    put(tmp_path, "2.parquet", 3)
    put(tmp_path, "1.parquet", 1, 2)
    feed = ParquetFeed(tmp_path, ["a"])
    assert values(feed) == [1, 2, 3]
    place = feed.read, feed.digest
    put(tmp_path, "3.parquet", 4)
    assert values(feed) == [4]
    again = ParquetFeed(tmp_path, ["a"])
    again.skip(*place)
    assert values(again) == [4]
    put(tmp_path, "0.parquet", 9)
    with pytest.raises(StreamError, match="before one"):
        values(again)
    with pytest.raises(StreamError, match="does not begin"):
        ParquetFeed(tmp_path, ["a"]).skip(*place)


def test_one_file_from_stdin(tmp_path: Path) -> None:
    put(tmp_path, "1.parquet", 1, 2)
    file = (tmp_path / "1.parquet").open("rb")
    with file:
        feed = ParquetFeed(file, ["a"])
        assert values(feed) == [1, 2]
    again = ParquetFeed(io.BytesIO((tmp_path / "1.parquet").read_bytes()), ["a"])
    again.skip(feed.read, feed.digest)
    assert values(again) == []


@pytest.mark.parametrize("text", [b"", b"patient,time\n", b"PAR1" + bytes(40) + b"PAR1"])
def test_other_bytes_are_no_parquet(text: bytes) -> None:
    with pytest.raises(StreamError, match="no Parquet"):
        values(ParquetFeed(io.BytesIO(text), ["a"]))
