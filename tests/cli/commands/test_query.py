"""`discreet query` and `preview`: answers on stdout, words on stderr, exit codes, formats, interruption."""

from __future__ import annotations

import csv
import io
import json
import signal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.cli.conftest import Run

from discreet.errors import EngineError
from discreet.release import answer_file
from discreet.session.queries import Queries

COUNT = "SELECT county, COUNT(*) AS n FROM visits GROUP BY county ORDER BY county"


def test_statements_that_have_no_error_are_answered_beside_within(folder: Path, run: Run) -> None:
    for statement in ("SHOW TABLES", "SELECT 1 AS one"):
        done = run("query", statement, "--within", "n=50")
        assert (done.exit_code, "warning" in done.stderr) == (0, False)


def test_the_answer_is_on_stdout_and_words_are_on_stderr(folder: Path, run: Run) -> None:
    result = run("query", COUNT, "--epsilon", "0.1")
    assert result.exit_code == 0
    header, rule, *rows, footer = result.stdout.splitlines()
    assert header.split() == ["county", "n"]
    assert set(rule) <= {"─", " "}
    assert [row.split()[0] for row in rows] == ["A", "B", "C"]
    assert all("±" in row for row in rows)
    assert footer == "3 rows · epsilon 0.1 · ± covers the noise at 95 %"
    assert "not covered: rows of a unit beyond its first 3 rows" in result.stderr
    assert "budget: epsilon 0.9 left of 1 (0.1 spent)" in result.stderr
    assert (folder / "policy.ledger.db").is_file()


def test_quiet_says_nothing_beside_the_answer(folder: Path, run: Run) -> None:
    result = run("query", COUNT, "-e", "0.1", "-q")
    assert (result.exit_code, result.stderr) == (0, "")


def test_the_same_question_again_is_free(folder: Path, run: Run) -> None:
    first, again = (json.loads(run("query", COUNT, "-e", "0.1", "--json").stdout) for _ in range(2))
    assert first["rows"] == again["rows"]
    assert (first["replayed"], again["replayed"]) == (False, True)
    assert again["budget"] == {"epsilon": "1", "spent": "0.1", "left": "0.9"}


def test_an_error_buys_only_what_earlier_answers_do_not_tell(folder: Path, run: Run) -> None:
    first = json.loads(run("query", COUNT, "--within", "n=80", "--json").stdout)
    assert all(row["n_high"] - row["n_low"] <= 160 for row in first["rows"])
    rewritten = COUNT.replace("ORDER BY county", "")
    seen = json.loads(run("preview", rewritten, "--within", "n=80", "--json").stdout)
    assert (seen["epsilon"], seen["known"][:21]) == ("0", "free, from question 1")
    assert json.loads(run("query", COUNT, "--within", "n=80", "--json").stdout)["epsilon"] == "0"
    assert "made of earlier answers" in run("query", COUNT, "-e", "0.01", "--reuse").stdout
    assert json.loads(run("query", COUNT, "-e", "0.01", "--json").stdout)["epsilon"] == "0.01"
    for odd in (["-e", "0.1", "--within", "n=50"], ["--within", "n=50", "-o", "n.csv"], []):
        assert run("query", COUNT, *odd).exit_code == 2


def test_an_error_that_may_be_missed_is_told_before_the_charge(folder: Path, run: Run) -> None:
    explained = run("query", f"EXPLAIN {COUNT}", "--within", "n=80")
    assert (explained.exit_code, "post-processing" in explained.stdout) == (0, True)
    mean = ("SELECT AVG(age) AS age FROM visits", "--within", "age=2", "--group-rows", "9000")
    seen, asked = (json.loads(run(command, *mean, "--json").stdout) for command in ("preview", "query"))
    assert seen["epsilon"] == asked["epsilon"]
    alone = run("query", COUNT, "-e", "0.1", "--group-rows", "9000")
    assert (alone.exit_code, "--group-rows decides the price of an error" in alone.stderr) == (2, True)
    done = run("query", "SELECT AVG(age) AS age FROM visits", "--within", "age=0.01")
    assert done.exit_code == 3  # refused, and told all the same
    assert (
        "had 1,000 rows with values spread over their bounds: in one of 100 rows age would be" in done.stderr
    )


