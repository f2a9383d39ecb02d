"""`discreet shell`: questions line by line, with completion, history and the price in the prompt."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from discreet.cli.option_groups import grouped
from discreet.cli.place import SourceOptions
from discreet.cli.progress import ProgressLine
from discreet.cli.remote import ServerOptions


@grouped
def command(
    place: SourceOptions,
    remote: ServerOptions,
    epsilon: Annotated[
        str | None,
        typer.Option(
            "-e", "--epsilon", metavar="EPSILON", help="The price of each question that names none."
        ),
    ] = None,
) -> None:
    """Ask questions line by line.

    Each ends with a semicolon. The prompt says the price of the next one and the budget that is left; Tab completes
    tables, columns and functions; \\preview, \\budget and \\? are beside it. Statements also come through a pipe.

    \b
    Examples:
      discreet shell -p hospital/policy.toml --epsilon 0.05
      discreet shell --server https://stats.example.org
      echo "SHOW TABLES;" | discreet shell -p hospital/policy.toml
    """  # noqa: D301
    from discreet.cli.shell.loop import Loop
    from discreet.dbapi.statements import ConnectionSettings
    from discreet.rational import epsilon_of

    settings = ConnectionSettings(None if epsilon is None else epsilon_of(epsilon))
    with ProgressLine("opening the data"):
        session = remote.open(place) or place.open()
    with session:
        loop = Loop(session, settings, typer.echo)
        if sys.stdin.isatty():
            from discreet.cli.shell.terminal import lines
            from discreet.dbapi.words import Words

            loop.feed(lines(loop, Words.of(session)))
        else:
            loop.feed(line.rstrip("\n") for line in sys.stdin)
            raise typer.Exit(loop.exit_code)
