"""The commands, and the report of one that fails."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException
from typer.main import get_command

from discreet import __version__
from discreet.cli import failure
from discreet.cli.commands import COMMANDS
from discreet.errors import DiscreetError


@cache
def command(name: str) -> Any:
    """Load one command: a function, or a group of commands where its module has an `app`."""
    module = import_module(f"discreet.cli.{COMMANDS[name][0]}")
    if hasattr(module, "app"):
        return get_command(module.app)
    alone = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
    alone.command(name)(module.command)
    return get_command(alone)


class Commands(TyperGroup):
    """Loads only the command that is asked for; an error that discreet raises on purpose becomes words on stderr."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        for name, (_, help_line) in COMMANDS.items():
            self.add_command(TyperCommand(name, help=help_line, rich_markup_mode=None))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command to run; those that are only listed stay names with a line of help."""
        name, listed, rest = super().resolve_command(ctx, args)
        return name, command(name) if name and listed else None, rest

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        # Asked here, as a command that is used wrongly does not come to know its own options.
        as_json = "--json" in [*getattr(ctx, "_protected_args", ()), *ctx.args]
        try:
            return interruptible(super().invoke, ctx)
        except (DiscreetError, OSError, KeyboardInterrupt) as error:
            if ctx.params.get("debug") or isinstance(error, BrokenPipeError):
                raise
            (failure.explain_json if as_json else failure.explain)(error)
            raise typer.Exit(failure.exit_code(error)) from None
        except TyperException as error:
            if not as_json:
                raise
            failure.explain_json(error)
            raise typer.Exit(failure.USAGE) from None


def interruptible(invoke: Callable[[Any], Any], ctx: Any) -> Any:
    """Run a command; DuckDB tells Ctrl+C while it reads a file as an error of its own."""
    try:
        return invoke(ctx)
    except RuntimeError as error:
        if str(error) != "Query interrupted":
            raise
        stopped = KeyboardInterrupt()
        stopped.__dict__.update(error.__dict__)  # its charge goes with it
    raise stopped


app = typer.Typer(
    cls=Commands,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    no_args_is_help=True,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"discreet {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Private answers to questions about people.

    Every answer is noisy by a known amount, and every question is charged to a budget that cannot be
    overdrawn.

    \b
    Start here:
      discreet demo
      discreet init visits.parquet -o policy.toml     (then make its decisions)
      discreet tables
      discreet query --mock "SELECT COUNT(*) FROM visits" --epsilon 0.1     (on invented data, free)
      discreet explain "SELECT COUNT(*) FROM visits" --epsilon 0.1
      discreet preview "SELECT COUNT(*) FROM visits" --epsilon 0.1
      discreet query   "SELECT COUNT(*) FROM visits" --epsilon 0.1
      discreet budget
      discreet shell --epsilon 0.05                                 (line by line, with completion)
      discreet serve --demo                                         (for several analysts, over HTTP)
      discreet mcp policy.toml --budget 0.5                         (for an assistant)
      discreet synthesize policy.toml --epsilon 1 -o synthetic.parquet   (rows that nobody gave)
      discreet plan --counts 3143 --epsilon 0.1 --neighbours replace     (without any data)

    \b
    Exit codes: 0 answered; 2 bad usage, bad policy or refused query; 3 refused budget;
    130 interrupted; 1 anything else.
    """  # noqa: D301
