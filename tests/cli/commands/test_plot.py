"""`discreet plot`, `gallery` and `experiment` do what they say, and say what is wrong."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Run

from discreet.plots import FIGURES


def test_the_names_are_listed_and_one_is_drawn(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    listed = run("plot")
    assert (listed.exit_code, listed.stderr) == (0, "")
    assert [line.split()[0] for line in listed.stdout.splitlines()[2:]] == list(FIGURES)
    assert [each["name"] for each in json.loads(run("plot", "--json").stdout)] == list(FIGURES)
    drawn = run("plot", "neighbours", "-o", "a.png", "--column")
    assert (drawn.exit_code, drawn.stdout, drawn.stderr) == (0, "", "wrote a.png\n")
    assert Path("a.png").read_bytes().startswith(b"\x89PNG")
    numbers = json.loads(run("plot", "densities", "--json").stdout)["numbers"]
    assert numbers[3] == {"what": "peak at b = 7", "value": "0.0714"}


@pytest.mark.parametrize(
    "args",
    [["plot", "nothing", "-o", "a.svg"], ["plot", "densities"], ["plot", "densities", "-o", "a.gif"],
     ["plot", "densities", "-o", "no/such/folder.svg"], ["plot", "-o", "a.svg"],
     ["plot", "densities", "--json", "-o", "a.svg"], ["gallery", "no/such/folder"], ["gallery"],
     ["experiment", "heights", "--people", "0"], ["experiment", "nest", "--cap", "0"]],
)  # fmt: skip
def test_bad_usage_is_exit_code_2(
    run: Run, args: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr
    assert not list(tmp_path.iterdir())


def test_an_answer_is_written_as_a_picture_and_nothing_is_charged_for_what_cannot_be(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = "SELECT county, COUNT(*) AS n FROM visits GROUP BY county"
    done = run("query", count, "-e", "0.25", "-o", "n.svg")
    assert (done.exit_code, done.stdout) == (0, "")
    assert Path("n.svg").read_text("utf-8").startswith("<svg")
    monkeypatch.setitem(sys.modules, "altair", None)
    missing = run("query", count, "-e", "0.5", "-o", "m.svg")
    assert missing.exit_code == 1
    assert "discreet[plots]" in missing.stderr
    assert json.loads(run("budget", "--json").stdout)["spent"] == "0.25"


def test_the_mean_is_released_from_the_command_line(run: Run, tmp_path: Path) -> None:
    result = run("experiment", "mean", "--rounds", "50")
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == 2 + 70 + 1
    cases = json.loads(run("experiment", "mean", "--rounds", "50", "--private-n", "--json").stdout)["cases"]
    assert {case["epsilon"] for case in cases} == {1, 0.32, 0.1, 0.03, 0.01}
    file = tmp_path / "people.csv"
    file.write_text("id,educ\r" + "\r".join(f"{at},{at % 16 + 1}" for at in range(1500)) + "\r1500,\r")
    args = ("experiment", "mean", "--rounds", "20", "--data", str(file))
    assert json.loads(run(*args, "--json").stdout)["cases"][0]["radius"] > 0
    assert run(*args, "--column", "age").exit_code == 2
    assert run(*args, "--bounds", "1").exit_code == 2


def test_triangles_print_the_errors_of_four_graphs(run: Run) -> None:
    pytest.importorskip("networkx")
    result = run("experiment", "triangles")
    assert (result.exit_code, result.stderr) == (0, "")
    club = next(line for line in result.stdout.splitlines() if "club" in line)
    assert club.split()[2:] == ["78", "45", "10", "32", "22.2", "60.0", "60.0", "18.0", "16.0"]
    graphs = json.loads(run("experiment", "triangles", "--json").stdout)["graphs"]
    assert [one["triangles"] for one in graphs] == [45, 467, 3, 0]


def test_the_heights_print_their_curve(run: Run) -> None:
    result = run("experiment", "heights", "--rounds", "20")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert len(lines) == 2 + 25 + 1
    assert lines[2].startswith("0.001 ")
    assert lines[-2].startswith("3 ")
    assert all(line.rstrip()[-1] in "abc" for line in lines[2:-1])
    run_json = json.loads(run("experiment", "heights", "--rounds", "20", "--json").stdout)
    assert len(run_json["points"]) == 75
    # 1,500 errors: .0505 +- .001, six deviations.
    assert run_json["ratio"] == pytest.approx(0.0505, abs=0.006)


def test_the_attack_on_a_nest_says_how_often_it_was_right(run: Run) -> None:
    result = run("experiment", "nest", "--side", "20")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0] == "399 cells, by a coin each: a nest that one watcher saw 4 times, or nothing"
    assert "in the long run 61.1 %, where epsilon 0.5 allows 62.2 %" in lines[1]
    assert lines[-1].startswith("the wood where 500 watchers were: found, ")
    hidden = run("experiment", "nest", "--side", "20", "--epsilon", "0.001")
    assert hidden.stdout.splitlines()[-1] == "the wood where 500 watchers were: not told from noise"
    found = json.loads(run("experiment", "nest", "--side", "20", "--cap", "1", "--json").stdout)
    assert found["expected"] == pytest.approx(found["most"])
    assert len(found["wood"]) == 3
