"""`discreet synthesize` writes rows and a report, charges once, and refuses before it charges."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
from tests.cli.conftest import POLICY, Run, make_visits


def test_rows_and_report(tmp_path: Path, run: Run, monkeypatch: object) -> None:
    pq.write_table(make_visits(1, 1000), tmp_path / "visits.parquet")
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY.replace("visits.parquet", str(tmp_path / "visits.parquet")))
    given = ("synthesize", str(policy), "-e", "0.5", "--bins", "age=6")
    seen = json.loads(run(*given, "--preview", "--json").stdout)
    assert seen["cost"] == seen["epsilon"] == "0.5"
    assert [one["columns"] for one in seen["marginals"]] == [["age"], ["county"], ["age", "county"]]
    assert "nothing was read" in run(*given, "--preview").stdout
    assert run(*given, "--preview", "-o", str(tmp_path / "rows.csv")).exit_code == 2
    out, report = tmp_path / "synthetic.parquet", tmp_path / "report.html"
    shown = run(*given, "-o", str(out), "--report", str(report))
    assert shown.exit_code == 0, shown.stderr
    assert "synthetic rows of visits" in shown.stdout
    table = pq.read_table(out)
    assert table.column_names == ["age", "county"]
    assert "Not preserved" in report.read_text("utf-8")
    again = json.loads(run(*given, "--json").stdout)
    assert again["replayed"]
    assert again["rows"] == len(table)
    assert run(*given, "--rows", "5", "-o", str(tmp_path / "few.csv")).exit_code == 0
    assert len((tmp_path / "few.csv").read_text().splitlines()) == 6
    assert run("synthesize", str(policy), "-e", "0.6").exit_code == 3
    for bad in (
        ("--bins", "age=x"),
        ("--bins", f"age={'9' * 5000}"),
        ("-o", "rows.doc"),
        ("--report", "r.doc"),
        ("-p", "other.toml"),
        ("--degree", "9"),
    ):
        assert run(*given, *bad).exit_code == 2, bad
    refused = run(*given, "-o", str(tmp_path / "visits.parquet"))
    assert refused.exit_code == 2
    assert "is the data" in refused.stderr


def test_an_unknown_table_is_refused_as_one(tmp_path: Path, run: Run) -> None:
    pq.write_table(make_visits(1, 100), tmp_path / "visits.parquet")
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY.replace("visits.parquet", str(tmp_path / "visits.parquet")))
    done = run("synthesize", str(policy), "-e", "0.5", "--like", "visit")
    said = " ".join(done.stderr.split())
    assert done.exit_code == 2
    assert "There is no private table of this name." in said
    assert "Write --like with one of visits." in said


def test_where_the_rows_are_is_said(tmp_path: Path, run: Run) -> None:
    pq.write_table(make_visits(1, 100), tmp_path / "visits.parquet")
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY.replace("visits.parquet", str(tmp_path / "visits.parquet")))
    given = ("synthesize", str(policy), "-e", "0.5", "--columns", "county")
    unwritten = run(*given)
    assert "-o synthetic.csv" in unwritten.stderr
    assert "free" in unwritten.stderr
    written = run(*given, "-o", str(tmp_path / "rows.csv"))
    assert written.stderr.splitlines()[-1] == f"wrote {tmp_path / 'rows.csv'}"
    refused = run(*given, "--bins", "county=4")
    assert refused.exit_code == 2
    assert "county gets no bins: its values are its classes" in refused.stderr
    assert "charged: nothing" in refused.stderr
