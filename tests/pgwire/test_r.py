"""R's driver of PostgreSQL, over a service that listens: looks around, asks, and is refused."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.depth import deep
from tests.pgwire.conftest import Wire

DRIVER = Path("/usr/lib/R/site-library/RPostgreSQL")
"""As Debian's r-cran-rpostgresql puts it."""


@deep  # test_conversation.py asks psql and psycopg, which speak by the same library
def test_r_looks_around_asks_and_is_refused(wire: Wire) -> None:
    script = shutil.which("Rscript")
    if script is None or not DRIVER.exists():
        pytest.skip("R and its driver of PostgreSQL are not installed")
    ran = subprocess.run(
        [script, "--vanilla", str(Path(__file__).with_name("ask.R")), str(wire.port)],
        env={**os.environ, "TOKEN": wire.running.tokens["ana"]}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert [line.split() for line in ran.stdout.splitlines()] == [
        ["table", "visits"],
        ["columns", "age", "county", "patient_id"],
        ["types", "character", "numeric", "numeric"],
        ["county", "A", "B", "C"],
        ["sound", "TRUE"],
        ["again", "TRUE"],
        ["refused", "TRUE"],
    ]
    assert ran.stderr.count("epsilon 0.5 charged") == 1
    assert wire.running.service.spent()["ana"][0]["spent"] == "0.5"
