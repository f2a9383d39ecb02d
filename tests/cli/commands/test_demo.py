"""`discreet demo` runs to its end, and what it shows beside the answers is the truth."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
from tests.cli.conftest import Run


def test_demo_shows_a_policy_previews_answers_with_the_truth_and_refusals(tmp_path: Path, run: Run) -> None:
    kept = tmp_path / "hospital"
    result = run("demo", "--keep", str(kept))
    assert result.exit_code == 0, result.output
    shown = result.stdout
    assert 'privacy_unit = "patient_id"' in shown
    assert "nothing was read" in shown
    assert shown.count("truth") >= 5
    left = re.findall(r"budget: epsilon ([\d.]+) left of 2", shown)
    assert left == ["1.9", "1.3", "1", "1"]
    assert "This query returns rows of a private table." in shown
    assert "has epsilon 1 left, and this asks for 1.5" in shown
    inside, told = map(int, re.findall(r"Of (\d+) intervals at 95 %, (\d+)", shown)[0][::-1])
    # 55 intervals at 95 %. Those of one release are nearly independent; 25 of 55 outside by chance has a
    # probability far below 1e-9, intervals half as wide as they should be (78 % inside) would pass, those
    # computed for another column would not.
    assert told == 55
    assert inside >= 30
    truth = duckdb.execute(
        f"SELECT count(*) FROM '{kept}/visits.parquet' WHERE department = 'Maternity'"
    ).fetchall()
    assert f"{truth[0][0]:,}" in shown
    (rows,) = duckdb.execute(f"SELECT count(*) FROM '{kept}/visits.parquet'").fetchall()
    assert 190_000 < rows[0] < 210_000
    assert (
        run(
            "query", "-p", str(kept / "policy.toml"), "SELECT AVG(age) AS age FROM visits", "-e", "0.1"
        ).exit_code
        == 0
    )
    assert run("demo", "--keep", str(kept)).exit_code == 2
