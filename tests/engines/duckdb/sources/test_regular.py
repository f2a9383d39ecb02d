"""Pipes, sockets and devices are refused before they are opened, and nothing waits for their writers."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet

import discreet as dp
from discreet.engines.sources import open_source
from discreet.errors import SourceError

AGES = pa.table({"age": [31, 47, 62]})


@pytest.mark.parametrize("name", ["csv:x.csv", "x.parquet", "duckdb:x.db", "x.csv.gz", "x"])
def test_a_pipe_is_no_data_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo(name.rpartition(":")[2])
    with pytest.raises(SourceError, match=r"is a pipe.*Save the data as a file"):
        open_source(name)


@pytest.mark.parametrize("name", ["parts", "parquet:parts/*"])
def test_a_pipe_among_the_files_of_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "parts" / "empty.parquet").mkdir(parents=True)
    parquet.write_table(AGES, tmp_path / "parts" / "a.parquet")
    open_source(name).close()
    os.mkfifo(tmp_path / "parts" / "b.parquet")
    with pytest.raises(SourceError, match=r"b\.parquet is a pipe"):
        open_source(name)


def test_a_pipe_beside_a_database(tmp_path: Path) -> None:
    place = tmp_path / "x.db"
    with duckdb.connect(str(place)) as made:
        made.execute("CREATE TABLE data AS SELECT 1 AS age")
    os.mkfifo(f"{place}.wal")
    with pytest.raises(SourceError, match=r"x\.db\.wal is a pipe"):
        open_source(place)


def test_sockets_and_devices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("x.csv")
        with pytest.raises(SourceError, match="is a socket"):
            open_source("x.csv")
    with pytest.raises(SourceError, match="is a device"):
        open_source("csv:/dev/null")
    with pytest.raises(SourceError, match="is a device"):
        open_source("/dev/zero")


def test_a_link_to_a_file_is_a_file(tmp_path: Path) -> None:
    parquet.write_table(AGES, tmp_path / "a.parquet")
    (tmp_path / "b.parquet").symlink_to("a.parquet")
    open_source(tmp_path / "b.parquet").close()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "c.parquet").symlink_to("pipe")
    with pytest.raises(SourceError, match=r"c\.parquet is a pipe"):
        open_source(tmp_path / "c.parquet")


def test_a_file_that_became_a_pipe_is_refused_before_the_charge(tmp_path: Path) -> None:
    place = tmp_path / "data.parquet"
    parquet.write_table(AGES, place)
    session = dp.protect(place, privacy_unit="row", bounds={"age": (0, 120)}, budget=5)
    session.sql("SELECT COUNT(*) AS n FROM data", epsilon=1)
    place.unlink()
    os.mkfifo(place)
    for query in ("SELECT AVG(age) AS n FROM data", "SELECT COUNT(*) AS n FROM data WHERE age > 1"):
        with pytest.raises(SourceError, match="cannot be read as it could"):
            session.sql(query, epsilon=1)
    assert session.budget.spent == 1
