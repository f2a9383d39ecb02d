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
