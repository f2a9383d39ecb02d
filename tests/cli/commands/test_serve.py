from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator

import psycopg
import pytest
from tests.cli.conftest import Run

from discreet.cli.failure import USAGE


@pytest.fixture
def said() -> Iterator[list[str]]:
    """The words of the demo, which speaks both protocols, until it is ready; told to stop, it fails in nothing."""
    command = [sys.executable, "-m", "discreet", "serve", "--demo", "--port", "0", "--pg-port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        lines: list[str] = []
        while not lines or "serving hospital at" not in lines[-1]:
            line = process.stderr.readline()
            assert line, lines
            lines.append(line)
        yield lines
        process.terminate()
        assert process.wait(20) == 0  # systemd takes another number for a failure of the unit
        rest = process.stderr.read()
        assert "error" not in rest
        assert "leaked" not in rest  # the engine's library reports objects that a frozen heap keeps


def test_the_demo_speaks_both_protocols(said: list[str]) -> None:
    words = "".join(said)
    port = re.search(r"PostgreSQL's protocol on 127\.0\.0\.1, port (\d+)", words)
    token = re.search(r"^ana: (\S+)$", words, re.MULTILINE)
    assert port
    assert token
    place = f"host=127.0.0.1 port={port[1]} user=ana password={token[1]} dbname=hospital"
    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute("SET discreet.epsilon = 0.1")
        assert len(connection.execute("SELECT county, COUNT(*) FROM visits GROUP BY county").fetchall()) == 8


def test_tokens_cross_no_network_in_the_clear(run: Run) -> None:
    result = run("serve", "--demo", "--port", "0", "--pg-port", "0", "--pg-host", "0.0.0.0")
    assert result.exit_code == USAGE
    assert "--pg-certificate" in result.output
    assert "discreet_" not in result.output, "a token is shown once, by a service that starts"
