"""`discreet gallery`: draws every picture, with a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import options as opt
from discreet.cli.commands.experiment import counted
from discreet.cli.progress import ProgressLine


def command(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", show_default=False, help="Where; made if need be.")
    ],
    png: Annotated[bool, typer.Option("--png/--no-png", help="Write PNG beside SVG.")] = True,
    as_json: opt.Json = False,
) -> None:
    """Draw every picture into a folder, with a page that shows formula, code and numbers beside each.

    \b
    Examples:
      discreet gallery pictures
      discreet gallery pictures --no-png
    """  # noqa: D301
    from discreet.cli.output import say
    from discreet.plots import FIGURES, gallery
    from discreet.release.documents import dump

    with ProgressLine("drawing") as progress:
        page = gallery(folder, png=png, progress=counted(progress, "drawing"))
    if as_json:
        typer.echo(dump({"page": str(page), "pictures": list(FIGURES)}))
        return
    say("open the page in a browser:")
    typer.echo(str(page))
