"""`discreet preview`: the cost of a question and the errors of its answer, before asking."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli import options as opt
from discreet.cli.option_groups import grouped
from discreet.cli.place import AnswerOptions, SourceOptions
from discreet.cli.progress import ProgressLine
from discreet.cli.remote import ServerOptions
from discreet.cli.terminal.spelling import in_options
from discreet.cli.workloads.asking import preview as workload


@grouped
def command(
    asked: AnswerOptions,
    place: SourceOptions,
    remote: ServerOptions,
    epsilon: Annotated[
        str | None, typer.Option("-e", "--epsilon", metavar="EPSILON", help="The cost to look at.")
    ] = None,
    within: opt.Within = None,
    reuse: opt.Reuse = None,
    group_rows: opt.GroupRows = opt.GROUP_ROWS,
    as_json: opt.Json = False,
) -> None:
    """Give the cost of a question and the errors of its answer.

    It is free: it looks at the question and the policy, not at the data. A text of several statements is one workload,
    whose cost is that of all of them together.

    \b
    Examples:
      discreet preview "SELECT county, COUNT(*) AS n FROM visits GROUP BY county" --epsilon 0.1
      discreet preview "SELECT county, COUNT(*) AS n FROM visits GROUP BY county" --within n=50
      discreet preview --server https://stats.example.org "SELECT COUNT(*) AS n FROM visits" --epsilon 0.1
    """  # noqa: D301
    from discreet.dbapi.named_statements import statements
    from discreet.release.documents import dump
    from discreet.release.exactly import exact

    if (epsilon is None) == (not within):
        raise opt.Usage("give either --epsilon 0.1 or --within n=50")
    text = asked.text()
    named = statements(text)
    if len(named) > 1:
        if within or reuse is not None:
            raise opt.Usage("--within, --reuse and --fresh are for one statement; the text has several")
        workload(named, epsilon, asked, place, remote, {"group_rows": group_rows}, as_json)
        return
    errors, there = opt.errors_of(within), remote.open(place)
    if reuse is not None and there is not None:
        raise opt.Usage("--reuse and --fresh are for data here, not for a server")
    more = asked.keywords(place) | ({} if reuse is None else {"reuse": reuse})
    with ProgressLine("looking at the question"), there or place.open() as session:
        seen = session.preview(text, epsilon, within=errors, group_rows=group_rows, **more)
    if as_json:
        left = {} if seen.left is None else {"left": exact(seen.left)}
        typer.echo(dump({**seen.to_dict(), "epsilon": exact(seen.epsilon), **left}))
    else:
        typer.echo(repr(in_options(seen)))
