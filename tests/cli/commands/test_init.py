"""`discreet init`: names and types, never a value."""

from __future__ import annotations

import importlib
import re
import tomllib
from fractions import Fraction
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.cli.conftest import Run, make_visits
from tests.depth import DEEP

from discreet.cli.commands.init import scaffold
from discreet.engines.duckdb.sources.csv_text import header
from discreet.errors import PolicyError
from discreet.policy import Policy

drafts = importlib.import_module("discreet.cli.commands.init")


def _csv(table: pa.Table) -> str:
    lines = [",".join(map(str, row.values())) for row in table.to_pylist()]
    return "\n".join([",".join(table.column_names), *lines]) + "\n"


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_files_of_one_schema_give_one_text_whatever_their_values(folder: Path, run: Run, kind: str) -> None:
    texts = []
    other = pa.table({"patient_id": [7], "age": [99], "county": ["Secret"], "cost": [1e300]})
    for table in (make_visits(1), make_visits(2, rows=10), other):
        path = folder / f"stays.{kind}"
        if kind == "parquet":
            parquet.write_table(table, path)
        else:
            path.write_text(_csv(table))
        result = run("init", path.name)
        assert result.exit_code == 0
        texts.append(result.stdout)
    assert texts[0] == texts[1] == texts[2]
    assert "Secret" not in texts[2]


def test_values_of_other_types_change_nothing_in_a_csv_file(folder: Path, run: Run) -> None:
    # If the types of a CSV file were written down, one value could change the text.
    texts = []
    for value in ("12", "twelve", "2024-01-01", ""):
        (folder / "a.csv").write_text(f"patient_id,what\n1,{value}\n")
        texts.append(run("init", "a.csv").stdout)
    assert len(set(texts)) == 1


def test_a_first_line_that_may_be_a_row_is_told(folder: Path, run: Run) -> None:
    # Its values would be the names of the columns, in a policy that is as good as public.
    (folder / "rows.csv").write_text("580,9:27AM,29\n1215,9:16AM,45\n")
    (folder / "names.csv").write_text("patient_id,at,q1,1st visit\n580,9:27AM,29,4\n")
    said = run("init", "rows.csv").stderr
    assert "line of names above it" in said
    assert "580" not in said
    assert "line of names" not in run("init", "names.csv").stderr


def test_every_column_and_type_is_listed(folder: Path, run: Run) -> None:
    text = run("init", "visits.parquet").stdout
    assert 'url = "parquet:visits.parquet"' in text
    for words in (
        '# privacy_unit = "patient_id"',
        "# patient_id = {}",
        "# age = { bounds = [0, 120] }",
        '# county = { keys = ["A", "B"] }',
        "# cost = { bounds = [0.0, 100.0] }",
        "# integer",
        "# text",
        "# float",
    ):
        assert words in text


def test_it_does_not_load_before_the_steward_decides_and_loads_after(folder: Path, run: Run) -> None:
    assert run("init", "visits.parquet", "-o", "new.toml").exit_code == 0
    path = folder / "new.toml"
    with pytest.raises(PolicyError):
        Policy.from_toml(path)
    decided = []
    for line in path.read_text().splitlines():
        wanted = ("# epsilon", '# privacy_unit = "patient_id"', "# max_rows", "# age", "# county", "# cost")
        decided.append(line.removeprefix("# ") if line.startswith(wanted) else line)
    path.write_text("\n".join(decided))
    policy = Policy.from_toml(path)
    assert policy.tables["visits"].privacy_unit == "patient_id"
    assert policy.tables["visits"].max_rows == 3
    result = run("query", "-p", "new.toml", "SELECT SUM(cost) AS c FROM visits", "-e", "0.5")
    assert result.exit_code == 0, result.stderr


