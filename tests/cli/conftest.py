"""A folder with invented visits and their policy, and the command line to ask about them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from typer import testing
from typer.main import get_command
from typer.testing import CliRunner, Result

from discreet.cli.app import app

Run: TypeAlias = Callable[..., Result]

# The commands are made from the signatures of their functions once, not at each call, where that took half of the time.
vars(testing)["_get_command"] = cache(get_command)

POLICY = """\
[budget]
epsilon = 1
[source]
url = "parquet:visits.parquet"
[tables.visits]
privacy_unit = "patient_id"
max_rows = 3
[tables.visits.columns]
age = { bounds = [0, 120] }
county = { keys = ["A", "B", "C"] }
"""


def make_visits(seed: int, rows: int = 3000) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "patient_id": rng.integers(0, 1000, rows),
            "age": rng.integers(0, 100, rows),
            "county": np.array(["A", "B", "C"])[rng.integers(0, 3, rows)],
            "cost": rng.lognormal(7, 1, rows),
        }
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    parquet.write_table(make_visits(1), tmp_path / "visits.parquet")
    (tmp_path / "policy.toml").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DISCREET_POLICY", raising=False)
    return tmp_path


@pytest.fixture
def run() -> Run:
    def call(*args: str, text: str | None = None) -> Result:
        return CliRunner().invoke(app, list(args), input=text, prog_name="discreet")

    return call
