"""Files of DuckDB as sources."""

from __future__ import annotations

import threading
from pathlib import Path

import duckdb
import pytest

import discreet as dp
from discreet.engines.duckdb.sources.databases import attach_database
from discreet.errors import SourceError

TIMES = 10
PATIENCE = 60.0
"""Seconds after which a connection that waits for ever is interrupted, which is an error."""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = str(tmp_path / "people.duckdb")
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE people AS SELECT 1 AS age")
    return path


def see_opened(file: str, patience: float) -> None:
    """Open the file once and for all, and beside it again and again; each connection may lie where one lay before."""
    last: list[duckdb.DuckDBPyConnection] = []
    watch = threading.Timer(patience, lambda: last[-1].interrupt())
    watch.start()
    try:
        last.append(duckdb.connect())
        attach_database(last[0], file, None, None)
        for _ in range(TIMES):
            last[1:] = [duckdb.connect()]
            assert list(attach_database(last[1], file, None, None)) == ["people"]
            last.pop().close()
    finally:
        watch.cancel()
        for connection in last:
            connection.close()


def test_a_file_is_opened_again_while_others_have_it_open(file: str) -> None:
    see_opened(file, PATIENCE)


def test_no_statement_waits_for_a_connection_that_is_gone(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether DuckDB waits depends on where connections lie, so the statement itself is looked at too."""
    real, said = duckdb.DuckDBPyConnection.execute, list[str]()

    def noted(connection: duckdb.DuckDBPyConnection, sql: str, *given: object) -> duckdb.DuckDBPyConnection:
        said.append(sql)
        return real(connection, sql, *given)

    monkeypatch.setattr(duckdb.DuckDBPyConnection, "execute", noted)
    with duckdb.connect() as connection:
        attach_database(connection, file, None, None)
    (attach,) = (sql for sql in said if "ATTACH" in sql)
    assert "IF NOT EXISTS" not in attach


def test_a_file_without_tables_is_not_told_to_name_one(tmp_path: Path) -> None:
    path = str(tmp_path / "empty.duckdb")
    duckdb.connect(path).close()
    with pytest.raises(SourceError) as caught:
        dp.protect(path, privacy_unit="row", budget=1)
    assert (caught.value.cause, caught.value.fix) == (
        "The database has no table.", "Check the path, or make a table in it first."
    )  # fmt: skip


def test_several_tables_of_one_file_are_opened_once(file: str) -> None:
    with duckdb.connect() as connection:
        assert list(attach_database(connection, file, "people", "a")) == ["a"]
        assert list(attach_database(connection, file, "people", "b")) == ["b"]
