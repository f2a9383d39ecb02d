"""The types of a CSV file under a policy: declared or derived, never found in a private value."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast
from unittest import mock

import pyarrow as pa
import pytest
from pyarrow import parquet
from tests import inside
from tests.depth import few

import discreet as dp
from discreet.engines.duckdb import DuckDBEngine, connection
from discreet.engines.duckdb import engine as duckdb_engine
from discreet.errors import PolicyError, QueryRefused, SourceError
from discreet.policy import Policy

ROWS = "id,age,sex,county,born,city\n" + "".join(
    f"{at},{at % 90},{at % 2},{'AB'[at % 2]},19{10 + at % 90}-01-0{1 + at % 9},X\n" for at in range(200)
)
POLICY = """
[budget]
epsilon = 10
[source]
url = "csv:people.csv"
[tables.people]
privacy_unit = "id"
max_rows = 1
[tables.people.columns]
age = { bounds = [0, 104] }
county = { keys = ["A", "B"] }
born = { bounds = [1900-01-01, 2020-12-31] }
"""
QUESTIONS = (
    "SELECT AVG(age) AS a FROM people", "SELECT county, COUNT(*) AS n FROM people GROUP BY county",
    "SELECT COUNT(*) AS n FROM people WHERE born > DATE '1950-01-01'", "SELECT COUNT(DISTINCT id) AS n FROM people",
    "SELECT COUNT(*) AS n FROM people WHERE sex = 1", "SELECT SUM(sex) AS n FROM people",
)  # fmt: skip


def opened(folder: Path, rows: str = ROWS, policy: str = POLICY) -> dp.Session:
    (folder / "people.csv").write_text(rows)
    (folder / "policy.toml").write_text(policy)
    return dp.protect(policy=folder / "policy.toml", ledger=":memory:")


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dp.Session]:
    """One for all that only ask what is refused."""
    with opened(tmp_path_factory.mktemp("people")) as session:
        yield session


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What is said of the rows without an odd one."""
    return outcomes(opened(tmp_path_factory.mktemp("plain")))


def outcomes(session: dp.Session) -> list[str]:
    """What each free preview shows or says."""
    out = []
    with session:
        for question in QUESTIONS:
            try:
                out.append(repr(session.preview(question, epsilon=1)))
            except QueryRefused as error:
                out.append(str(error))
    return out


ODD = [
    "7,1015 EUR,1,A,1950-01-01,X", "7,n.k.,m,,soon,1", '7,"1,5",1,A,0000-00-00,1', "x;y;z", "7", "7,8,9,10,11,12,13",
    "7,1e999,NaN,A,infinity,\t", '7,"",,,,', "7,-9e18,99999999999999999999,ÄÖÜ,2024-01-01 10:00,2024-01-01",
]  # fmt: skip


# A deep run adds each odd row.
@pytest.mark.parametrize("odd", few(ODD, 5))
def test_no_preview_depends_on_one_row(tmp_path: Path, odd: str, plain: list[str]) -> None:
    assert outcomes(opened(tmp_path, ROWS + odd + "\n")) == plain


