"""Completion by the Tab key: a script for each shell, and what may follow."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.warm import programs


def asked(shell: str, words: str, **more: str) -> list[str]:
    """What the process answers when the script of a shell asks."""
    env = {"_DISCREET_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": words, "COMP_WORDS": words,
           "COMP_CWORD": str(len(words.split(" ")) - 1), "_TYPER_COMPLETE_FISH_ACTION": "get-args", **more}  # fmt: skip
    result = subprocess.run(
        [programs() / "discreet"],
        capture_output=True,
        text=True,
        env={**os.environ, **env},
        timeout=60,
    )
    assert "Traceback" not in result.stderr
    return result.stdout.splitlines()


@pytest.mark.parametrize(("shell", "has"), [("bash", "complete "), ("zsh", "compdef"), ("fish", "complete ")])
def test_there_is_a_script_for_each_shell(run: Run, shell: str, has: str) -> None:
    result = run("completion", shell)
    assert result.exit_code == 0
    assert has in result.stdout
    assert "_DISCREET_COMPLETE" in result.stdout


def test_another_shell_is_bad_usage(run: Run) -> None:
    assert run("completion", "tcsh").exit_code == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_commands_and_options_follow(shell: str) -> None:
    commands = "\n".join(asked(shell, "discreet "))
    for name in ("query", "preview", "tables", "budget", "completion"):
        assert name in commands
    assert "--epsilon" in "\n".join(asked(shell, "discreet query --eps"))
    assert "verify" in "\n".join(asked(shell, "discreet budget "))


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_bash_completes_with_the_script(tmp_path: Path) -> None:
    (tmp_path / "discreet").write_text(f'#!/bin/sh\nexec {sys.executable} -m discreet "$@"\n')
    (tmp_path / "discreet").chmod(0o755)
    code = """
eval "$(discreet completion bash)"
COMP_WORDS=(discreet que); COMP_CWORD=1
$(complete -p discreet | sed 's/.*-F \\([^ ]*\\) .*/\\1/') discreet que discreet
echo "${COMPREPLY[@]}"
"""
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    result = subprocess.run(["bash", "-c", code], capture_output=True, text=True, env=env, timeout=60)
    assert result.stdout.split() == ["query"], result.stderr


@pytest.mark.parametrize(("shell", "check"), [("zsh", "-n"), ("fish", "--no-execute")])
def test_the_script_of_another_shell_is_one(run: Run, tmp_path: Path, shell: str, check: str) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"there is no {shell} here")
    (tmp_path / "script").write_text(run("completion", shell).stdout)
    assert subprocess.run([program, check, str(tmp_path / "script")], timeout=60).returncode == 0
