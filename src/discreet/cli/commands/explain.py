"""`discreet explain`: the plan of a question, scope by scope."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import options as opt
from discreet.cli.option_groups import grouped
from discreet.cli.place import QuestionOptions, SourceOptions
from discreet.cli.progress import ProgressLine
from discreet.cli.remote import ServerOptions
from discreet.cli.statements import see_one


@grouped
def command(
    asked: QuestionOptions,
    place: SourceOptions,
    remote: ServerOptions,
    epsilon: Annotated[
        str, typer.Option("-e", "--epsilon", metavar="EPSILON", help="The cost to look at.")
    ] = "1",
    as_json: opt.Json = False,
    picture: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Draw it into an SVG file instead.")
    ] = None,
    engine_sql: Annotated[bool, typer.Option("--sql", help="Show the SQL of the engine, too.")] = False,
) -> None:
    """Show the plan of a question: its scopes, bounds and groups, the sensitivity to one unit, and the noise.

    It is free: it looks at the question and the policy, not at the data.

    \b
    Examples:
      discreet explain "SELECT county, AVG(age) AS age FROM visits GROUP BY county"
      discreet explain "SELECT COUNT(*) AS n FROM visits" --epsilon 0.1 --sql
      discreet explain --file cost.sql --svg cost.svg
      discreet explain --server https://stats.example.org "SELECT COUNT(*) AS n FROM visits"
    """  # noqa: D301
    from discreet.cli.output import say
    from discreet.release.answer_file import whole
    from discreet.release.documents import dump
    from discreet.release.exactly import exact

    if as_json and picture is not None:
        raise opt.Usage("give one of --json and --svg")
    if picture is not None and engine_sql:
        raise opt.Usage("--sql goes with text or --json, not with a picture")
    text = asked.text()
    see_one(text)
    keywords: dict[str, Any] = {
        "delta": asked.delta,
        "max_rows": place.question_rows,
        "max_groups": asked.max_groups,
        "max_rows_per_group": asked.max_rows_per_group,
        "intervals": not asked.no_intervals,
    }
    there = remote.open(place)
    if there is not None:
        if engine_sql:
            raise opt.Usage("--sql is for data here: a server does not tell the SQL of its engine")
        with ProgressLine("looking at the question"):
            seen = there.explain(text, epsilon, **keywords)
    else:
        with ProgressLine("looking at the question"), place.open() as session:
            if picture is not None:
                session.see_free(picture)
            seen = session.explain(text, epsilon, sql=engine_sql, **keywords)
    if picture is not None:
        with whole(picture) as unfinished:
            unfinished.write_text(seen.to_svg(), "utf-8")
        say(f"wrote {picture}")
    elif as_json:
        typer.echo(dump({**seen.to_dict(), "epsilon": exact(seen.epsilon)}))
    else:
        typer.echo(repr(seen))
