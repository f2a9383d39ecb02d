"""`discreet tables`: which tables and columns there are, and the questions that they can answer."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli import options as opt
from discreet.cli.option_groups import grouped
from discreet.cli.place import SourceOptions
from discreet.cli.remote import ServerOptions
from discreet.quoting import quote


@grouped
def command(
    place: SourceOptions,
    remote: ServerOptions,
    name: Annotated[
        str | None,
        typer.Argument(metavar="TABLE", show_default=False, help="Its columns; without it, all tables."),
    ] = None,
    as_json: opt.Json = False,
) -> None:
    """List the tables, or the columns of one with the questions that they can answer.

    It is free: it shows the policy and the names and types of the columns, and no data. In SQL it is SHOW TABLES,
    DESCRIBE, SUMMARIZE and information_schema.

    \b
    Examples:
      discreet tables
      discreet tables visits -p hospital/policy.toml
      discreet tables --server https://stats.example.org
      discreet query "SELECT * FROM information_schema.columns WHERE keys > 1"
    """  # noqa: D301
    from discreet.cli.output import cells, print_table
    from discreet.cli.served.schema import columns_of, tables_of
    from discreet.release.documents import dump, rows

    there = remote.open(place)
    if there is not None:
        listed = tables_of(there.tables()) if name is None else columns_of(there.tables(), name)
        if as_json:
            typer.echo(dump(listed.rows))
        else:
            print_table(*listed.cells())
        return
    asked = "SHOW TABLES" if name is None else f"DESCRIBE {quote(name)}"
    with place.open(describe=True) as session:
        release = session.sql(asked)
    if as_json:
        typer.echo(dump(rows(release)))
    else:
        print_table(release.columns, *cells(release))
