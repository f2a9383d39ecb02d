"""`discreet experiment personal` prints the errors of a count of people who allow different epsilons."""

from __future__ import annotations

import json

import pytest
from tests.cli.conftest import Run


def test_the_least_epsilon_and_sampling(run: Run) -> None:
    made = json.loads(run("experiment", "personal", "--json").stdout)
    assert made["people"] == 1000
    assert [round(error, 2) for error in made["rms"].values()] == [14.14, 5.22, 11.80]
    shown = run("experiment", "personal").stdout
    assert "5.22" in next(line for line in shown.splitlines() if "least" in line and "0.5" in line)


def test_people_of_one_epsilon_need_no_sampling(run: Run) -> None:
    made = json.loads(run("experiment", "personal", "--people", "9:1", "--people", "3:1", "--json").stdout)
    assert {name: round(error, 4) for name, error in made["rms"].items()} == {"the least epsilon": 1.4142}


@pytest.mark.parametrize(
    "wrong", ["400:many", "9" * 5000 + ":1", "3", "x:1", "-3:1", "0:1", "3:0", "3:x", "9999999999999:1"]
)
def test_bad_usage(wrong: str, run: Run) -> None:
    assert run("experiment", "personal", "--people", wrong).exit_code == 2
