"""`discreet tune`: private estimates of bounds and caps, as a draft of the policy; charged like a question."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import options as opt
from discreet.cli.progress import ProgressLine


def command(
    epsilon: Annotated[
        str, typer.Option("-e", "--epsilon", metavar="EPSILON", help="The loss that it may cost.")
    ],
    policy: Annotated[
        Path | None, typer.Argument(metavar="POLICY", help="The same as --policy.", show_default=False)
    ] = None,
    named: opt.PolicyFile = None,
    table: Annotated[
        str | None, typer.Option("--table", metavar="TABLE", help="Which one, if there are several.")
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option("--column", metavar="COLUMN", help="Estimate its bounds; may be repeated."),
    ] = None,
    groups: Annotated[
        list[str] | None,
        typer.Option("--groups", metavar="COLUMN", help="Estimate max_groups by it; may be repeated."),
    ] = None,
    question: Annotated[
        list[str] | None,
        typer.Option("--question", metavar="SQL", help="Show its error for every cap; may be repeated."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write the draft there.")
    ] = None,
    as_json: opt.Json = False,
) -> None:
    """Estimate bounds, max_rows and max_groups from the data, and draft the policy with them.

    It is charged like any question, and the draft holds nothing of the data that was not paid for. The estimates are
    powers of two; a few units with very large values or very many rows are not seen.

    \b
    Examples:
      discreet tune --epsilon 0.5
      discreet tune -p hospital/policy.toml --epsilon 0.5
      discreet tune policy.toml --epsilon 0.5 --column cost --groups ward --output draft.toml
      discreet tune policy.toml --epsilon 0.5 --question "SELECT COUNT(*) AS n FROM visits"
    """  # noqa: D301
    from discreet.cli.output import say
    from discreet.cli.place import policy_file, private_table
    from discreet.release.documents import dump
    from discreet.session import protect

    if output is not None and output.exists():
        raise opt.Usage(f"{output} exists; name a new file")
    if policy is not None and named is not None:
        raise opt.Usage("name the policy once, with --policy or without")
    with ProgressLine("opening the data"), protect(policy=policy_file(policy or named)) as session:
        table = table or private_table(session.policy)
        asked = {sql: sql for sql in question or ()}
        found = session.suggest(table, epsilon, columns=column, groups=groups or (), questions=asked)
        left = session.budget
    if output is not None:
        output.write_text(found.to_toml(), "utf-8")
        say(f"wrote {output}")
    typer.echo(dump({**found.to_dict(), "policy": found.to_toml()}) if as_json else repr(found))
    if output is None and not as_json:
        typer.echo(f"\n{found.to_toml()}", nl=False)
    say(f"budget: {left}")
