"""`discreet plan` prints the numbers of the textbook, and refuses what does not belong together."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from tests.cli.conftest import Run


def test_counts(run: Run) -> None:
    said = run("plan", "--counts", "3143", "--epsilon", "0.1", "--neighbours", "replace").stdout
    for number in ("expected error 20.00", "rms 28.28", "expected error 172.61", "bound 181.06"):
        assert number in said
    found = json.loads(
        run("plan", "--counts", "3143", "-e", "0.1", "--neighbours", "replace", "--json").stdout
    )
    assert (found["scale"], found["one"]["expected"]) == (20, 20)
    assert (round(found["largest"]["expected"], 2), round(found["largest"]["bound"], 2)) == (172.61, 181.06)
    half = json.loads(run("plan", "--counts", "3143", "-e", "0.1", "--json").stdout)
    assert half["largest"]["expected"] == pytest.approx(found["largest"]["expected"] / 2)
    back = json.loads(
        run("plan", "--counts", "3143", "--error", "172.61", "--neighbours", "replace_one", "--json").stdout
    )
    assert back["epsilon"] == pytest.approx(0.1, rel=1e-4)


def test_stream(run: Run, tmp_path: Path) -> None:
    picture = tmp_path / "errors.svg"
    answer = run("plan", "--stream", "365", "--epsilon", "1", "-o", str(picture))
    assert "Take tree: a tree of counts, averaged, 2 levels of 18 branches." in answer.stdout
    assert answer.stderr == f"wrote {picture}\n"
    assert picture.stat().st_size > 1000
    found = json.loads(run("plan", "--stream", "30", "-e", "1", "--max-rows", "2", "--json").stdout)
    assert found["best"] == "period"
    errors = {one["name"]: round(one["rms"] / 2, 2) for one in found["methods"]}
    assert (errors["period"], errors["even"], round(errors["fraction"])) == (5.57, 42.43, 126)
    assert round(found["binary_tree"] / 2, 1) == 11.2
    published = run("plan", "--stream", "30", "-e", "1").stdout
    rms = {line.split()[0]: line.split()[2] for line in published.splitlines()[2:8]}
    assert rms == {
        "period": "5.57", "tree": "5.57", "doubling": "5.57", "root": "11.8", "even": "42.4", "fraction": "126",
    }  # fmt: skip
    assert "rms 11.2." in published
    long = run("plan", "--stream", "2048", "-e", "1").stdout
    assert [words in long for words in ("rms 39.8.", "period    Laplace           45.3")] == [True, True]
    assert "binary" not in run("plan", "--stream", "30", "-e", "1", "--window", "7").stdout
    without = run("plan", "--stream", "30")
    assert (without.exit_code, "--stream needs an epsilon, such as --epsilon 1" in without.stderr) == (
        2,
        True,
    )
    assert run("plan", "--counts", "30", "-e", "1", "--max-rows", "2").exit_code == 2


@pytest.mark.parametrize("window", [[], ["--window", "7"]])
def test_stream_names_no_option_that_plan_lacks(window: list[str], run: Run) -> None:
    said = run("plan", "--stream", "30", "-e", "1", *window).stdout
    assert "`discreet stream`" in said.splitlines()[-1]
    options = run("plan", "--help").stdout
    own = said.replace(said.splitlines()[-1], "")
    assert "--periods" not in options
    assert all(option in options for option in re.findall(r"--[a-z]+", own))


def test_proportion(run: Run) -> None:
    said = run("plan", "--proportion", "--error", "0.01", "--epsilon", "1").stdout
    assert "n = 141 (at least 142 people)" in said
    assert "n = 9,207" in said
    said = run("plan", "--proportion", "--error", "0.01", "--epsilon", "0.1").stdout
    assert "n = 1,414" in said
    assert "n = 999,167" in said
    found = json.loads(run("plan", "--proportion", "--error", "0.01", "--epsilon", "1", "--json").stdout)
    assert (found["error"], found["epsilon"], found["laplace"]["least"]) == (0.01, 1, 142)
    useless = run("plan", "--proportion", "--people", "1000", "--epsilon", "1/1000").stdout
    assert "rms error 1.4142" in useless
    assert "Useless" in useless
    assert json.loads(run("plan", "--proportion", "--people", "9207", "--error", "0.01", "--json").stdout)


def test_mean(run: Run) -> None:
    said = run("plan", "--mean", "1:16", "--epsilon", "0.1", "--error", "0.1").stdout
    assert "2,122 people" in said
    found = json.loads(run("plan", "--mean", "1:16", "--people", "2122", "--error", "0.1", "--json").stdout)
    assert found["epsilon"] == pytest.approx(0.1, rel=1e-3)


def test_demands(run: Run) -> None:
    said = run("plan", "--sd", "5", "--tail", "20:0.001", "--ceiling", "1").stdout
    assert "epsilon at least 0.34539; the tail decides" in said
    assert said.endswith("\nfeasible under the ceiling of epsilon 1\n")
    said = run("plan", "--sd", "5", "--tail", "20:0.001", "--ceiling", "0.3").stdout
    assert "not feasible under the ceiling of epsilon 0.3\nat that ceiling, allow errors of 23.0259" in said
    found = json.loads(run("plan", "--sd", "5", "--tail", "20:0.001", "--ceiling", "1", "--json").stdout)
    assert (found["binding"], found["feasible"], round(found["epsilon"], 4)) == ("tail", True, 0.3454)


@pytest.mark.parametrize(
    "args",
    [
        "",
        "--counts 3 --proportion",
        "--counts 3",
        "--counts 0 --epsilon 1",
        "--counts 3 --epsilon 1 --error 2",
        "--counts 3 --epsilon 0",
        "--counts 3 --epsilon 1 --neighbours both",
        "--proportion --error 0.1",
        "--proportion --error nought --epsilon 1",
        "--proportion --error 0.1 --epsilon 1 --ceiling 1",
        "--mean 5 --epsilon 1 --error 1",
        "--mean 5:1 --epsilon 1 --error 1",
        "--sd 5 --people 3",
        "--tail 20 --ceiling 1",
        "--tail 20:2",
        "--sd 5 --tail 20:0.001 --ceiling 0",
    ],
)
def test_bad_usage(run: Run, args: str) -> None:
    result = run("plan", *args.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr


def test_bounds_of_a_mean_are_asked_for_in_the_words_of_the_option(run: Run) -> None:
    for bounds, said in (("120:0", "write the least value first"), ("a:b", "write two numbers")):
        done = run("plan", "--mean", bounds, "--people", "100", "--epsilon", "1")
        assert f'--mean {bounds}: {said}, like "0:120"' in " ".join(done.stderr.split())


def test_the_page_shows_what_is_printed(run: Run) -> None:
    page = (Path(__file__).parents[3] / "docs" / "planning.md").read_text("utf-8")
    commands = re.findall(r"^discreet (plan .*)$", page, re.MULTILINE)
    printed = "".join(run(*shlex.split(command)).stdout for command in commands)
    shown = [
        line for block in re.findall(r"```text\n(.*?)```", page, re.DOTALL) for line in block.splitlines()
    ]
    assert len(shown) >= 10
    for line in shown:
        assert line + "\n" in printed
