"""`discreet explain`: what a question would do, scope by scope."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import options as opt
from discreet.cli.progress import Progress


def command(
    sql: opt.Sql = None,
    epsilon: Annotated[
        str, typer.Option("-e", "--epsilon", metavar="EPSILON", help="The cost to look at.")
    ] = "1",
    policy: opt.PolicyFile = None,
    file: opt.SqlFile = None,
    delta: opt.Delta = None,
    as_json: opt.Json = False,
    picture: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Draw it into an SVG file instead.")
    ] = None,
    engine_sql: Annotated[bool, typer.Option("--sql", help="Show the SQL of the engine, too.")] = False,
    source: opt.Source = None,
    table: opt.Table = None,
    unit: opt.Unit = None,
    max_rows: opt.MaxRows = None,
    max_groups: opt.MaxGroups = None,
    bounds: opt.Bounds = None,
    keys: opt.Keys = None,
    types: opt.Types = None,
    budget: opt.BudgetEpsilon = None,
    ledger: opt.LedgerFile = None,
) -> None:
    """Say what a question would do: its scopes, bounds and groups, what one unit can change, and the noise.

    It is free: it looks at the question and the policy, not at the data.

    \b
    Examples:
      discreet explain "SELECT county, AVG(age) AS age FROM visits GROUP BY county"
      discreet explain "SELECT COUNT(*) AS n FROM visits" --epsilon 0.1 --sql
      discreet explain --file cost.sql --svg cost.svg
    """  # noqa: D301
    from discreet.cli.output import dump, exact, say, whole

    if as_json and picture is not None:
        raise opt.Usage("give one of --json and --svg")
    if picture is not None and engine_sql:
        raise opt.Usage("--sql goes with text or --json, not with a picture")
    text = opt.question(sql, file)
    place = opt.Place(policy, source, table, unit, max_rows, bounds, keys, budget, ledger, types)
    with Progress("looking at the question"), place.open() as session:
        if picture is not None:
            session.see_free(picture)
        seen = session.explain(
            text, epsilon, delta=delta, max_rows=place.question_rows, max_groups=max_groups, sql=engine_sql
        )
    if picture is not None:
        with whole(picture) as unfinished:
            unfinished.write_text(seen.to_svg(), "utf-8")
        say(f"wrote {picture}")
    elif as_json:
        typer.echo(dump({**seen.to_dict(), "epsilon": exact(seen.epsilon)}))
    else:
        typer.echo(repr(seen))
