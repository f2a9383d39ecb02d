"""A stream that was killed at any point goes on with the same noise and the same counts."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.depth import examples
from tests.test_readme import ROOT
from tests.warm import programs

KILLS = examples(18, 500)


def run(folder: Path, kills: int, fault: str = "none") -> dict[str, Any]:
    folder.mkdir()
    done = subprocess.run(
        [programs() / "python", str(Path(__file__).with_name("kills.py")), str(folder), str(kills), fault],
        capture_output=True, text=True, timeout=1_500, cwd=ROOT, check=True,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Streams that nobody kills."""
    return run(tmp_path_factory.mktemp("kills") / "whole", 0)


def test_a_killed_stream_shows_the_same_numbers_as_one_that_was_not(
    whole: dict[str, Any], tmp_path: Path
) -> None:
    # Of 16 periods and two groups: a count; a count and a mean; a count and a sum.
    assert (whole["charges"], whole["settled"], len(whole["lines"])) == (3, 3, 32 * 5)
    killed = run(tmp_path / "killed", KILLS)
    assert killed["deaths"] == KILLS
    assert killed["redrawn"] == 0, "noise was drawn after a number was shown"
    assert killed["lines"] == whole["lines"]
    assert killed["settled"] == killed["streams"]
    # A kill between charge and settlement stays charged; one after the first line costs nothing.
    assert killed["charges"] <= killed["streams"] + killed["deaths"] - killed["late"]
    # At least every second one is late on average: of 36 fewer than two are, with a chance below 1e-9.
    assert killed["late"] >= KILLS // 18


@pytest.mark.parametrize("fault", ["redraw", "twice"])
def test_careless_streams_are_found(fault: str, whole: dict[str, Any], tmp_path: Path) -> None:
    careless = run(tmp_path / "careless", 6, fault)
    assert careless["redrawn"] or careless["lines"] != whole["lines"]
