"""The tables of a ledger refuse changes of their rows by any program."""

from __future__ import annotations

import psycopg
import pytest
from tests.servers import connect, new_schema

from discreet.ledger import Account, Loss, open_ledger

TABLES = ("ledger", "entry", "posting", "answer", "salt", "head")


@pytest.fixture(scope="module")
def address() -> str:
    place = new_schema()
    with open_ledger(place) as ledger:
        ledger.settle(ledger.charge("q", Loss(1), [Account("visits", Loss(3))]), b"answer")
        ledger.salt("visits")
    return place


@pytest.mark.parametrize("table", TABLES)
def test_the_database_itself_refuses_changes(address: str, table: str) -> None:
    url, _, schema = address.partition("#")
    name = f"{schema}.discreet_{table}"
    with connect(url) as connection:
        column = connection.execute(f"SELECT * FROM {name}").description[0][0]  # type: ignore[index]
        for statement in (
            f"UPDATE {name} SET {column} = {column}",
            f"DELETE FROM {name}",
            f"TRUNCATE {name}",
            f"INSERT INTO {name} SELECT * FROM {name}",
        ):
            with pytest.raises(psycopg.errors.IntegrityError):
                connection.execute(statement)
        assert connection.execute(f"SELECT count(*) > 0 FROM {name}").fetchone() == (True,)


def test_a_gap_is_refused(address: str) -> None:
    url, _, schema = address.partition("#")
    with connect(url) as connection:
        columns = [
            column.name
            for column in connection.execute(f"SELECT * FROM {schema}.discreet_entry").description or ()
        ]
        shown = ", ".join(
            "9" if name == "number" else "NULL" if name == "settles" else f'"{name}"' for name in columns
        )
        with pytest.raises(psycopg.errors.IntegrityError, match="append-only"):
            connection.execute(
                f"INSERT INTO {schema}.discreet_entry SELECT {shown} FROM {schema}.discreet_entry LIMIT 1"
            )
