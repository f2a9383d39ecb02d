"""A file that is followed goes on in the one that takes its name, and says so where lines may be lost."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from discreet.errors import StreamError
from discreet.streams.feeds import open_feed
from tests.streams.feeds.pieces import rows_of
from tests.streams.invented import policy, spec

HEAD = b"time,patient,ward\n"


def line(name: str) -> bytes:
    return b"2026-01-01,%s,N\n" % name.encode()


def moved(path: Path, text: bytes) -> None:
    """Move a file away, and begin it anew."""
    path.rename(path.with_suffix(".old"))
    path.write_bytes(text)


def test_a_file_that_is_moved_away_goes_on_in_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(HEAD + line("a"))
    declared = spec(policy())
    with open_feed(str(path), follow=True) as make, path.open("ab") as writer:
        feed = make(declared)
        feed.look()
        assert [row["patient"] for row in rows_of(feed.pieces())] == ["a"]
        moved(path, b"")
        writer.write(line("b"))  # whoever writes has not noticed yet
        writer.flush()
        assert [row["patient"] for row in rows_of(feed.pieces())] == ["b"]
        path.write_bytes(HEAD[:5])
        assert not rows_of(feed.pieces())
        path.write_bytes(HEAD + line("c"))
        writer.write(line("d"))
        writer.flush()
        found = [row["patient"] for row in rows_of(feed.pieces()) + rows_of(feed.pieces())]
        assert found == ["d", "patient", "c"]  # a header is a row without a time
        path.unlink()
        assert not rows_of(feed.pieces())
        place = feed.read, feed.digest
    # The place is that in all files, one behind the other.
    whole = tmp_path / "all.csv"
    whole.write_bytes(path.with_suffix(".old").read_bytes() + HEAD + line("c") + line("e"))
    with open_feed(str(whole)) as make:
        again = make(declared)
        again.skip(*place)
        assert [row["patient"] for row in rows_of(again.pieces())] == ["e"]


def test_a_file_that_is_cut_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(HEAD + line("a") * 3)
    with open_feed(str(path), follow=True) as make:
        feed = make(spec(policy()))
        assert len(rows_of(feed.pieces())) == 3
        path.write_bytes(HEAD + line("b"))
        with pytest.raises(StreamError, match="became shorter"):
            rows_of(feed.pieces())


def test_another_header_is_an_error_and_json_has_none(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(HEAD + line("a"))
    with open_feed(str(path), follow=True) as make:
        feed = make(spec(policy()))
        assert len(rows_of(feed.pieces())) == 1
        moved(path, b"patient,time,ward\n")
        with pytest.raises(StreamError, match="another header"):
            rows_of(feed.pieces())
    path.write_bytes(b'{"patient": "a"}\n')
    with open_feed(str(path), follow=True) as make:
        feed = make(spec(policy()))
        assert len(rows_of(feed.pieces())) == 1
        moved(path, b'{"patient": "b"}\n')
        assert [row["patient"] for row in rows_of(feed.pieces())] == ["b"]


def test_a_file_without_a_line_goes_on_in_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b"")
    with open_feed(str(path), follow=True) as make:
        feed = make(spec(policy()))
        feed.look()
        moved(path, HEAD + line("a"))
        assert [row["patient"] for row in rows_of(feed.pieces())] == ["a"]


@pytest.mark.parametrize("before", [b"\xef\xbb\xbf", b"  ", b"\xef\xbb\xbf \t"])
def test_json_behind_a_mark_or_blanks_has_no_header(before: bytes, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(before + b'{"patient": "a"}\n')
    with open_feed(str(path), follow=True) as make:
        feed = make(spec(policy()))
        assert len(rows_of(feed.pieces())) == 1
        moved(path, b'{"patient": "b"}\n')
        assert [row["patient"] for row in rows_of(feed.pieces())] == ["b"]


@pytest.mark.skipif(sys.platform == "win32", reason="no pipe has a name in a folder")
@pytest.mark.parametrize("other", [Path.mkdir, getattr(os, "mkfifo", None)])
def test_a_name_that_a_folder_or_a_pipe_took_is_waited_for(other: Any, tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(HEAD + line("a"))
    with open_feed(str(path), follow=True) as make:
        feed = make(spec(policy()))
        assert len(rows_of(feed.pieces())) == 1
        path.rename(path.with_suffix(".old"))
        other(path)
        assert not rows_of(feed.pieces())


def test_batches_go_on_in_a_new_file(tmp_path: Path) -> None:
    def text(name: str) -> bytes:
        out = pa.BufferOutputStream()
        table = pa.table({"time": ["2026-01-01"], "patient": [name], "ward": ["N"]})
        with pa.ipc.new_stream(out, table.schema) as writer:
            writer.write(table)
        return bytes(out.getvalue())

    path = tmp_path / "in.arrows"
    path.write_bytes(text("a"))
    with open_feed(str(path), follow=True) as make:
        feed = make(spec(policy()))
        feed.look()
        assert [row["patient"] for row in rows_of(feed.pieces())] == ["a"]
        moved(path, b"")
        assert not rows_of(feed.pieces())
        path.write_bytes(text("b"))
        assert [row["patient"] for row in rows_of(feed.pieces())] == ["b"]
