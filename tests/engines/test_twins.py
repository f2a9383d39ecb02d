"""Names that differ by case alone are refused where the engine does not tell them apart, and never guessed."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.query import units

import discreet as dp
from discreet.engines import attach
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.sources import open_source
from discreet.errors import PolicyError, SourceError

TWINS = pa.table([pa.array([1, 2]), pa.array([7, 7]), pa.array([0, 0])], names=["ID", "id", "x"])


def test_a_frame_with_twins_is_refused() -> None:
    for source in (TWINS, TWINS.to_pandas(), pd.DataFrame([[1, 2]], columns=["a", "a"])):
        with pytest.raises(SourceError, match="differ by case alone, if at all"):
            dp.protect(source, privacy_unit="id", max_rows=1, budget=1)


def test_a_parquet_file_with_twins_is_refused(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"a": [{"A": 1, "b": {"a": 1}}], "b": [[{"a": 1}]], "c": [1]}), tmp_path / "a.parquet"
    )
    open_source(tmp_path / "a.parquet").close()  # parts of a column may be called as it is
    pq.write_table(TWINS, tmp_path / "b.parquet")
    for source in (tmp_path / "b.parquet", tmp_path):
        with pytest.raises(SourceError, match="ID and id of the table"):
            open_source(source)


def test_without_that_the_twin_is_the_unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attach, "see_no_twins", lambda *_: None)
    # DuckDB renames `id`, so that who asks for it is given `ID`: the planted fault that the check is there for.
    assert list(open_source(TWINS).schema()["data"]) == ["ID", "id_1", "x"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_csv_file_with_twins_is_refused(tmp_path: Path, delimiter: str, newline: str) -> None:
    rows = [["ID", '"id"', "x"], ["1", "7", "0"], ["2", "7", "0"]]
    text = newline.join(delimiter.join(row) for row in rows) + newline
    (tmp_path / "a.csv").write_text(text, newline="")
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(text.encode("utf-8")))
    (tmp_path / "c.csv").write_bytes(text.encode("utf-16"))
    for name in ("a.csv", "b.csv.gz", "c.csv"):
        with pytest.raises(SourceError, match="ID and id of the table"):
            open_source(tmp_path / name)


def test_a_csv_file_whose_columns_are_numbered_is_none(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,id_1,ID_2\n1,2,3\n")
    assert list(open_source(tmp_path / "a.csv").schema()["a"]) == ["id", "id_1", "ID_2"]


def test_letters_beyond_ascii_in_duckdb() -> None:
    connection: Any = duckdb.connect()
    connection.execute('CREATE TABLE t ("É" INTEGER, "é" INTEGER, v INTEGER)')
    connection.execute("INSERT INTO t VALUES (1, 1, 1), (2, 1, 1)")
    for unit, people in (("É", 2), ("é", 1)):
        with dp.protect(connection, table="t", privacy_unit=unit, max_rows=1, budget=100) as session:
            assert session.sql("SELECT COUNT(*) AS n FROM t", epsilon=100).values.to_pylist() == [
                {"n": people}
            ]
    engine = DuckDBEngine.open_all([(None, connection, {})])
    with pytest.raises(PolicyError, match="differ by case alone"):
        units.session(engine, {"t": {"public": True}})
