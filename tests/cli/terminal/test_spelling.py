"""The command line speaks of options where Python speaks of parameters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run

from discreet.cli import failure
from discreet.cli.app import command
from discreet.cli.commands import COMMANDS
from discreet.cli.terminal.spelling import NAMES, options_for
from discreet.errors import InvalidParameter, PolicyError, QueryRefused


def options() -> set[str]:
    found: set[str] = set()

    def walk(given: Any) -> None:
        for one in getattr(given, "commands", {}).values():
            walk(one)
        for parameter in given.params:
            found.update(parameter.opts)

    for name in COMMANDS:
        walk(command(name))
    return found


def test_each_name_is_an_option_of_a_command() -> None:
    assert {f"--{name.replace('_', '-')}" for name in NAMES} <= options()


@pytest.mark.parametrize(
    ("python", "words"),
    [
        ("Write area=(4.3, 51.5, 6.0, 52.7).", "Write --area 4.3,51.5,6.0,52.7."),
        ("Write delta=1e-9.", "Write --delta 1e-9."),
        ("Write where=\"bird = 'owl'\".", "Write --where \"bird = 'owl'\"."),
        ("Write like= with one of a, b.", "Write --like with one of a, b."),
        ("Leave in_engine out.", "Leave --in-engine out."),
        ("max_degree is not a positive int.", "--max-degree is not a positive int."),
        ("A delta above 0 buys less noise.", "A delta above 0 buys less noise."),
        ("Write --epsilon 0.1.", "Write --epsilon 0.1."),
        ("Write session.budget=3 or x.delta.", "Write session.budget=3 or x.delta."),
        ("Write keys = [1, 2] in the policy.", "Write keys = [1, 2] in the policy."),
    ],
)
def test_sentences(python: str, words: str) -> None:
    assert options_for(python) == words
    assert options_for(words) == words


def test_an_error_is_spelled_in_words_and_as_json() -> None:
    error = InvalidParameter("max_degree is missing.", "Write max_degree=20.")
    assert failure.words(error) == [("error", "--max-degree is missing."), ("fix", "Write --max-degree 20.")]
    assert failure.document(error)["fix"] == "Write --max-degree 20."
    assert str(error) == "max_degree is missing. Write max_degree=20."


def test_keys_of_a_policy_and_words_of_a_question_stay() -> None:
    for kind in (PolicyError, QueryRefused):
        assert failure.words(kind("max_rows is 3.", "Write like=a."))[0] == ("error", "max_rows is 3.")
    assert failure.words(OSError("delta is gone")) == [("error", "delta is gone")]


def test_a_command_speaks_so(folder: Path, run: Run) -> None:
    refused = run("map", "visits", "--cell", "3km", "--area", "6,51,4,53", "-e", "1")
    assert refused.exit_code == 2
    assert "fix: Write --area 4.0,51.0,6.0,53.0" in refused.stderr
    assert "(" not in refused.stderr
    told = run("map", "visits", "--cell", "3km", "--area", "6,51,4", "-e", "1", "--json")
    assert json.loads(told.stderr)["fix"] == "Write --area 4.3,51.5,6.0,52.7."
    (folder / "edges.csv").write_text("a,b\n1,2\n")
    hidden = run("graph", "edges.csv", "--count", "edges", "-e", "1", "--budget", "3", "--hide", "vertex",
                 "--vertices", "5")  # fmt: skip
    assert hidden.exit_code == 2
    assert "--max-degree is missing" in hidden.stderr
    assert "fix: Write --max-degree 20" in hidden.stderr
    assert "max_degree" not in hidden.stderr


DROWNED = "SELECT county, COUNT(*) AS max_rows FROM visits GROUP BY county"


@pytest.mark.parametrize("command", [("preview",), ("query", "--preview")])
def test_the_advice_of_a_preview_names_options_and_a_column_stays(
    command: tuple[str, ...], folder: Path, run: Run
) -> None:
    said = run(*command, DROWNED, "--epsilon", "0.001").stdout
    assert "fewer rows of a unit (--max-rows)" in said
    assert "  max_rows  ± " in said


def test_the_warnings_of_an_answer_name_options(folder: Path, run: Run) -> None:
    joined = "SELECT COUNT(*) AS n FROM visits AS v JOIN visits AS w "
    joined += "ON v.patient_id = w.patient_id AND v.age <= w.age"
    said = run("query", joined, "--epsilon", "0.1").stderr
    assert "ask with --max-rows 9, or" in said
