"""`discreet pate` prints accuracy against epsilon."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run

pytest.importorskip("sklearn")


def test_the_table_and_the_picture(tmp_path: Path, run: Run) -> None:
    picture = tmp_path / "pate.svg"
    done = run("pate", "--teachers", "30", "--gamma", "0.05", "--gamma", "5", "-o", str(picture))
    assert done.exit_code == 0, done.stderr
    head, noisy, clear, end, runs = done.stdout.splitlines()
    assert "epsilon at delta 1e-5" in head
    assert "5.30" in noisy
    assert "true labels" in end
    assert "one run" in runs
    assert picture.read_text()[:4] == "<svg"
    assert float(clear.split()[-2].rstrip("%")) > 70  # thirty teachers of forty images, and hardly any noise


def test_json_and_bad_usage(run: Run) -> None:
    found = json.loads(run("pate", "--teachers", "5", "--labels", "20", "--gamma", "0.1", "--json").stdout)
    assert [point["pure"] for point in found["points"]] == [4]
    for wrong in (("--labels", "301"), ("--gamma", "x"), ("--delta", "2"), ("--gamma", "0")):
        assert run("pate", *wrong).exit_code == 2
    for option, least in (("--delta", "0"), ("--delta", "2"), ("--gamma", "-1")):
        said = run("pate", "--account", option, least).stderr
        assert f"error: {option} must be above" in said
        assert f"fix: Give {option} " in said
        assert "queries" not in said


def test_the_account_asks_no_teacher(run: Run) -> None:
    """The losses of Papernot et al. 2017, section 3."""
    made = run("pate", "--account", "--gamma", "0.05", "--labels", "1000")
    assert made.stdout.splitlines()[1].split() == ["0.05", "20.7565", "100"]
    few = json.loads(run("pate", "--account", "--gamma", "0.05", "--json").stdout)
    assert round(few["points"][0]["epsilon"], 2) == 5.30
    for wrong in (
        ("--epsilon", "1"),
        ("-o", "pate.svg"),
        ("--gamma", "0"),
        ("--delta", "0"),
        ("--gamma", "x"),
    ):
        assert run("pate", "--account", *wrong).exit_code == 2