def test_json_holds_values_intervals_cost_and_what_is_not_covered(folder: Path, run: Run) -> None:
    result = run("query", "SELECT AVG(age) AS age FROM visits", "-e", "1/3", "--confidence", "0.5", "--json")
    answer = json.loads(result.stdout)
    assert answer["epsilon"] == "1/3"
    assert answer["confidence"] == 0.5
    (row,) = answer["rows"]
    assert row["age_low"] <= row["age"] <= row["age_high"]
    assert any("clamped" in note for note in answer["notes"])


def test_json_is_valid_where_nothing_can_be_said(folder: Path, run: Run) -> None:
    # An average without rows is NULL or has an endless interval; JSON knows neither NaN nor Infinity.
    sql = "SELECT county, AVG(age) AS age, 1 / 0 AS nothing FROM visits WHERE age > 119 GROUP BY county"
    result = run("query", sql, "-e", "0.001", "--json")
    assert result.exit_code == 0

    def refuse(word: str) -> None:
        raise AssertionError(word)

    json.loads(result.stdout, parse_constant=refuse)


def test_csv_is_read_back(folder: Path, run: Run) -> None:
    result = run("query", COUNT, "-e", "0.1", "--csv")
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [row["county"] for row in rows] == ["A", "B", "C"]
    assert list(rows[0]) == ["county", "n", "n_low", "n_high"]


@pytest.mark.parametrize("name", ["answer.csv", "answer.parquet", "answer.json"])
def test_output_is_written_to_a_file_of_its_kind(folder: Path, run: Run, name: str) -> None:
    result = run("query", COUNT, "-e", "0.1", "--output", name)
    assert (result.exit_code, result.stdout) == (0, "")
    assert f"wrote {name}" in result.stderr
    path = folder / name
    if name.endswith(".parquet"):
        table = parquet.read_table(path)
        assert json.loads(table.schema.metadata[b"discreet"])["epsilon"] == "0.1"
        counties = table.column("county").to_pylist()
    elif name.endswith(".csv"):
        counties = [row["county"] for row in csv.DictReader(io.StringIO(path.read_text()))]
    else:
        counties = [row["county"] for row in json.loads(path.read_text())["rows"]]
    assert counties == ["A", "B", "C"]


@pytest.mark.parametrize("name", ["answer.xlsx", "nowhere/answer.csv"])
def test_an_output_that_cannot_be_written_is_refused_before_the_charge(
    folder: Path, run: Run, name: str
) -> None:
    assert run("query", COUNT, "-e", "0.1", "--output", name).exit_code == 2
    assert not (folder / "policy.ledger.db").exists()


def test_the_question_comes_from_stdin_or_a_file(folder: Path, run: Run) -> None:
    (folder / "count.sql").write_text(COUNT)
    piped = run("query", "-", "-e", "0.1", "--csv", text=COUNT)
    assert piped.exit_code == 0
    assert run("query", "--file", "count.sql", "-e", "0.1", "--csv").stdout == piped.stdout
    assert run("query", COUNT, "--file", "count.sql", "-e", "0.1").exit_code == 2


def test_a_long_answer_is_printed_whole(folder: Path, run: Run) -> None:
    result = run("query", "SELECT age, COUNT(*) AS n FROM visits GROUP BY age", "-e", "0.1")
    assert result.stdout.splitlines()[-1].startswith("121 rows")
    assert len(result.stdout.splitlines()) == 124


def test_a_refused_query_points_at_the_place_and_costs_nothing(folder: Path, run: Run) -> None:
    result = run("query", "SELECT county, SUM(cost) AS c FROM visits GROUP BY county", "-e", "0.1")
    assert (result.exit_code, result.stdout) == (2, "")
    place, carets = result.stderr.splitlines()[1:3]
    assert "cost" in place[carets.index("^") : carets.rindex("^") + 1]
    assert "fix: " in result.stderr
    assert "Traceback" not in result.stderr
    assert json.loads(run("budget", "--json").stdout)["spent"] == "0"


