"""`discreet completion`: commands, options and files by the Tab key, in bash, zsh and fish."""

from __future__ import annotations

import enum
import os
from typing import Annotated

import typer

VARIABLE = "_DISCREET_COMPLETE"
"""Set by the scripts when they ask for the words that may follow."""


class Shell(enum.StrEnum):
    """The shells that there is a script for."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


def command(shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")]) -> None:
    """Print the script that lets a shell complete the commands and options of discreet.

    \b
    Examples:
      eval "$(discreet completion bash)"                                     (in ~/.bashrc)
      discreet completion zsh > ~/.zfunc/_discreet                           (a folder of $fpath)
      discreet completion fish > ~/.config/fish/completions/discreet.fish
    """  # noqa: D301
    from typer._completion_shared import get_completion_script

    typer.echo(get_completion_script(prog_name="discreet", complete_var=VARIABLE, shell=shell.value))


def prepare() -> None:
    """Learn to answer the scripts, where one asks."""
    if os.environ.get(VARIABLE):
        from typer._completion_classes import completion_init

        completion_init()
