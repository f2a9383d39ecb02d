"""Java's own driver, over a service that listens: looks around, asks, prepares, is refused, and fetches by rows."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.pgwire.conftest import Wire

JAR = Path("/usr/share/java/postgresql.jar")
"""As Debian's libpostgresql-jdbc-java puts it."""


def test_jdbc_looks_around_asks_and_is_refused(wire: Wire) -> None:
    java = shutil.which("java")
    if java is None or shutil.which("javac") is None or not JAR.exists():
        pytest.skip("a JDK and PostgreSQL's JDBC driver are not installed")
    place = Path(__file__).with_name("Ask.java")
    ran = subprocess.run(
        [java, "-XX:TieredStopAtLevel=1", "-cp", str(JAR), str(place), str(wire.port)],
        env={**os.environ, "TOKEN": wire.running.tokens["ana"]}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    said = ran.stdout.splitlines()
    assert said[:4] == ["table visits", "column patient_id int8", "column age int8", "column county text"]
    assert said[4:7] == ["type county text", "type n int8", "type a float8"]
    rows = [line.split() for line in said[7:10]]
    assert [(row[0], row[1]) for row in rows] == [("row", "A"), ("row", "B"), ("row", "C")]
    assert all(0 < int(row[2]) < 3000 and 0 <= float(row[3]) <= 120 for row in rows)
    assert said[10] == "notice epsilon 0.5 charged; epsilon 19.5 left"
    assert len(set(said[11:18])) == 1  # one answer, seven times
    assert said[11].startswith("prepared ")
    assert said[18].startswith("typed ")
    assert said[19].startswith("refused 42000 ")
    assert "Nothing was charged" in said[19]
    assert said[20:] == ["fetched 3"]
    assert wire.running.service.spent()["ana"][0]["spent"] == "1.5"
