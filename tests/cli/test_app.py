"""The commands that the help lists are those that there are, and each line is that of the command itself."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import discreet.cli
from discreet.cli import app
from discreet.cli.commands import COMMANDS
from discreet.errors import tell

CLI = Path(discreet.cli.__file__).parent


def stale(lines: dict[str, tuple[str, str]]) -> list[str]:
    """The commands whose own help begins with another sentence."""
    return [
        name
        for name, (_, line) in lines.items()
        if not " ".join(app.command(name).help.split()).startswith(line) or not line.endswith(".")
    ]


def test_each_line_of_the_help_is_that_of_the_command() -> None:
    assert stale(COMMANDS) == []


def test_a_line_that_the_command_no_longer_says_is_found() -> None:
    assert stale({"demo": (COMMANDS["demo"][0], "Show the truth.")}) == ["demo"]


def test_every_file_of_a_command_is_listed() -> None:
    folder = CLI / "commands"
    files = {".".join(path.relative_to(CLI).with_suffix("").parts) for path in folder.rglob("[a-z]*.py")}
    assert files == {module for module, _ in COMMANDS.values()} - {"audit"}


def test_an_interrupt_that_duckdb_tells_as_its_own_error_is_an_interrupt() -> None:
    def fails(words: str) -> None:
        error = RuntimeError(words)
        tell(error, None)
        raise error

    with pytest.raises(KeyboardInterrupt) as caught:
        app.interruptible(fails, "Query interrupted")
    assert caught.value.told  # type: ignore[attr-defined]  # the charge goes with it
    with pytest.raises(RuntimeError):
        app.interruptible(fails, "another")


def test_the_examples_of_every_command_stand_in_lines() -> None:
    # In a raw string the mark before them is no mark, but two letters of the help.
    assert [name for name in COMMANDS if re.search(r"\\b\s", str(app.command(name).help))] == []
