"""An input is opened by its name, before anything is charged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.errors import StreamError
from discreet.streams.feeds.opening import open_feed
from tests.streams.feeds.pieces import rows_of
from tests.streams.invented import spec

TABLE = pa.table({"patient": ["a", "b"], "time": ["2026-01-01"] * 2, "ward": ["N", "S"]})


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "v.csv").write_text("patient,time,ward\na,2026-01-01,N\nb,2026-01-01,S\n")
    with pa.ipc.new_file(tmp_path / "v.arrow", TABLE.schema) as writer:
        writer.write_table(TABLE)
    (tmp_path / "folder").mkdir()
    for name in ("v.parquet", "v.data", "folder/1.parquet"):
        pq.write_table(TABLE, tmp_path / name)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("v.csv", ""),
        ("v.arrow", ""),
        ("v.parquet", ""),
        ("v.data", "parquet"),
        ("folder", ""),
        ("v.csv", "lines"),
    ],
)
def test_every_format_gives_its_rows(name: str, form: str, files: Path) -> None:
    with open_feed(str(files / name), form) as made:
        rows = rows_of(made(spec()).pieces())
    assert [(row["patient"], row["ward"]) for row in rows] == [("a", "N"), ("b", "S")]


@pytest.mark.parametrize(
    ("name", "more", "error"),
    [
        ("v.csv", {"form": "xml"}, StreamError), ("v.arrow", {"ticks": True}, StreamError),
        ("none.csv", {}, StreamError), ("redis://127.0.0.1:1/visits", {"ticks": True}, StreamError),
    ],
)  # fmt: skip
def test_what_cannot_be_opened_is_said(
    name: str, more: dict[str, Any], error: type[Exception], files: Path
) -> None:
    source = name if "://" in name else str(files / name)
    with pytest.raises(error), open_feed(source, **more):
        pass


@pytest.mark.parametrize("follow", [False, True])
def test_a_file_that_may_not_be_read_is_told_alike_whether_it_is_followed_or_not(
    follow: bool, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refused)
    with (
        pytest.raises(StreamError, match="Permission denied"),
        open_feed(str(files / "v.csv"), follow=follow),
    ):
        pass