EVERY = pa.table(
    {
        "visit_id": [1, 2], "patient_id": ["a", "b"], "birth_year": [1950, 1960], "is_smoker": [0, 1],
        "share": [0.1, 0.2],
        "active": [True, False], "age": [1, 2], "cost": [1.0, 2.0], "county": ["A", "B"], "tags": [[1], [2]],
        "is_asked": [["a"], ["b"]], "patient_names": [["a"], []], "ages": [[1], [2]], "birth_dates": [["x"], ["y"]],
        "flags": [[True], []], "prices": [[1.0], []], "seen_on": pa.array([[0], []], pa.list_(pa.date32())),
        "form": [{"town": "Ely"}, {"town": "Ware"}],
        "seen": pa.array([0, 1], pa.date32()), "seen_at": pa.array([0, 1], pa.timestamp("us")), "start_date": ["", ""],
        "user_active": [True, True], "month": pa.array([1, 2], pa.int8()), "latitude": [1.0, 2.0], "a b": [1, 2],
    }
)  # fmt: skip


def uncommented(text: str) -> str:
    """The draft with every line that could be a line of TOML taken as one."""
    lines = [re.sub(r'^# (?=[\w".-]+( [\w"]+)* = )', "", line) for line in text.splitlines()]
    return "\n".join(lines)


# A deep run drafts a policy without a unit and without items, too.
@pytest.mark.parametrize(
    "columns", [EVERY.column_names, ["age", "county", "tags"], *[["user_active", "cost"]] * DEEP]
)
def test_every_line_works_when_it_is_uncommented(folder: Path, run: Run, columns: list[str]) -> None:
    parquet.write_table(EVERY.select(columns), folder / "every.parquet")
    text = uncommented(run("init", "every.parquet").stdout)
    (folder / "every.toml").write_text(text)
    declared = Policy.from_toml(folder / "every.toml").tables["every"]
    assert declared.privacy_unit == ("patient_id" if "patient_id" in columns else "row")
    assert set(declared.columns) == {*columns, *(["form.town"] if "form" in columns else [])}
    result = run("query", "-p", "every.toml", "SELECT COUNT(*) AS n FROM every", "-e", "0.1")
    assert result.exit_code == 0, result.stderr
    questions = []
    for column, rule in declared.columns.items():
        if rule.max_items is not None:
            questions.append(f'SELECT COUNT(*) FROM (SELECT UNNEST("{column}") AS item FROM every)')
            continue
        if rule.bounds is not None and isinstance(rule.bounds[0], Fraction):
            questions.append(f'SELECT SUM("{column}") FROM every')
        if rule.keys is not None:
            questions.append(f'SELECT "{column}", COUNT(*) AS n FROM every GROUP BY ALL')
    result = run("preview", "-p", "every.toml", ";\n".join(questions), "-e", "1")
    assert result.exit_code == 0, result.stderr


def test_a_line_that_does_not_work_is_found(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafts, "suggest", lambda name, kind: ('bounds = [0, 1], keys = ["A"]', ""))
    with pytest.raises(AssertionError):
        test_every_line_works_when_it_is_uncommented(folder, run, EVERY.column_names)


def test_names_and_types_alone_suggest(folder: Path, run: Run) -> None:
    parquet.write_table(EVERY, folder / "every.parquet")
    text = run("init", "every.parquet").stdout
    for words in (
        '# privacy_unit = "patient_id"',
        'or # privacy_unit = "visit_id"',
        "# birth_year = { bounds = [1900, 2030] }",
        "# is_smoker = { keys = [0, 1] }",
        "# share = { bounds = [0.0, 1.0] }",
        "# latitude = { bounds = [-90.0, 90.0] }",
        "# month = { bounds = [1, 12] }",
        "# integer; a year, by its name",
        "# boolean; true or false",
        "# text; a date, by its name",
        "# other; only COUNT and IS NULL",
    ):
        assert words in text
    assert "user_active" not in text.partition("columns]")[0]  # true or false names nobody
    (folder / "c.csv").write_text("patient_id,age,start_date,county\n1,2,3,4\n")
    assert "# start_date = { bounds = [2024-01-01, 2024-12-31] }" in run("init", "c.csv").stdout


