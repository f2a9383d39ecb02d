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
from tests import inside
from tests.depth import in_turn
from tests.sql import units

import discreet as dp
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.duckdb.sources import frames
from discreet.engines.sources import open_source
from discreet.errors import PolicyError, QueryRefused, SourceError

TWINS = pa.table([pa.array([1, 2]), pa.array([7, 7]), pa.array([0, 0])], names=["ID", "id", "x"])
WORDS = "are called (ID|id) but for case"


def see_refused(source: Any) -> None:
    """See that neither of the twins can be declared or asked for, and that the others can; it is opened once."""
    engine = open_source(source)
    (table,) = engine.schema()
    for unit in ("id", "ID"):
        with pytest.raises(PolicyError, match=WORDS):
            units.session(engine, {table: {"privacy_unit": unit, "max_rows": 1}})
    known: dict[str, Any] = {"privacy_unit": "x", "max_rows": 1}
    with pytest.raises(PolicyError, match=WORDS):
        units.session(engine, {table: {**known, "columns": {"id": {"bounds": (0, 1)}}}})
    with units.session(engine, {table: known}) as session:
        assert [*inside.catalog_of(session).private] == [table]
        with pytest.raises(QueryRefused, match="no column ID"):
            session.sql(f"SELECT COUNT(ID) FROM {table}", epsilon=1)
        assert session.budget.spent == 0
        session.preview(f"SELECT COUNT(*) FROM {table}", epsilon=1)


def test_a_frame_with_twins() -> None:
    see_refused(TWINS)
    see_refused(TWINS.to_pandas())
    with pytest.raises(PolicyError, match=WORDS):
        dp.protect(TWINS, privacy_unit="id", max_rows=1, budget=1, ledger=":memory:")
    with pytest.raises(SourceError, match="two columns of one name"):
        open_source(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_a_parquet_file_with_twins(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"a": [{"A": 1, "b": {"a": 1}}], "b": [[{"a": 1}]], "c": [1]}), tmp_path / "a.parquet"
    )
    schema = open_source(tmp_path / "a.parquet").schema()["a"]  # parts of a column may be called as it is
    assert not any(column.twin for column in schema.values())
    (tmp_path / "b").mkdir()
    pq.write_table(TWINS, tmp_path / "b" / "b.parquet")
    see_refused(tmp_path / "b" / "b.parquet")
    pq.write_table(TWINS.select([0, 2]), tmp_path / "b" / "a.parquet")
    see_refused(tmp_path / "b")


def test_without_that_the_twin_is_the_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "folded", lambda _: frozenset())
    # DuckDB renames `id`, so that who asks for it is given `ID`: the planted fault that the check is there for.
    with dp.protect(TWINS, privacy_unit="id", max_rows=1, budget=100) as session:
        values = session.sql("SELECT COUNT(*) AS n FROM data", epsilon=100).values.to_pylist()
    assert values == [{"n": 2}]  # of one person


def test_keys_from_a_public_twin() -> None:
    engine = open_source({"t": pa.table({"k": [1]}), "p": TWINS})
    declared = {"t": {"privacy_unit": "row", "columns": {"k": {"keys": "p.id"}}}, "p": {"public": True}}
    with pytest.raises(PolicyError, match=WORDS):
        units.session(engine, declared)


# A deep run asks all delimiters with both ends of lines and in each form of a file.
@pytest.mark.parametrize(
    ("delimiter", "newline", "name"),
    in_turn([",", ";", "\t", "|"], ["\n", "\r\n"], ["a.csv", "b.csv.gz", "c.csv"]),
)
def test_a_csv_file_with_twins(tmp_path: Path, delimiter: str, newline: str, name: str) -> None:
    rows = [["ID", '"id"', "x"], ["1", "7", "0"], ["2", "7", "0"]]
    text = newline.join(delimiter.join(row) for row in rows) + newline
    plain = text.encode("utf-16" if name == "c.csv" else "utf-8")
    (tmp_path / name).write_bytes(gzip.compress(plain) if name.endswith(".gz") else plain)
    see_refused(tmp_path / name)


def test_a_csv_file_whose_columns_are_numbered_has_none(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,id_1,ID_2\n1,2,3\n")
    schema = open_source(tmp_path / "a.csv").schema()["a"]
    assert list(schema) == ["id", "id_1", "ID_2"]
    assert not any(column.twin for column in schema.values())


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
