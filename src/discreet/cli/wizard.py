"""`discreet init --web`: the decisions about a file on a page of this machine, which ends in the first answer."""

from __future__ import annotations

import re
import shlex
import webbrowser
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from discreet.cli.options import Usage
from discreet.cli.suggest import EXAMPLE_BUDGET, EXAMPLE_ROWS, begins, units

if TYPE_CHECKING:
    from discreet.server.pages.draft import PolicyDraft


def decide(url: str, tables: Mapping[str, Sequence[tuple[str, str]]], output: Path | None) -> None:
    """Open the page, and serve until the process is told to stop.

    Args:
        url: of the data.
        tables: the columns of its tables.
        output: the policy's file; None for one in the working directory, named after the table.

    Raises:
        Usage: the file exists, or the source has several tables.
    """
    from discreet.server.desk import Caps
    from discreet.server.start import Listening, begin_service, listen

    draft = policy_draft(url, tables, output)
    if draft.place.exists():
        raise Usage(f"{draft.place.name} exists, and --web replaces no file; name another with --output")
    listening = Listening("127.0.0.1", 0)
    service = begin_service(draft, listening.settings(Caps()))

    def ready(address: str) -> None:
        address = f"{address}/begin/{service.secret}"
        typer.echo(f"open {address}", err=True)
        typer.echo("This address lets in whoever opens it first. Ctrl+C ends the service.", err=True)
        again = f"discreet serve {shlex.quote(draft.place.name if output is None else str(output))}"
        typer.echo(f"Another day: {again}, with the token of {again} --new-token me", err=True)
        webbrowser.open(address)

    listen(service, listening, ready)


def policy_draft(
    url: str, tables: Mapping[str, Sequence[tuple[str, str]]], output: Path | None
) -> PolicyDraft:
    """The draft of a policy for the one table of a source.

    Example:
        >>> draft = policy_draft("csv:v.csv", {"v": [("patient_id", ""), ("age", ""), ("county", "")]}, None)
        >>> draft.units, [(column.rule, column.values) for column in draft.columns]
        (('patient_id',), [('', ''), ('bounds', '0, 120'), ('', '')])
    """
    from discreet.server.pages.draft import DraftColumn, PolicyDraft

    if len(tables) != 1:
        raise Usage("--web takes a source with one table; leave it out for several")
    ((table, columns),) = tables.items()
    name = re.sub(r"[^a-z0-9]+", "-", table.lower()).strip("-")
    place = output or Path(f"{name if name[:1].isalpha() else 'data'}.toml")
    found = []
    for column, kind in columns:
        rule, example, why = ("", "", "a list") if kind.endswith("S") else begins(column, kind)
        part, _, values = rule.partition(" = ")
        found.append(
            DraftColumn(column, kind, part, _plain(values), why, _plain(example.partition(" = ")[2]))
        )
    return PolicyDraft(
        place.absolute(), url, table, tuple(found), tuple(units(list(columns))),
        max_rows=EXAMPLE_ROWS, epsilon=EXAMPLE_BUDGET,
    )  # fmt: skip


def _plain(values: str) -> str:
    return values.strip("[]").replace('"', "")
