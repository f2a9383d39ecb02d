"""A new ledger beside a renamed policy: the one that has the charges is told, and no other one."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp

POLICY = """\
[budget]
epsilon = 5
[source]
url = "parquet:{file}.parquet"
[tables.{table}]
privacy_unit = "row"
[tables.{table}.columns]
age = {{ bounds = [0, 120] }}
"""


def policy(folder: Path, name: str, file: str = "visits", table: str = "visits") -> Path:
    pq.write_table(pa.table({"age": [31, 47, 62]}), folder / f"{file}.parquet")
    place = folder / f"{name}.toml"
    place.write_text(POLICY.format(file=file, table=table))
    return place


def asked(place: Path, table: str = "visits") -> None:
    with dp.protect(policy=place) as session:
        session.sql(f"SELECT COUNT(*) AS n FROM {table}", epsilon=1)


def lines(caplog: pytest.LogCaptureFixture, place: Path, **more: object) -> list[str]:
    """The lines about an earlier ledger, at opening a policy."""
    caplog.clear()
    with caplog.at_level(logging.WARNING, "discreet.ledger"):
        dp.protect(policy=place, **more).close()  # type: ignore[arg-type]
    return [one.getMessage() for one in caplog.records if "same tables" in one.getMessage()]


def test_a_renamed_policy_is_told_of_its_ledger(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    asked(policy(tmp_path, "old"))
    os.rename(tmp_path / "old.toml", tmp_path / "new.toml")
    (said,) = lines(caplog, tmp_path / "new.toml")
    assert str(tmp_path / "old.ledger.db") in said
    assert 'ledger = "old.ledger.db"' in said
    assert lines(caplog, tmp_path / "new.toml") == [], "it is told once, when the new one is made"
    text = (tmp_path / "new.toml").read_text()
    (tmp_path / "new.toml").write_text('ledger = "old.ledger.db"\n' + text)
    with dp.protect(policy=tmp_path / "new.toml") as session:
        assert session.budget.spent == 1, "the fix that is told works"


def test_a_copied_policy_of_the_same_data_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    asked(policy(tmp_path, "old"))
    assert len(lines(caplog, policy(tmp_path, "copy"))) == 1


def test_other_data_and_other_tables_are_not_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    asked(policy(tmp_path, "north"))
    assert lines(caplog, policy(tmp_path, "south", file="southern")) == [], "its own policy names other data"
    asked(policy(tmp_path, "stays", table="stays"), "stays")
    (tmp_path / "stays.toml").unlink()
    (tmp_path / "north.toml").unlink()
    (tmp_path / "north.ledger.db").write_bytes(b"no ledger")
    assert lines(caplog, policy(tmp_path, "late")) == []


def test_a_ledger_that_is_named_is_a_choice(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    asked(policy(tmp_path, "old"))
    os.rename(tmp_path / "old.toml", tmp_path / "new.toml")
    assert lines(caplog, tmp_path / "new.toml", ledger=tmp_path / "own.db") == []
