"""No command lists what a group says, and each option is read into its group."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import discreet
from discreet.cli.app import app
from discreet.cli.option_groups import ORDER, grouped
from discreet.cli.place import AnswerOptions, SourceOptions

COMMANDS = Path(discreet.__file__).parent / "cli" / "commands"
MOST = 13
"""Parameters of a function of the command line; `plan` has as many, which no other command shares."""


def parameters(source: str) -> dict[str, int]:
    """How many parameters the functions of a module have."""
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    return {one.name: len(one.args.args) + len(one.args.kwonlyargs) for one in functions}


def test_no_function_of_the_command_line_has_many_parameters() -> None:
    for path in COMMANDS.parent.rglob("*.py"):
        assert max(parameters(path.read_text()).values(), default=0) <= MOST, path


def test_every_option_of_a_group_has_its_place_in_the_help() -> None:
    for group in (SourceOptions, AnswerOptions):
        assert set(inspect.signature(group).parameters) <= set(ORDER)
    assert len(set(ORDER)) == len(ORDER)


@pytest.mark.parametrize("command", ["query", "preview", "explain", "tables"])
def test_a_shared_option_is_listed_by_each_command(command: str) -> None:
    listed = CliRunner().invoke(app, [command, "--help"]).stdout
    for option in (
        "--policy",
        "--source",
        "--unit",
        "--max-rows",
        "--bounds",
        "--keys",
        "--budget",
        "--ledger",
    ):
        assert option in listed


def test_options_are_read_into_their_groups() -> None:
    seen: list[object] = []

    @grouped
    def command(asked: AnswerOptions, place: SourceOptions) -> None:
        seen.extend((asked, place))

    own = typer.Typer()
    own.command()(command)
    given = [
        "SELECT 1",
        "--unit",
        "id",
        "--split",
        "n=3",
        "--split",
        "m=2",
        "--max-rows",
        "4",
        "--simultaneous",
    ]
    result = CliRunner().invoke(own, given)
    assert result.exit_code == 0, result.output
    assert seen == [
        AnswerOptions(sql="SELECT 1", split=["n=3", "m=2"], simultaneous=True),
        SourceOptions(unit="id", max_rows=4),
    ]
