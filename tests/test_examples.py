"""The examples run: on invented files of the same columns always, in a deep run on the real ones where they are."""

from __future__ import annotations

import csv
import os
import random
import re
import subprocess
from pathlib import Path

import pytest

from tests.depth import deep
from tests.test_readme import ROOT
from tests.warm import programs

REAL = Path(os.environ.get("DISCREET_DATA", ROOT.parent / "shared" / "data"))


def _run(folder: Path) -> str:
    command = [str(programs() / "python"), "examples/questions.py", str(folder)]
    env = {**os.environ, "PYTHONUTF8": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return done.stdout


def _check(printed: str) -> None:
    """At least twenty questions, and beside each its SQL, an answer with an interval, and what that says."""
    parts = re.split(r"^\d+\. (?=\S)", printed, flags=re.MULTILINE)[1:]
    assert len(parts) >= 20
    for part in parts:
        assert part.partition("\n")[0].endswith("?")
        assert "    SELECT " in part
        assert re.search(r"± [\d.]|\[-?[\d.,]+, -?[\d.,]+\]", part), part
        assert "=> " in part
    assert printed.count("not covered by the intervals:") == 2
    assert printed.count("budget: ") == 2


def test_the_questions_are_answered_on_invented_files(tmp_path: Path) -> None:
    rng = random.Random(3)
    header = ["X", "state", "puma", "sex", "age", "educ", "income", "latino", "black", "asian", "married"]
    people = [
        [at, 6, rng.randint(601, 681) * 100, rng.randint(0, 1), rng.randint(18, 93), rng.randint(1, 16),
         rng.randint(0, 99) * 1000, *(rng.randint(0, 1) for _ in range(4))]
        for at in range(2000)
    ]  # fmt: skip
    with (tmp_path / "PUMS5extract10000.csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\r").writerows(
            [header, *people]
        )  # old-Mac line ends, as the real file has
    header = ["VisitorId", "Time entered", "Time spent (minutes)", "Money spent (euros)", "Day"]
    visits = [
        [rng.randint(1, 600), f"{rng.randint(1, 12)}:{rng.randint(10, 59)}{rng.choice(['AM', 'PM'])}",
         rng.randint(5, 90), rng.randint(5, 55), rng.randint(1, 7)]
        for _ in range(2000)
    ]  # fmt: skip
    with (tmp_path / "restaurants_week_data.csv").open("w", newline="") as file:
        csv.writer(file).writerows([header, *visits])
    _check(_run(tmp_path))
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [
        ".csv",
        ".csv",
    ]  # no ledger is left beside them


@deep  # the test above asks the same questions of invented files
@pytest.mark.skipif(
    not (REAL / "PUMS5extract10000.csv").is_file(),
    reason="the real files are not here; DISCREET_DATA names their folder",
)
def test_the_questions_are_answered_on_the_real_files() -> None:
    _check(_run(REAL))


def test_the_shop_is_asked_everything() -> None:
    done = subprocess.run(
        [str(programs() / "python"), "examples/orders.py"],
        cwd=ROOT,
        env={**os.environ, "PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("?\n") >= 5
    assert done.stdout.count("± covers the noise at 95 %") == 6
    assert "delta 1e-07" in done.stdout
    assert "budget: epsilon 0 left of 6 (6 spent), delta 9e-07 left of 1e-06" in done.stdout
