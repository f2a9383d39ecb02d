"""Several statements as one workload on the command line: looked at, printed, and written into files."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.csv as csv
import pytest
from tests.cli.conftest import Run

from discreet.cli.workloads.asking import files_of

TEXT = (
    "-- all\nSELECT COUNT(*) AS n FROM visits;\n"
    "-- by county\nSELECT county, COUNT(*) AS n FROM visits GROUP BY county;\n"
)


@pytest.fixture
def tables(folder: Path) -> Path:
    path = folder / "tables.sql"
    path.write_text(TEXT, "utf-8")
    return path


def test_a_preview_is_free_and_says_all(tables: Path, run: Run) -> None:
    result = run("query", "tables.sql", "-e", "0.1", "--preview")
    assert result.exit_code == 0
    assert "by county" in result.stdout
    assert "epsilon 0.1, all together" in result.stdout
    assert "2 tables of the same rows, estimated from marginals" in result.stdout
    told = json.loads(run("query", "tables.sql", "-e", "0.1", "--preview", "--json").stdout)
    assert list(told) == ["all", "by county"]
    assert all(one["epsilon"] == one["cost"] == "0.1" for one in told.values())
    assert run("preview", "tables.sql", "-e", "0.1").stdout == result.stdout
    refused = run("preview", "tables.sql", "--within", "n=50")
    assert refused.exit_code == 2
    assert "for one statement; the text has several" in refused.stderr
    one = run("query", "SELECT COUNT(*) AS n FROM visits", "-e", "0.1", "--preview")
    assert "n  ±" in one.stdout
    assert "1 left of 1" in run("budget").stdout


def test_each_answer_has_a_file(tables: Path, run: Run) -> None:
    result = run("query", "tables.sql", "-e", "0.1", "-o", "out.csv", "--integers", "--nonnegative")
    assert result.exit_code == 0
    assert "wrote out-by_county.csv" in result.stderr
    assert "bias" in result.stderr
    found = csv.read_csv(tables.parent / "out-by_county.csv")
    assert found["county"].to_pylist() == ["A", "B", "C"]
    total = csv.read_csv(tables.parent / "out-all.csv")["n"][0].as_py()
    assert isinstance(total, int)
    assert min(found["n"].to_pylist()) >= 0
    assert run("query", "tables.sql", "-e", "0.1", "-o", "out.json").exit_code == 0
    every = json.loads((tables.parent / "out.json").read_text("utf-8"))
    assert all(one["replayed"] for one in every.values())
    assert "0.9 left of 1" in run("budget").stdout


def test_bad_usage_costs_nothing(tables: Path, run: Run) -> None:
    for more in (["--csv"], ["--simultaneous"], ["--split", "n=2"], ["--diagnose", "0.1"], ["-o", "a.txt"]):
        assert run("query", "tables.sql", "-e", "0.1", *more).exit_code == 2
    assert run("query", "tables.sql", "--within", "n=9").exit_code == 2
    assert "1 left of 1" in run("budget").stdout


def test_files_have_names_of_their_own() -> None:
    names = [*"ab", "a/b", "a b", "", "é", "../../etc"]
    found = files_of(dict.fromkeys(names, ""), Path("x/t.csv"))
    assert len(set(found.values())) == len(names)
    assert all(path.parent == Path("x") for path in found.values())
    assert files_of({"a": ""}, None) == {}
