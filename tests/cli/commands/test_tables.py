"""`discreet tables`, and looking around with `discreet query`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run


def test_tables_and_their_columns(folder: Path, run: Run) -> None:
    result = run("tables")
    assert result.exit_code == 0, result.stderr
    assert "visits" in result.stdout
    assert "patient_id" in result.stdout
    columns = run("tables", "visits").stdout
    assert "clamped to 0 … 120" in columns
    assert "3 keys from the policy" in columns
    rows = json.loads(run("tables", "visits", "--json").stdout)
    assert [row["column_name"] for row in rows] == ["patient_id", "age", "county", "cost"]
    assert "0 spent" in run("budget").stdout


def test_a_table_that_is_not_there_is_refused(folder: Path, run: Run) -> None:
    result = run("tables", "vists")
    assert result.exit_code == 2
    assert "Did you mean visits?" in result.stderr


def test_looking_around_needs_no_epsilon(folder: Path, run: Run) -> None:
    for question in ("DESCRIBE visits", "SHOW TABLES", "SELECT * FROM information_schema.tables"):
        result = run("query", question)
        assert result.exit_code == 0, result.stderr
        assert "free: nothing private was read" in result.stdout
    assert run("query", "SELECT COUNT(*) AS n FROM visits").exit_code == 2
    assert run("query", "SHOW TABLES", "-o", "tables.csv").exit_code == 0
    assert "visits" in (folder / "tables.csv").read_text()


def test_the_columns_of_a_file_need_neither_a_unit_nor_a_budget(folder: Path, run: Run) -> None:
    (folder / "bare.csv").write_text("county,age\nKent,31\n")
    before = sorted(folder.iterdir())
    result = run("tables", "bare", "--source", "bare.csv", "--type", "age=integer", "--json")
    assert result.exit_code == 0, result.stderr
    rows = {row["column_name"]: row for row in json.loads(result.stdout)}
    assert list(rows) == ["county", "age"]
    assert "INT" in rows["age"]["column_type"].upper()
    assert sorted(folder.iterdir()) == before  # no ledger is left beside it
    assert run("query", "SELECT COUNT(*) AS n FROM bare", "--source", "bare.csv", "-e", "1").exit_code == 2