def test_it_does_not_overwrite_unless_told(folder: Path, run: Run) -> None:
    before = (folder / "policy.toml").read_text()
    result = run("init", "visits.parquet", "-o", "policy.toml")
    assert result.exit_code == 2
    assert "--force" in result.stderr
    assert (folder / "policy.toml").read_text() == before
    assert run("init", "visits.parquet", "-o", "policy.toml", "--force").exit_code == 0
    assert (folder / "policy.toml").read_text() != before


def test_a_database_lists_all_its_tables(folder: Path, run: Run) -> None:
    with duckdb.connect(str(folder / "h.duckdb")) as database:
        database.execute("CREATE TABLE stays (PatientId INTEGER, start DATE, ward VARCHAR)")
        database.execute("CREATE TABLE wards (name VARCHAR)")
    text = run("init", "h.duckdb").stdout
    assert text.count("# public = true") == 2
    assert '# privacy_unit = "PatientId"' in text
    assert "# start = { bounds = [2024-01-01, 2024-12-31] }" in text


def test_odd_names_are_quoted_so_that_toml_reads_them(folder: Path) -> None:
    names = ['Money "spent" (euros)', "a.b", "naïve", "tab\tbed", "\x7f"]
    text = scaffold("csv:odd.csv", {"my table": [(name, "FLOAT") for name in names]})
    rules = "\n".join(line.removeprefix("# ") for line in text.splitlines() if "= {" in line)
    assert list(tomllib.loads(rules)) == names
    assert tomllib.loads(text)["source"] == {"url": "csv:odd.csv"}


@pytest.mark.parametrize(
    "raw",
    [
        b"a,b c,d\n1,2,3\n",
        b"a,b c,d\r1,2,3\r",
        b"a;b c;d\r\n1;2;3\r\n",
        b"\xef\xbb\xbfa\tb c\td\n",
        b'"a","b c","d"\n',
        "a,b c,d\n1,2,3\n".encode("utf-16"),
    ],
)
def test_the_header_of_a_csv_file_is_read_however_it_is_written(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(raw)
    assert header(str(path)).names == ("a", "b c", "d")


def test_a_file_that_is_not_there_is_bad_usage_as_for_a_question(folder: Path, run: Run) -> None:
    for name in ("none.parquet", "none.csv", "none.duckdb"):
        assert run("init", name).exit_code == 2


def test_a_type_is_given_on_the_command_line(folder: Path, run: Run) -> None:
    """The refusal names the option, the option is enough, and a draft says how a type is written."""
    (folder / "people.csv").write_text("age,sex\n" + "31,1\n47,0\n" * 50)
    ask = ["query", "SELECT AVG(age) AS a FROM people WHERE sex = 1", "-e", "1", "--source", "people.csv",
           "--unit", "row", "--budget", "5", "--bounds", "age=0:104", "--ledger", "types.db"]  # fmt: skip
    refused = run(*ask)
    assert refused.exit_code == 2
    assert 'sex = { type = "integer" }' in refused.stderr
    assert "--type sex=integer" in refused.stderr
    assert run(*ask, "--type", "sex=integer").exit_code == 0
    assert "write it like" in run(*ask, "--type", "sex").stderr
    assert 'type = "integer"' in run("init", "people.csv").stdout


def test_a_place_or_a_share_in_a_file_without_types_keeps_its_fraction(folder: Path, run: Run) -> None:
    """As whole numbers all of them would be NULL, and a map of them a map of noise."""
    (folder / "points.csv").write_text("lat,lng,share\n52.5,4.5,0.5\n52.6,4.6,0.4\n")
    text = run("init", "points.csv").stdout
    for words in (
        "# lat = { bounds = [-90.0, 90.0] }",
        "# lng = { bounds = [-180.0, 180.0] }",
        "# share = { bounds = [0.0, 1.0] }",
    ):
        assert words in text
    (folder / "points.toml").write_text(uncommented(text))
    assert run("tables", "points", "-p", "points.toml").stdout.count("DOUBLE") == 3
