"""From a file to the first answer: the way in holds once, a fault keeps the decisions, and nothing is overwritten."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from discreet.cli.wizard import policy_draft
from discreet.server.service import Service
from discreet.server.start import begin_service
from tests.server.conftest import FAST, Running, listening
from tests.server.visit import Visit

DECIDED = {"unit": "patient_id", "max_rows": "1", "epsilon": "2", "rule1": "bounds", "values1": "0, 120"}


def began(folder: Path) -> Service:
    rows = pa.table({"patient_id": range(500), "age": [at % 90 for at in range(500)], "county": ["A"] * 500})
    parquet.write_table(rows, folder / "visits.parquet")
    columns = [("patient_id", "INTEGER"), ("age", "INTEGER"), ("county", "TEXT")]
    draft = policy_draft("parquet:visits.parquet", {"visits": columns}, folder / "visits.toml")
    return begin_service(draft, FAST)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with listening(began(tmp_path)) as found:
        yield found


def test_from_the_file_to_the_first_answer(running: Running, tmp_path: Path) -> None:
    way, visit = f"/begin/{running.service.secret}", Visit(running)
    assert visit.get("/begin/x").status == 404
    visit.cookie = visit.get(way).headers["set-cookie"].partition(";")[0]
    assert visit.get(way).status == 404  # it held once
    page = visit.get("/steward/new").data.decode()
    assert '<option value="patient_id">patient_id (a guess, by its name)</option>' in page
    for name, example in (("max_rows", "3"), ("epsilon", "1")):
        assert re.search(rf'name="{name}" value="" placeholder="such as {example}"', page)
    assert 'value="0, 120"' in page
    assert "0.0, 120.0" not in page  # the file has types
    assert re.search(r"<th scope=\"row\">1</th><td class=\"right\">0.05</td><td class=\"right\">± 60<", page)
    nothing = visit.send("/steward/new", unit="", max_rows="", epsilon="", rule1="bounds", values1="0, 120")
    assert nothing.status == 422
    wrong = visit.send("/steward/new", **{**DECIDED, "rule2": "bounds", "values2": "A"})
    assert wrong.status == 422
    assert 'value="A"' in wrong.data.decode()
    assert not (tmp_path / "visits.toml").exists()
    for field, value, said in (
        ("epsilon", "-1", "It must be above zero"),
        ("epsilon", "1e9", "protects nobody"),
        ("max_rows", "0", "at least 1"),
        ("values1", "120, 0", "Give lo &lt; hi"),
    ):
        wrong = visit.send("/steward/new", **{**DECIDED, field: value})
        assert (wrong.status, said in wrong.data.decode()) == (422, True), field
    unfit = visit.send(
        "/steward/new", **{**DECIDED, "rule2": "bounds", "values2": "0, 1"}
    )  # county is a text
    assert unfit.status == 422
    assert "earlier charges" not in unfit.data.decode()
    assert not (tmp_path / "visits.toml").exists()
    made = visit.send("/steward/new", **DECIDED)
    assert made.headers["location"] == "/data/visits/form"
    assert visit.get("/steward/new").status == 404
    visit.cookie = made.headers["set-cookie"].partition(";")[0]
    asked = {"query": "SELECT AVG(age) AS age FROM visits", "epsilon": "0.1"}
    answer = visit.send("/data/visits/ask", **asked).headers["location"]
    assert b"age" in visit.get(answer).data
    assert visit.get("/data/visits/answers").data.count(b"see the answer") == 1


def test_a_file_that_is_there_is_left_alone(running: Running, tmp_path: Path) -> None:
    visit = Visit(running)
    visit.cookie = visit.get(f"/begin/{running.service.secret}").headers["set-cookie"].partition(";")[0]
    (tmp_path / "visits.toml").write_text("mine")
    assert visit.send("/steward/new", **DECIDED).status == 422
    assert (tmp_path / "visits.toml").read_text() == "mine"


def test_of_a_file_without_types_it_says_that_whole_bounds_make_whole_numbers(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("patient_id,lat\n1,52.5\n")
    draft = policy_draft("csv:visits.csv", {"visits": [("patient_id", ""), ("lat", "")]}, tmp_path / "v.toml")
    with listening(begin_service(draft, FAST)) as running:
        visit = Visit(running)
        visit.cookie = visit.get(f"/begin/{running.service.secret}").headers["set-cookie"].partition(";")[0]
        page = visit.get("/steward/new").data.decode()
    assert "write <code>0.0, 120.0</code> where values have fractions" in page
    assert 'value="-90.0, 90.0"' in page


def test_dates_begin_without_bounds(tmp_path: Path) -> None:
    """A name or a type says that a column holds dates, and never which; invented ends would clamp all others."""
    columns = [("patient_id", "INTEGER"), ("joined", "DATE"), ("seen", "TIMESTAMP")]
    draft = policy_draft("parquet:v.parquet", {"v": columns}, tmp_path / "v.toml")
    untyped = policy_draft("csv:v.csv", {"v": [("start_date", "")]}, tmp_path / "v.toml")
    for column in (*draft.columns[1:], *untyped.columns):
        assert (column.rule, column.values) == ("", "")
        assert column.example.startswith("2024-01-01")
        assert column.why.endswith("it can be counted and filtered only")
    with listening(begin_service(draft, FAST)) as running:
        visit = Visit(running)
        visit.cookie = visit.get(f"/begin/{running.service.secret}").headers["set-cookie"].partition(";")[0]
        page = visit.get("/steward/new").data.decode()
    assert 'value="" placeholder="such as 2024-01-01, 2024-12-31"' in page
    assert not re.search(r'value="2024', page)
