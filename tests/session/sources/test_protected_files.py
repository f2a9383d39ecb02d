"""An answer never replaces the data or the ledger, by whichever name they are reached."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.depth import in_turn
from typer.testing import CliRunner

import discreet as dp
from discreet.cli.app import app
from discreet.errors import InvalidParameter
from discreet.session.sources import protected_files

ASKED = "SELECT COUNT(*) AS n FROM visits"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("made") / "hospital.db"
    with duckdb.connect(str(path)) as made:
        made.execute("CREATE TABLE visits AS SELECT 1 AS id, 31 AS age")
    return path.read_bytes()


@pytest.fixture
def place(tmp_path: Path, database: bytes) -> Path:
    table = pa.table({"id": [1, 2, 3], "age": [31, 47, 62]})
    pq.write_table(table, tmp_path / "visits.parquet")
    (tmp_path / "visits.csv").write_text("id,age\n1,31\n2,47\n")
    (tmp_path / "parts").mkdir()
    pq.write_table(table, tmp_path / "parts" / "one.parquet")
    (tmp_path / "hospital.db").write_bytes(database)
    return tmp_path


def opened(place: Path, source: str, ledger: str = "ledger.parquet") -> dp.Session:
    return dp.protect(
        str(place / source), table="visits", privacy_unit="row", budget=9, ledger=place / ledger
    )


def link(place: Path, name: str, to: str, hard: bool = False) -> Path:
    made = place / name
    (os.link if hard else os.symlink)(place / to, made)
    return made


@pytest.mark.parametrize(("source", "name"), [
    ("visits.parquet", "visits.parquet"), ("visits.csv", "visits.csv"), ("parts", "parts/one.parquet"),
    ("parts", "parts/more.parquet"), ("parts", "parts/below/more.parquet"), ("parts/*.parquet", "parts/more.parquet"),
    ("parts/o*.parquet", "parts/other.parquet"), ("visits.parquet", "ledger.parquet"),
    ("visits.parquet", "ledger.parquet-wal.csv"), ("visits.parquet", "./parts/../visits.parquet"),
])  # fmt: skip
def test_the_data_and_the_ledger_are_never_replaced(place: Path, source: str, name: str) -> None:
    (place / "parts" / "below").mkdir()
    before = {one: one.read_bytes() for one in place.rglob("*") if one.is_file()}
    with opened(place, source) as session:
        with pytest.raises(InvalidParameter, match=r"another (name|folder)"):
            session.write(ASKED, 1, place / name, replace=True)
        assert session.budget.spent == 0
    assert all(one.read_bytes() == data for one, data in before.items())


# A deep run makes each with both kinds of links.
@pytest.mark.parametrize(
    ("to", "hard"), in_turn(["visits.parquet", "hospital.db", "ledger.parquet"], [False, True])
)
def test_not_by_a_link_either(place: Path, to: str, hard: bool) -> None:
    source = "hospital.db" if to == "hospital.db" else "visits.parquet"
    with opened(place, source) as session:
        made = link(place, "answer.csv", to, hard)
        with pytest.raises(InvalidParameter, match="link"):
            session.write(ASKED, 1, made, replace=True)
        with session.mock() as mock, pytest.raises(InvalidParameter, match="link"):
            mock.write(ASKED, 1, made, replace=True)


def test_other_names_are_free(place: Path) -> None:
    for source, name in (("visits.parquet", "answer.parquet"), ("parts/o*.parquet", "parts/two.parquet"),
                         ("parts", "parts/answer.csv"), ("visits.csv", "visits.csv.parquet")):  # fmt: skip
        with opened(place, source, "l.db") as session:
            assert session.write(ASKED, 1, place / name, replace=True).rows == 1
        if (place / name).suffix == ".parquet":
            (place / name).unlink()  # it is no part of a table that is a folder


# A deep run asks for each ending with and without --mock.
@pytest.mark.parametrize(("ending", "mock"), in_turn(["json", "svg", "html", "csv"], [(), ("--mock",)]))
def test_the_command_line_neither(place: Path, ending: str, mock: tuple[str, ...]) -> None:
    made = link(place, f"answer.{ending}", "visits.parquet")
    before = made.read_bytes()
    arguments = ["query", ASKED, "-e", "1", "--source", str(place / "visits.parquet"), "--unit", "row", "--budget", "2",
                 "--ledger", str(place / "l.db"), "-o", str(made), *mock]  # fmt: skip
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert "is the data, or a link to it" in result.stderr
    assert made.read_bytes() == before


def test_a_link_to_something_else_is_replaced_and_what_it_led_to_stays(place: Path) -> None:
    (place / "other.txt").write_text("mine")
    made = link(place, "answer.json", "other.txt")
    arguments = ["query", ASKED, "-e", "1", "--source", str(place / "visits.parquet"), "--unit", "row", "--budget", "2",
                 "--ledger", str(place / "l.db"), "-o", str(made), "-q"]  # fmt: skip
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert (place / "other.txt").read_text() == "mine"
    assert not made.is_symlink()
    assert '"rows"' in made.read_text()


def test_a_session_that_does_not_look_is_caught(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protected_files.ProtectedFiles, "see_free", lambda self, path: None)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        test_the_data_and_the_ledger_are_never_replaced(place, "visits.parquet", "visits.parquet")
