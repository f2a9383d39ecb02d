"""An error on the command line: in words or as JSON, always with what was charged; and signals that end the process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run
from tests.depth import DEEP
from tests.warm import programs

from discreet.errors import EngineError
from discreet.ledger import Ledger
from discreet.session.queries import Queries

COUNT = "SELECT COUNT(*) AS n FROM visits"


def said(run: Run, *args: str) -> dict[str, Any]:
    result = run(*args, "--json")
    assert result.stdout == ""
    document: dict[str, Any] = json.loads(result.stderr)
    assert document["exit_code"] == result.exit_code
    return document


def test_before_the_charge(folder: Path, run: Run) -> None:
    refused = said(run, "query", "SELECT age FROM visits", "-e", "0.1")
    assert (refused["error"], refused["charged"], refused["exit_code"]) == ("QueryRefused", None, 2)
    assert refused["line"] == 1
    assert said(run, "query", COUNT, "-e", "7")["charged"] is None
    for args in (["query", "SELECT age FROM visits", "-e", "0.1"], ["query", COUNT, "-e", "7"]):
        assert run(*args).stderr.splitlines()[-1] == "charged: nothing"


def test_usage_is_json_too(folder: Path, run: Run) -> None:
    for args in (
        ["query", COUNT],
        ["query", COUNT, "-e"],
        ["query", COUNT, "--nosuch", "1"],
        ["budget", "nosuch"],
    ):
        assert said(run, *args)["exit_code"] == 2


def test_after_the_charge(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise EngineError("It failed.")

    monkeypatch.setattr(Queries, "run", fails)
    assert said(run, "query", COUNT, "-e", "1/8")["charged"] == {"epsilon": "0.125", "delta": "0"}
    result = run("query", "SELECT COUNT(*) AS n FROM visits", "-e", "1/4")
    assert result.stderr.splitlines()[-1] == "charged: epsilon 0.25, which stays charged"
    assert json.loads(run("budget", "--json").stdout)["spent"] == "0.375"


def test_an_answer_that_cannot_be_settled(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Ledger, "settle", full)
    assert said(run, "query", COUNT, "-e", "0.5")["charged"] == {"epsilon": "0.5", "delta": "0"}


SLOW = """
import sys, threading, time
from discreet.cli import main
from discreet.engines.duckdb import DuckDBEngine

asked = DuckDBEngine.integers
stopped = threading.Event()

def slow(self, sql, tables):
    print("running", flush=True)
    assert stopped.wait(60)
    return asked(self, sql, tables)

DuckDBEngine.integers = slow
DuckDBEngine.interrupt = lambda self: stopped.set()
sys.argv = ["discreet", "query", "SELECT COUNT(*) AS n FROM visits", "--epsilon", "0.25"]
main()
"""


# A deep run sends SIGHUP, too.
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", *["SIGHUP"] * DEEP])
def test_a_signal_stops_the_engine_says_what_was_charged_and_cleans_up(
    folder: Path, run: Run, name: str
) -> None:
    temporary = folder / "temporary"
    temporary.mkdir()
    (folder / "slow.py").write_text(SLOW)
    process = subprocess.Popen(
        [programs() / "python", "slow.py"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n"
    assert list(temporary.iterdir())
    process.send_signal(getattr(signal, name))
    _, words = process.communicate(timeout=30)
    assert process.returncode == 128 + getattr(signal, name)
    assert "charged: epsilon 0.25, which stays charged" in words
    assert not list(temporary.iterdir())
    assert json.loads(run("budget", "--json").stdout)["spent"] == "0.25"


def test_a_process_that_does_not_listen_is_found(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: SIGTERM ends the process on the spot, and its folder stays."""
    monkeypatch.setattr(
        sys.modules[__name__], "SLOW",
        "import discreet.cli.terminal.signals as s\ns.clean_up_on_signals = lambda: None\n" + SLOW,
    )  # fmt: skip
    with pytest.raises(AssertionError):
        test_a_signal_stops_the_engine_says_what_was_charged_and_cleans_up(folder, run, "SIGTERM")
