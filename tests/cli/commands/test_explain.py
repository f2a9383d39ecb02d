"""`discreet explain` and `query --mock`: free, and without a look at the data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyarrow import parquet
from tests.cli.conftest import Run, make_visits

COUNT = "SELECT county, COUNT(*) AS n FROM visits GROUP BY county ORDER BY county"


def _spent(run: Run) -> str:
    return str(json.loads(run("budget", "--json").stdout)["spent"])


def test_explain_draws_a_tree(folder: Path, run: Run) -> None:
    result = run("explain", COUNT, "-e", "0.1")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0].startswith("post-processing")
    assert any(line.startswith("└─ release") for line in lines)
    assert "epsilon 0.1: noise of scale 30 on each integer" in result.stdout
    assert _spent(run) == "0"


def test_explain_as_json_and_with_the_sql_of_the_engine(folder: Path, run: Run) -> None:
    plan = json.loads(run("explain", COUNT, "--json").stdout)
    assert (plan["epsilon"], plan["plan"]["from"][0]["groups"]) == ("1", 3)
    assert "engine_sql" not in plan
    assert 'FROM "visits"' in run("explain", COUNT, "--sql").stdout


def test_explain_draws_a_picture(folder: Path, run: Run) -> None:
    result = run("explain", COUNT, "--svg", "plan.svg")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "wrote plan.svg\n")
    assert Path("plan.svg").read_text("utf-8").startswith("<svg ")


@pytest.mark.parametrize(
    "args",
    [["explain", "SELECT * FROM visits"], ["explain", COUNT, "-e", "0"], ["explain", COUNT, "--json", "--svg", "a.svg"],
     ["explain", COUNT, "--sql", "--svg", "a.svg"], ["explain"]],
)  # fmt: skip
def test_bad_usage_and_refusals_are_exit_code_2(folder: Path, run: Run, args: list[str]) -> None:
    result = run(*args)
    assert (result.exit_code, result.stdout) == (2, "")


def test_nothing_of_it_depends_on_the_values(folder: Path, run: Run) -> None:
    before = run("explain", COUNT, "--json").stdout
    parquet.write_table(make_visits(2, rows=10), folder / "visits.parquet")
    assert run("explain", COUNT, "--json").stdout == before


def test_a_mock_answers_for_nothing_and_says_so(folder: Path, run: Run) -> None:
    result = run("query", "--mock", COUNT, "-e", "1", "--json")
    assert result.exit_code == 0
    assert [row["county"] for row in json.loads(result.stdout)["rows"]] == ["A", "B", "C"]
    assert (
        result.stderr.splitlines()[-1] == "invented data: no number means anything, and nothing was charged"
    )
    assert _spent(run) == "0"
    assert run("query", "--mock", COUNT, "-e", "1").exit_code == 0


def test_a_mock_refuses_what_is_refused(folder: Path, run: Run) -> None:
    assert run("query", "--mock", "SELECT * FROM visits", "-e", "1").exit_code == 2
    assert run("query", "--mock", COUNT, "-e", "1.1").exit_code == 3
