"""`discreet synthesize`: a table of rows that nobody gave, like a private one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import options as opt
from discreet.cli.option_groups import grouped
from discreet.cli.place import SourceOptions
from discreet.cli.progress import ProgressLine
from discreet.records import dataclass


@dataclass(frozen=True)
class SynthesisOptions:
    """The columns, the rows and the marginals that matter."""

    like: Annotated[
        str | None,
        typer.Option("--like", metavar="TABLE", help="The private table, where there are several."),
    ] = None
    columns: Annotated[
        str | None, typer.Option("--columns", metavar="A,B,…", help="To take; else all with keys or bounds.")
    ] = None
    rows: Annotated[
        int | None,
        typer.Option("--rows", metavar="N", min=1, help="To draw; else about as many as there are."),
    ] = None
    degree: Annotated[
        int, typer.Option("--degree", metavar="K", min=1, max=3, help="Marginals of K columns matter.")
    ] = 2
    preview: Annotated[
        bool, typer.Option("--preview", help="Give the cost and the noise of marginals instead; it is free.")
    ] = False
    bins: Annotated[
        list[str] | None,
        typer.Option(
            "--bins", metavar="COLUMN=N", help="How many intervals a column gets; else 16. Repeated."
        ),
    ] = None


@grouped
def command(
    place: SourceOptions,
    shape: SynthesisOptions,
    epsilon: Annotated[str, typer.Option("-e", "--epsilon", metavar="EPSILON", help="Of the whole table.")],
    policy_argument: Annotated[
        Path | None,
        typer.Argument(metavar="POLICY", help="The policy, as with --policy.", show_default=False),
    ] = None,
    delta: Annotated[
        str | None, typer.Option("--delta", metavar="DELTA", help="Buys Gaussian noise, where a delta can.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="The rows: .parquet or .csv.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="The errors: .html, .svg, .png or .json.")
    ] = None,
    as_json: opt.Json = False,
) -> None:
    """Make a synthetic table: columns, types and keys of a private one, and rows that nobody gave.

    Noisy counts of single columns, and of sets of columns that are chosen one by one, are released once; the rows are
    drawn from a model of them. The report says how far each marginal may be off, from released numbers alone.

    \b
    Examples:
      discreet synthesize policy.toml --epsilon 1 --preview
      discreet synthesize policy.toml --epsilon 1 -o synthetic.parquet
      discreet synthesize -e 1 --columns age,county,income --bins income=24 -o synthetic.csv --report report.html
      discreet synthesize --source people.csv --unit row --budget 1 --bounds age=0:120 -e 1 --rows 1000 -o new.csv
    """  # noqa: D301
    from discreet.cli.output import say
    from discreet.plots.render import check_path as check_report
    from discreet.release.documents import dump
    from discreet.synthetic.table import check_path

    if policy_argument is not None:
        if place.policy is not None:
            raise opt.Usage("give the policy once")
        place = replace(place, policy=policy_argument)
    if output is not None:
        check_path(output)
    if report is not None:
        check_report(report)
    pairs = [opt.read_pair(text, "--bins") for text in shape.bins or ()]
    if not all(count.isdecimal() and len(count) < 10 for _, count in pairs):
        raise opt.Usage("--bins: write a column and a number of intervals, like income=24")
    asked: dict[str, Any] = {
        "like": shape.like, "epsilon": epsilon, "delta": delta, "degree": shape.degree,
        "columns": shape.columns.split(",") if shape.columns else None, "max_rows": place.question_rows,
        "bins": {name: int(count) for name, count in pairs},
    }  # fmt: skip
    if shape.preview:
        _preview(place, asked, as_json, nothing=output is None and report is None)
        return
    with ProgressLine("measuring marginals"), place.open() as session:
        for path in (output, report):
            if path is not None:
                session.see_free(path)
        made = session.synthesize(**asked, rows=shape.rows)
    if output is not None:
        made.save(output)
    if report is not None:
        made.report.save(report)
    typer.echo(dump(made.to_dict()) if as_json else repr(made))
    for path in (output, report):
        if path is not None:
            say(f"wrote {path}")
    if output is None:
        say(
            "no row was written: -o synthetic.csv, or .parquet, writes them, and the same question again is free"
        )


def _preview(place: SourceOptions, asked: dict[str, Any], as_json: bool, *, nothing: bool) -> None:
    """Say the cost and the noise, and write nothing."""
    from discreet.release.documents import dump

    if not nothing:
        raise opt.Usage("--preview makes no rows and no report: leave -o and --report out")
    with place.open() as session:
        seen = session.preview_synthesis(**asked)
    typer.echo(dump(seen.to_dict()) if as_json else repr(seen))