def test_types_by_looking_are_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: the private file is opened as a public one is."""
    real = DuckDBEngine.open_all
    monkeypatch.setattr(
        DuckDBEngine, "open_all", lambda listed: real([(name, source, None) for name, source, _ in listed])
    )  # fmt: skip
    plain = outcomes(opened(tmp_path))
    assert outcomes(opened(tmp_path, ROWS + "7,5,m,A,1950-01-01,X\n")) != plain


def test_what_decides_a_type(tmp_path: Path) -> None:
    """Keys before bounds, bounds before nothing; a declared type before all."""
    columns: Any = {
        "keys": {"a": [1, 2], "b": [True, False], "c": ["x"]}, "types": {"g": "Integer", "h": "date"},
        "bounds": {"a": (0, 5), "d": (0, 1), "e": ("2024-01-01", "2024-12-31"), "g": (0, 9),
                   "f": ("2024-01-01T00:00:00", "2024-12-31T00:00:00")},
    }  # fmt: skip
    (tmp_path / "t.csv").write_text("a,b,c,d,e,f,g,h,i\n")
    with dp.protect(
        tmp_path / "t.csv", privacy_unit="row", budget=1, ledger=":memory:", **columns
    ) as session:
        found = {name: column.type.name for name, column in inside.engine_of(session).schema()["t"].items()}
    kinds = "INTEGER BOOLEAN TEXT FLOAT DATE TIMESTAMP INTEGER DATE TEXT"
    assert found == dict(zip("abcdefghi", kinds.split(), strict=True))


def test_keys_of_a_public_table_give_their_type(tmp_path: Path) -> None:
    """The public file is looked at; the private one has the type of the column that its keys refer to."""
    (tmp_path / "places.csv").write_text("code,name\n1,Kent\n2,Essex\n")
    (tmp_path / "visits.csv").write_text("place,who\n1,a\n2,b\nnowhere,c\n")
    with dp.protect(
        {"visits": tmp_path / "visits.csv", "places": tmp_path / "places.csv"}, public=["places"], privacy_unit="row",
        keys={"place": "places.code"}, budget=100, ledger=":memory:",
    ) as session:  # fmt: skip
        answer = session.sql("SELECT place, COUNT(*) AS n FROM visits GROUP BY place ORDER BY 1", epsilon=100)
    assert answer.to_dict(intervals=False) == {"place": [1, 2], "n": [1, 1]}


@pytest.mark.parametrize(
    ("suffix", "times"), [("csv", 2), ("parquet", 1), ("pandas", 2), ("arrow", 1), ("unknown", 0)]
)
def test_a_public_table_is_opened_for_a_type_only_where_one_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, times: int
) -> None:
    """Opening a database takes longer than a question; a file of no kind is refused before any is opened."""
    visits = pa.table({"place": [1, 2], "who": [1, 2]})
    file = tmp_path / f"visits.{suffix}"
    if suffix == "parquet":
        parquet.write_table(visits, file)
    elif suffix == "csv":
        file.write_text("place,who\n1,1\n2,2\n")
    frames = {"pandas": visits.to_pandas(), "arrow": visits}
    (tmp_path / "places.csv").write_text("code,name\n1,Kent\n2,Essex\n")
    sources = {"Visits": frames.get(suffix, file), "places": tmp_path / "places.csv"}
    rules = {"privacy_unit": "row", "columns": {"place": {"keys": "places.code"}}}
    declared: dict[str, Any] = {"budget": 1, "tables": {"visits": rules, "places": {"public": True}}}
    arguments = {"budget": 1, "public": ["places"], "privacy_unit": "row", "keys": {"place": "places.code"}}
    opened = mock.Mock(wraps=connection.seal)
    monkeypatch.setattr(duckdb_engine, "seal", opened)
    for given in ({"policy": Policy(**declared)}, arguments):
        opened.reset_mock()
        with pytest.raises(SourceError) if not times else contextlib.nullcontext():
            dp.protect(sources, **cast(Any, given), ledger=":memory:").close()
        assert opened.call_count == times


@pytest.mark.parametrize(("question", "line"), [
    ("SELECT COUNT(*) AS n FROM people WHERE sex = 1", 'sex = { type = "integer" }'),
    ("SELECT AVG(sex) AS n FROM people", 'sex = { bounds = [0, 100] }'),
    ("SELECT COUNT(*) AS n FROM people WHERE sex > 0.5", 'sex = { type = "float" }'),
    ("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex", 'sex = { bounds = [0, 100], type = "integer" }'),
    ("SELECT hour(city) AS y, COUNT(*) AS n FROM people GROUP BY 1", 'city = { type = "timestamp" }'),
    ("SELECT AVG(date_part('minute', city)) AS n FROM people", 'city = { type = "timestamp" }'),
    ("SELECT age, COUNT(*) AS n FROM people GROUP BY age", 'age = { bounds = [0, 104], type = "integer" }'),
    ("SELECT year(city) AS y, COUNT(*) AS n FROM people GROUP BY 1", 'city = { type = "date" }'),
])  # fmt: skip
def test_a_refusal_names_the_line_to_write(
    tmp_path: Path, people: dp.Session, question: str, line: str
) -> None:
    """And with the line written, the question is another one: planned, or refused for another reason."""
    with pytest.raises(QueryRefused) as caught:
        people.preview(question, epsilon=1)
    assert re.search(f"{re.escape(line)},? under \\[tables.people.columns\\]", caught.value.fix)
    policy = POLICY.replace("age = { bounds = [0, 104] }\n", "") if line.startswith("age") else POLICY
    with opened(tmp_path, policy=f"{policy}{line}\n") as session:
        said = ""
        try:
            session.preview(question, epsilon=1)
        except QueryRefused as error:
            said = error.fix
    assert "CSV" not in said


@pytest.mark.parametrize("column", ["sex", "city"])
@pytest.mark.parametrize("question", ["SELECT AVG({0}) AS n FROM people",
                                      "SELECT {0}, COUNT(*) AS n FROM people GROUP BY {0}"])  # fmt: skip
def test_the_line_of_a_refusal_is_the_last_one_that_is_needed(
    tmp_path: Path, question: str, column: str
) -> None:
    """A drafted policy says text of what it knows nothing of; and a line that is obeyed is not refused for another."""
    question = question.format(column)
    with (
        opened(tmp_path, policy=POLICY + f'{column} = {{ type = "text" }}\n') as session,
        pytest.raises(QueryRefused) as caught,
    ):
        session.preview(question, epsilon=1)
    for line in re.findall(rf"{column} = {{[^}}]*}}", caught.value.fix):
        with opened(tmp_path, policy=f"{POLICY}{line}\n") as session:
            assert session.preview(question, epsilon=1).groups


@pytest.mark.parametrize(("condition", "fix"), [
    ("sex = 1", "'1'"), ("county = 1", "'1'"), ("county > 1", "CAST(county AS DOUBLE)"),
    ("age = 'old'", "age is a number"),
])  # fmt: skip
def test_a_comparison_of_a_number_with_a_text_says_how_to_spell_it(
    people: dp.Session, condition: str, fix: str
) -> None:
    with pytest.raises(QueryRefused) as caught:
        people.preview(f"SELECT COUNT(*) AS n FROM people WHERE {condition}", epsilon=1)
    assert "This compares" in caught.value.cause
    assert fix in caught.value.fix
    if "age" in condition:
        assert "CSV" not in caught.value.fix


def test_the_name_of_a_column_in_single_quotes_is_no_matter_of_types(people: dp.Session) -> None:
    with pytest.raises(QueryRefused, match='double ones: "sex"') as caught:
        people.preview("SELECT SUM('sex') AS n FROM people", epsilon=1)
    assert "is read as" not in caught.value.fix


def test_a_type_is_of_csv_files_alone(tmp_path: Path) -> None:
    import pyarrow as pa

    with pytest.raises(PolicyError, match=r"columns\.a\.type: .*of type INTEGER.* Remove it"):
        dp.protect(pa.table({"a": [1]}), privacy_unit="row", budget=1, types={"a": "text"})
    with pytest.raises(PolicyError, match="No type has this name"):
        opened(tmp_path, policy=POLICY + 'city = { type = "money" }\n')


def test_a_number_among_the_columns_of_private_groups_is_told_its_type(people: dp.Session) -> None:
    groups = "SELECT COUNT(*) AS n FROM (SELECT age, city FROM people GROUP BY age, city HAVING COUNT(*) = 1)"
    with pytest.raises(QueryRefused, match=r'age = \{ bounds = \[0, 104\], type = "integer" \}') as refused:
        people.preview(groups, epsilon=1)
    assert "compared as one text" in refused.value.cause


def test_another_type_is_another_question(tmp_path: Path) -> None:
    """An answer that was kept is of the numbers that were read then."""
    (tmp_path / "t.csv").write_text("a\n1.5\n2\n")
    spent = []
    for types in ({"a": "integer"}, {"a": "float"}, {"a": "float"}):
        with dp.protect(
            tmp_path / "t.csv", privacy_unit="row", budget=9, bounds={"a": (0, 9)}, types=types,
            ledger=tmp_path / "l.db",
        ) as session:  # fmt: skip
            session.sql("SELECT SUM(a) AS s FROM t", epsilon=1)
            spent.append(int(session.budget.spent))
    assert spent == [1, 2, 2]


def test_a_column_that_the_file_lacks_is_named_where_the_policy_names_it(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"tables\.people\.columns\.agee: .*\n?.*Did you mean age\?"):
        opened(tmp_path, policy=POLICY.replace("age =", "agee ="))


@pytest.mark.parametrize(("wrong", "right", "fix"), [
    ('privacy_unit = "id"', "privacy_unit = id", "texts stand in quotes"),
    ("age = {", "his age = {", "a column with spaces"),
    ("[tables.people]", "[people]", r"\[tables\.people\]"),
])  # fmt: skip
def test_a_slip_in_a_policy_is_told_with_what_to_write(
    tmp_path: Path, wrong: str, right: str, fix: str
) -> None:
    with pytest.raises(PolicyError, match=fix):
        opened(tmp_path, policy=POLICY.replace(wrong, right))


def test_two_ways_out_have_an_or_between_them(people: dp.Session) -> None:
    with pytest.raises(QueryRefused) as refused:
        people.preview("SELECT COUNT(*) AS n FROM people WHERE sex = 1", epsilon=1)
    assert "or types=). Or write it in quotes" in refused.value.fix


def refusal(folder: Path, rows: str) -> str:
    with pytest.raises(PolicyError) as refused:
        opened(folder, rows)
    return str(refused.value)


def test_the_first_row_of_a_file_without_a_header_is_in_no_error(tmp_path: Path) -> None:
    """A file that replaced another one after the policy was made; nor are names near to those of the policy."""
    for number, row in enumerate(("Kowalski,4711,Aged,Countya", "idd,4711,Kent,1950-03-01,agee")):
        (tmp_path / str(number)).mkdir()
        said = refusal(tmp_path / str(number), f"{row}\nDupont,47,m,Kent,1950-01-01,X\n")
        assert "The table people has no column age." in said
        assert "they may be a row of the data" in said
        assert not any(word in said for word in row.split(","))


def test_a_header_that_the_policy_names_is_shown(tmp_path: Path) -> None:
    said = refusal(tmp_path, "id,aged,county,born\n1,2,A,1950-01-01\n")
    assert "Did you mean aged?" in said


def test_a_shown_first_row_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: nothing says that names of columns come from the text of a file."""
    whole = Policy.check
    monkeypatch.setattr(Policy, "check", lambda policy, schemas, _: whole(policy, schemas))
    assert "Kowalski" in refusal(tmp_path, "Kowalski,31\nDupont,47\n")


