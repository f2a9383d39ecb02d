"""`discreet graph` counts a file of edges, once for each question, and writes it down in every form."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import pytest
from tests.cli.conftest import Run

GIVEN = ("--vertices", "1..34", "--budget", "900")


@pytest.fixture
def club(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    pairs = "".join(f"{one + 1},{other + 1}\n" for one, other in nx.karate_club_graph().edges())
    Path("club.csv").write_text("from,to\n" + pairs)
    return "club.csv"


def test_an_answer_is_charged_once(club: str, run: Run) -> None:
    asked = ("graph", club, "--count", "triangles", "-e", "800", "--method", "ladder", *GIVEN)
    first = run(*asked, "--json")
    assert first.exit_code == 0, first.stderr
    found = json.loads(first.stdout)
    assert found["rows"] == [{"triangles": 45.0, "triangles_low": 45.0, "triangles_high": 45.0}]
    assert "hides one edge" in first.stderr
    again = run(*asked)
    assert "45" in again.stdout
    assert "100 left of 900" in again.stderr
    assert run("graph", club, "--count", "edges", "-e", "200", *GIVEN).exit_code == 3


def test_files_of_all_kinds(club: str, run: Run) -> None:
    for name in ("degrees.svg", "degrees.csv", "degrees.json", "degrees.parquet"):
        done = run("graph", club, "--count", "degrees", "-e", "400", "--max-degree", "17", *GIVEN, "-o", name)
        assert done.exit_code == 0, done.stderr
        assert Path(name).stat().st_size
        assert f"wrote {name}" in done.stderr
    assert Path("degrees.csv").read_text().splitlines()[3].startswith("2,11")
    over = run("graph", club, "--count", "edges", "-e", "1", *GIVEN, "-o", "club.csv")
    assert over.exit_code == 2
    assert "is the data" in over.stderr


def test_previews_are_free(club: str, run: Run) -> None:
    asked = ("graph", club, "--count", "triangles", "-e", "1", *GIVEN, "--preview")
    seen = json.loads(run(*asked, "--json").stdout)
    assert (seen["best"], set(seen["methods"])) == ("global", {"global", "ladder", "smooth"})
    assert "ladder" in run(*asked).stdout
    assert "(1 spent)" in run("graph", club, "--count", "edges", "-e", "1", *GIVEN).stderr


def test_a_delta_is_granted_shown_and_spent(club: str, run: Run) -> None:
    asked = ("graph", club, "--count", "triangles", "-e", "4", "--delta", "1e-6", "--width", "10", *GIVEN)
    refused = run(*asked, "--method", "smooth-laplace")
    assert refused.exit_code == 3
    assert "0 left" in refused.stderr
    granted = (*asked, "--budget-delta", "1e-5")
    seen = json.loads(run(*granted, "--preview", "--json").stdout)
    assert seen["deltas"] == {"smooth-laplace": 1e-6}
    assert "1e-06" in run(*granted, "--preview").stdout
    answer = run(*granted, "--method", "smooth-laplace", "--json")
    assert json.loads(answer.stdout)["delta"] == "0.000001"
    assert "delta 9e-06 left of 1e-05" in answer.stderr


def test_the_engine_counts(club: str, run: Run) -> None:
    found = run("graph", club, "--count", "edges", "-e", "400", *GIVEN, "--in-engine", "--json")
    assert json.loads(found.stdout)["rows"][0]["edges"] == 78
    hidden = ("--hide", "vertex", "--max-degree", "17", "--vertices", "50", "--budget", "9")
    refused = run("graph", club, "--count", "edges", "-e", "1", *hidden, "--in-engine")
    assert (refused.exit_code, "hidden vertices" in refused.stderr) == (2, True)


def test_hidden_vertices_and_named_ones(club: str, run: Run) -> None:
    hidden = ("--hide", "vertex", "--max-degree", "17", "--vertices", "50", "--budget", "9000")
    asked = run("graph", club, "--count", "edges", "-e", "4000", *hidden, "--json", "--ledger", "other.db")
    assert json.loads(asked.stdout)["rows"][0]["edges"] == 78
    Path("some.txt").write_text("1\n2\n3\n")
    named = ("--vertices", "some.txt", "--budget", "900", "--ledger", "third.db", "--ends", "to,from")
    found = run("graph", club, "--count", "edges", "-e", "400", *named, "--json")
    assert json.loads(found.stdout)["rows"][0]["edges"] == 3


def test_another_unit_on_the_same_ledger_is_refused_with_the_option_that_names_a_new_one(
    club: str, run: Run
) -> None:
    assert run("graph", club, "--count", "edges", "-e", "1", *GIVEN).exit_code == 0
    hidden = ("--hide", "vertex", "--max-degree", "17", "--vertices", "50", "--budget", "9")
    refused = run("graph", club, "--count", "edges", "-e", "1", *hidden)
    assert refused.exit_code == 2
    said = " ".join(refused.stderr.split())
    assert "without a policy --ledger, or the argument ledger in Python)" in said


@pytest.mark.parametrize(
    "wrong",
    [("--vertices", "1..34"), ("--vertices", "nobody.txt", "--budget", "1"), ("--budget", "1"),
     ("--vertices", "9", "--budget", "1", "--ends", "from"), ("--vertices", "9", "--budget", "1", "--ends", "a,b")],
)  # fmt: skip
def test_bad_usage(club: str, run: Run, wrong: tuple[str, ...]) -> None:
    assert run("graph", club, "--count", "edges", "-e", "1", *wrong).exit_code == 2
    assert run("graph", "none.csv", "--count", "edges", "-e", "1", *GIVEN).exit_code == 2


def test_missing_vertices_name_their_option(club: str, run: Run) -> None:
    refused = run("graph", club, "--count", "edges", "-e", "1", "--budget", "1")
    assert (refused.exit_code, "Write --vertices 34" in refused.stderr) == (2, True)


def test_a_range_of_vertices_in_the_wrong_order_is_refused_in_the_words_of_the_option(
    club: str, run: Run
) -> None:
    refused = run("graph", club, "--count", "edges", "-e", "1", "--budget", "1", "--vertices", "34..1")
    assert (refused.exit_code, "write the least name first, 1..34" in " ".join(refused.stderr.split())) == (
        2,
        True,
    )


@pytest.mark.parametrize(
    "wrong", [("--vertices", "0"), ("--hide", "vertex"), ("--hide", "people"), ("--ends", "from,nobody")]
)
def test_a_refusal_says_that_nothing_was_charged(club: str, run: Run, wrong: tuple[str, str]) -> None:
    done = run("graph", club, "--count", "edges", "-e", "1", *GIVEN, *wrong)
    assert done.exit_code == 2
    assert "charged: nothing" in done.stderr


def test_vertices_beyond_those_declared_are_named(club: str, run: Run) -> None:
    asked = ("graph", club, "--count", "edges", "-e", "1", "--budget", "900")
    few = run(*asked, "--vertices", "3")
    assert "not covered: vertices beyond the 3 declared" in few.stderr
    named = run(*asked, "--vertices", "1..3")
    assert (
        "not covered: edges of vertices other than the 3 that were named, which are dropped" in named.stderr
    )
