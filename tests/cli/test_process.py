"""The real command in a process of its own: streams, exit codes, start-up, terminals that cannot write ±."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.warm import programs

COUNT = "SELECT county, COUNT(*) AS n FROM visits GROUP BY county"
# Typer itself loads pydantic to read the options of a command, so that is not ours to leave out.
HEAVY = ("cryptography", "duckdb", "mpmath", "numpy", "pandas", "polars", "pyarrow", "rich", "scipy",
         "sqlalchemy", "sqlglot")  # fmt: skip


def _run(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    return _process([sys.executable, "-m", "discreet", *args], **env)


def _warm(*args: str) -> subprocess.CompletedProcess[str]:
    """The same but for the start of Python, which others of this file see."""
    return _process([str(programs() / "discreet"), *args])


def _process(command: list[str], **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", env={**os.environ, **env}, errors="replace"
    )


def test_exit_codes_and_streams(folder: Path) -> None:
    answered = _run("query", COUNT, "--epsilon", "0.9")
    assert (answered.returncode, "±" in answered.stdout) == (0, True)
    assert "budget: epsilon 0.1 left" in answered.stderr
    refused = _warm("query", "SELECT * FROM visits", "--epsilon", "0.1")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "^" in refused.stderr
    spent = _warm("query", "SELECT COUNT(*) AS n FROM visits", "--epsilon", "0.2")
    assert (spent.returncode, spent.stdout) == (3, "")
    assert "Traceback" not in refused.stderr + spent.stderr
    assert "Traceback" in _warm("--debug", "query", "SELECT * FROM visits", "--epsilon", "0.1").stderr
    broken = folder / "policy.ledger.db"
    broken.write_bytes(b"this is no ledger" * 100)
    assert _warm("budget").returncode == 1


def test_nothing_is_coloured_or_animated_in_a_pipe(folder: Path) -> None:
    result = _warm("query", COUNT, "--epsilon", "0.1")
    assert "\x1b" not in result.stdout + result.stderr


def test_an_output_that_cannot_write_the_sign_loses_no_answer(folder: Path) -> None:
    result = _run("query", COUNT, "--epsilon", "0.1", PYTHONIOENCODING="latin-1")
    assert result.returncode == 0
    assert "?????" in result.stdout  # the rule under the header


@pytest.mark.parametrize("args", [["--help"], ["query", "--help"], ["--version"]])
def test_help_imports_nothing_heavy(args: list[str]) -> None:
    code = (
        "import sys\nfrom discreet.cli import main\n"
        f"sys.argv = ['discreet', *{args!r}]\n"
        "try:\n    main()\nfinally:\n    print(*sorted(sys.modules), file=sys.stderr)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0
    assert result.stdout.startswith(("Usage: discreet", "discreet "))
    assert set(result.stderr.split()).isdisjoint(HEAVY)


def test_every_help_has_an_example(run: Run) -> None:
    for command in ("demo", "init", "query", "preview", "budget"):
        text = run(command, "--help").stdout
        assert "Examples:" in text
        assert f"discreet {command}" in text