@pytest.mark.parametrize(("group", "said", "mended"), [
    ("left(city, 2)", "WHERE LEFT(city, 2) IN ('A', 'B')", "WHERE LEFT(city, 2) IN ('A', 'B') GROUP BY left(city, 2)"),
    ("CAST(city AS BIGINT)", "clamp(CAST(city AS BIGINT), 0, 100)", "GROUP BY clamp(CAST(city AS BIGINT), 0, 100)"),
    ("clamp(CAST(city AS BIGINT) / 10, 0, 9)", "floor(CLAMP(CAST(city AS BIGINT) / 10, 0, 9))",
     "GROUP BY floor(clamp(CAST(city AS BIGINT) / 10, 0, 9))"),
])  # fmt: skip
def test_groups_computed_from_a_text_can_be_named_in_the_question(
    people: dp.Session, group: str, said: str, mended: str
) -> None:
    with pytest.raises(QueryRefused) as refused:
        people.preview(f"SELECT {group} AS g, COUNT(*) AS n FROM people GROUP BY 1", epsilon=1)
    assert said in refused.value.fix
    assert people.preview(f"SELECT COUNT(*) AS n FROM people {mended}", epsilon=1).groups
    with pytest.raises(QueryRefused) as plain:
        people.preview("SELECT city, COUNT(*) AS n FROM people GROUP BY city", epsilon=1)
    assert "in the question" not in plain.value.fix
