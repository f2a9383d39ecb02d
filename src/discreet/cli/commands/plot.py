"""`discreet plot`: draws one picture into a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import options as opt
from discreet.cli.progress import ProgressLine


def command(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", show_default=False, help="Which picture; without it, all names."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Ends in .svg, .png, .html or .json."),
    ] = None,
    column: Annotated[
        bool, typer.Option("--column", help="For a column of print instead of a slide.")
    ] = False,
    as_json: opt.Json = False,
) -> None:
    """Draw a picture: of noise, error, budgets or an experiment.

    \b
    Examples:
      discreet plot                                 (the names)
      discreet plot neighbours -o neighbours.png
      discreet plot errors -o errors.svg --column
    """  # noqa: D301
    from discreet.cli.output import print_table, say
    from discreet.plots.catalogue import FIGURES
    from discreet.plots.catalogue import draw as draw_picture
    from discreet.plots.render import check_path, save
    from discreet.release.documents import dump

    if name is None:
        if output is not None:
            raise opt.Usage("name the picture; `discreet plot` lists them")
        if as_json:
            typer.echo(dump([{"name": each.name, "title": each.title} for each in FIGURES.values()]))
        else:
            print_table(
                ["name", "title"], [[each.name, each.title] for each in FIGURES.values()], [False, False]
            )
        return
    if name not in FIGURES:
        raise opt.Usage(f"there is no picture {name}; choose from {', '.join(FIGURES)}")
    if as_json:
        if output is not None:
            raise opt.Usage("give one of --json, for the numbers, and --output")
        figure = FIGURES[name]
        numbers = [{"what": words, "value": value} for words, value in figure.numbers()]
        typer.echo(dump({"name": name, "title": figure.title, "code": figure.code, "numbers": numbers}))
        return
    if output is None:
        raise opt.Usage(f"name a file, such as -o {name}.svg")
    path = check_path(output)
    with ProgressLine("drawing"):
        save(draw_picture(name, "column" if column else "slide"), path)
    say(f"wrote {path}")