def test_a_spent_budget_is_exit_code_3(folder: Path, run: Run) -> None:
    assert run("query", COUNT, "-e", "0.7").exit_code == 0
    result = run("query", "SELECT COUNT(*) AS n FROM visits", "-e", "0.4")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "epsilon 0.3 left" in result.stderr
    assert run("query", "SELECT COUNT(*) AS n FROM visits", "-e", "0.3").exit_code == 0


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["query", COUNT], "--epsilon"),
        (["query", COUNT, "-e", "0"], "above zero"),
        (["query", COUNT, "-e", "much"], "epsilon"),
        (["query", "-e", "0.1"], "give the question"),
        (["query", COUNT, "-e", "0.1", "--confidence", "2"], "confidence"),
        (["query", COUNT, "-e", "0.1", "--json", "--csv"], "one of"),
        (["query", COUNT, "-e", "0.1", "--bounds", "age=0:9"], "--source"),
        (["query", COUNT, "-e", "0.1", "-p", "none.toml"], "none.toml"),
        (["query", COUNT, "-e", "0.1", "--source", "visits.parquet"], "--unit"),
        (["preview", COUNT], "--within"),
        (["preview", COUNT, "--within", "n"], "n=50"),
        (["preview", COUNT, "--within", "m=50"], "m"),
        (["budget", "verify", "--noted", "x"], "NUMBER:HASH"),
    ],
)
def test_bad_usage_is_exit_code_2(folder: Path, run: Run, args: list[str], words: str) -> None:
    result = run(*args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr


def test_a_bad_policy_is_exit_code_2(folder: Path, run: Run) -> None:
    for text in ("[budget]\nepsilon = -1\n", "not TOML at all", ""):
        (folder / "policy.toml").write_text(text)
        result = run("query", COUNT, "-e", "0.1")
        assert (result.exit_code, result.stdout) == (2, "")


def test_without_a_policy_it_says_what_to_do(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DISCREET_POLICY", raising=False)
    result = run("query", COUNT, "-e", "0.1")
    assert result.exit_code == 2
    assert "discreet init FILE" in result.stderr


def test_the_policy_may_be_named_by_the_environment(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "policy.toml").rename(folder / "other.toml")
    monkeypatch.setenv("DISCREET_POLICY", "other.toml")
    assert run("query", COUNT, "-e", "0.1").exit_code == 0


def test_a_missing_file_of_a_policy_is_exit_code_2(folder: Path, run: Run) -> None:
    (folder / "visits.parquet").unlink()
    assert run("query", COUNT, "-e", "0.1").exit_code == 2


def test_a_file_is_asked_without_a_policy(folder: Path, run: Run) -> None:
    table = parquet.read_table(folder / "visits.parquet")
    (folder / "odd.csv").write_text(
        "patient_id,Age (years),county\n"
        + "".join(f"{r['patient_id']},{r['age']},{r['county']}\n" for r in table.to_pylist())
    )
    sql = 'SELECT county, AVG("Age (years)") AS age FROM odd GROUP BY county'
    args = ["--source", "odd.csv", "--unit", "patient_id", "--max-rows", "3", "--bounds", "Age (years)=0:120",
            "--keys", "county=A,B", "--budget", "2"]  # fmt: skip
    result = run("query", sql, "-e", "2", "--json", *args)
    assert result.exit_code == 0, result.stderr
    rows = json.loads(result.stdout)["rows"]
    # 1000 rows a group and the scale 3/2 of a count: the noise of an average is far below 10 years.
    assert {row["county"]: abs(row["age"] - 49.5) < 10 for row in rows} == {"A": True, "B": True}
    assert run("query", sql, "-e", "1", *args).exit_code == 3
    assert "odd.csv.ledger.db" in result.stderr
    assert run("preview", sql, "-e", "1", *args).exit_code == 0


def test_a_preview_reads_no_data_and_charges_nothing(folder: Path, run: Run) -> None:
    seen = json.loads(run("preview", COUNT, "--within", "n=50", "--json").stdout)
    assert seen["errors"]["n"] <= 50
    assert float(seen["left"]) < 1
    assert "± " in run("preview", COUNT, "--epsilon", "0.1").stdout
    assert json.loads(run("budget", "--json").stdout)["spent"] == "0"


def _interrupted_by_python(*_: object) -> Any:
    signal.raise_signal(signal.SIGINT)


def _interrupted_inside_the_engine(*_: object) -> Any:
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        raise EngineError("The engine could not finish the query.") from None


@pytest.mark.parametrize("stop", [_interrupted_by_python, _interrupted_inside_the_engine])
def test_an_interrupt_says_that_the_charge_stays(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch, stop: Any
) -> None:
    handler = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(Queries, "run", stop)
    result = run("query", COUNT, "-e", "0.1")
    assert (result.exit_code, result.stdout) == (130, "")
    assert "error: interrupted" in result.stderr
    assert "charged: epsilon 0.1, which stays charged" in result.stderr
    assert signal.getsignal(signal.SIGINT) is handler
    budget = json.loads(run("budget", "--json").stdout)
    assert budget["spent"] == "0.1"
    assert [charge["answered"] for charge in budget["charges"]] == [False]


def test_an_answer_that_cannot_be_written_is_kept(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(answer_file, "appear", full)
    result = run("query", COUNT, "-e", "0.1", "--output", "answer.csv")
    assert result.exit_code == 1
    assert "the same question again is free" in result.stderr
    assert not (folder / "answer.csv").exists()
    assert isinstance(json.loads(run("query", COUNT, "-e", "0.1", "--json").stdout)["rows"], list)
    assert json.loads(run("budget", "--json").stdout)["spent"] == "0.1"


def test_a_place_that_cannot_be_written_is_refused_before_the_charge(folder: Path, run: Run) -> None:
    (folder / "taken.csv").mkdir()
    assert run("query", COUNT, "-e", "0.1", "--output", "taken.csv").exit_code == 2
    assert json.loads(run("budget", "--json").stdout)["spent"] == "0"


def test_a_table_is_replaced_at_once(folder: Path, run: Run) -> None:
    (folder / "answer.csv").write_text("old")
    assert run("query", COUNT, "-e", "0.1", "--output", "answer.csv").exit_code == 0
    assert (folder / "answer.csv").read_text().startswith('"')
    assert not list(folder.glob(".discreet-*"))


def test_epsilon_of_a_table_is_exact(folder: Path, run: Run) -> None:
    for at in range(3):
        assert run("query", f"SELECT COUNT(*) AS n FROM visits WHERE age > {at}", "-e", "1/3").exit_code == 0
    assert json.loads(run("budget", "--json").stdout)["left"] == "0"
    assert run("query", "SELECT COUNT(*) AS m FROM visits", "-e", "1e-9").exit_code == 3


def test_tables_hold_no_types_that_csv_cannot_write(folder: Path, run: Run) -> None:
    assert isinstance(parquet.read_table(folder / "visits.parquet"), pa.Table)
    assert (
        run(
            "query", "SELECT age > 60 AS old, COUNT(*) AS n FROM visits GROUP BY 1", "-e", "0.1", "--csv"
        ).exit_code
        == 0
    )


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ([], "--unit COLUMN with --max-rows N (or --unit row) and --budget EPSILON"),
        (["--unit", "patient_id"], "--max-rows N and --budget EPSILON"),
        (["--unit", "patient_id", "--budget", "2"], "--max-rows N"),
        (["--unit", "row"], "--budget EPSILON"),
    ],
)
def test_all_that_a_file_without_a_policy_needs_is_named_at_once(
    folder: Path, run: Run, given: list[str], missing: str
) -> None:
    result = run("query", COUNT, "-e", "0.1", "--source", "visits.parquet", *given)
    assert result.exit_code == 2
    assert f"--source needs {missing}\n" in result.stderr


def test_raising_the_limit_of_a_ledger_is_said(folder: Path, run: Run) -> None:
    asked = ["-e", "1", "--source", "visits.parquet", "--unit", "patient_id", "--max-rows", "3", "--budget"]
    said = "raises the limit of"
    for name in ("n", "m"):
        first = run("query", f"SELECT COUNT(*) AS {name} FROM visits", *asked, "1")
        assert first.exit_code == 0
        assert said not in first.stderr
    more = run("query", "SELECT COUNT(cost) AS n FROM visits", *asked, "2")
    assert more.exit_code == 0
    assert "from epsilon 1 to 2" in more.stderr
    lower = run("query", "SELECT COUNT(age) AS n FROM visits", *asked, "1.5")
    assert lower.exit_code == 3
    assert said not in lower.stderr


def test_several_statements_are_one_workload(folder: Path, run: Run) -> None:
    text = f"-- all\nSELECT COUNT(*) AS n FROM visits;\n-- by county\n{COUNT};\n"
    (folder / "tables.sql").write_text(text, "utf-8")
    result = run("query", "tables.sql", "-e", "0.1")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert [line for line in lines if line in ("all", "by county")] == ["all", "by county"]
    assert "budget: epsilon 0.9 left of 1 (0.1 spent)" in result.stderr
    answers = json.loads(run("query", "--file", "tables.sql", "-e", "0.1", "--json").stdout)
    assert [row["county"] for row in answers["by county"]["rows"]] == ["A", "B", "C"]
    assert all(answer["replayed"] for answer in answers.values())
    assert answers["all"]["budget"]["spent"] == "0.1"
    for more in (["--csv"], ["-o", "all.txt"], ["--simultaneous"], ["--split", "n=2"]):
        assert run("query", "tables.sql", "-e", "0.1", *more).exit_code == 2
    assert run("preview", "tables.sql", "-e", "0.1").exit_code == 0
    refused = run("explain", "tables.sql", "-e", "0.1")
    assert refused.exit_code == 2
    assert "which `discreet query` takes" in refused.stderr


@pytest.mark.parametrize("look", ["query", "preview", "explain"])
def test_a_file_that_is_not_there_is_no_question(folder: Path, run: Run, look: str) -> None:
    for more in (["nofile.sql"], ["--file", "nofile.sql"]):
        refused = run(look, *more, "-e", "0.1")
        assert refused.exit_code == 2
        assert "nofile.sql" in refused.stderr
        assert "statement" not in refused.stderr


def test_a_source_that_is_not_there_names_the_charge(run: Run) -> None:
    result = run("query", "SELECT 1", "--source", "gone.csv", "--unit", "row", "--budget", "1", "-e", "1")
    assert result.exit_code == 2
    assert "error: --source: There is no file" in result.stderr
    assert "charged: nothing" in result.stderr


def with_days(folder: Path) -> None:
    parquet.write_table(pa.table({"day": [1, 2], "name": ["Mon", "Tue"]}), folder / "days.parquet")
    policy = folder / "policy.toml"
    text = policy.read_text().replace('[source]\nurl = "parquet:visits.parquet"\n', "")
    text = text.replace("[tables.visits]\n", '[tables.visits]\nurl = "parquet:visits.parquet"\n')
    policy.write_text(f'{text}\n[tables.days]\nurl = "parquet:days.parquet"\npublic = true\n')


@pytest.mark.parametrize("statement", ["SELECT * FROM days", "SELECT 1 AS day, 'Mon' AS name"])
def test_a_free_question_needs_no_price(folder: Path, run: Run, statement: str) -> None:
    with_days(folder)
    shown = run("query", statement)
    assert (shown.exit_code, "free: nothing private was read" in shown.stdout) == (0, True)
    assert "budget: epsilon 1 left of 1 (0 spent)" in shown.stderr
    found = json.loads(run("query", statement, "--json").stdout)
    assert found["rows"][0] == {"day": 1, "name": "Mon"}
    for name in ("answer.csv", "answer.parquet", "answer.json"):
        assert run("query", statement, "-o", name).exit_code == 0
        assert (folder / name).stat().st_size > 0
    assert parquet.read_table(folder / "answer.parquet").column("name")[0].as_py() == "Mon"


def test_a_question_with_a_cost_still_needs_its_price(folder: Path, run: Run) -> None:
    for more in ([], ["--json"], ["-o", "n.csv"], ["-o", "n.json"], ["--preview"], ["--mock"]):
        refused = run("query", COUNT, *more)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert "name the cost with --epsilon, or the error with --within" in refused.stderr
    assert "0 spent" in run("budget").stdout
    assert not list(folder.glob("n.*"))
