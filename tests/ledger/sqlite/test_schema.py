"""The file of a ledger refuses changes of its rows by any program."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from discreet.ledger import Account, Loss, open_ledger

TABLES = ("discreet_ledger", "discreet_entry", "discreet_posting", "discreet_salt")


@pytest.mark.parametrize("table", TABLES)
def test_the_database_itself_refuses_changes(tmp_path: Path, table: str) -> None:
    with open_ledger(tmp_path / "ledger.db") as ledger:
        ledger.charge("q", Loss(1), [Account("visits", Loss(3))])
        ledger.salt("visits")
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as connection:
        row = connection.execute(f"SELECT * FROM {table} LIMIT 1").fetchone()
        marks = ", ".join("?" * len(row))
        column = connection.execute(f"SELECT * FROM {table}").description[0][0]
        for statement, values in (
            (f"UPDATE {table} SET {column} = {column}", ()),
            (f"DELETE FROM {table}", ()),
            (f"INSERT OR REPLACE INTO {table} VALUES ({marks})", row),
        ):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                connection.execute(statement, values)
