"""Answers as text for people, as JSON for programs, and as files."""

from __future__ import annotations

import sys
from collections.abc import Container
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from discreet import escaping
from discreet.cli.options import Usage
from discreet.release import shown
from discreet.release.answer_file import SUFFIXES as WRITTEN
from discreet.release.answer_file import whole
from discreet.release.documents import csv_text, document, dump

if TYPE_CHECKING:
    from discreet.release.answer import Release
    from discreet.session import BudgetState

PICTURES = (".svg", ".png", ".html")
TABLES = tuple(sorted(WRITTEN))
SUFFIXES = (*TABLES, ".json", *PICTURES)
_INTERVAL = r"± \?$|± [\d,.∞e+-]+$|\[-?[\d,.∞e+-]+, -?[\d,.∞e+-]+\]$"


def print_csv(release: Release, formulas: bool = False) -> None:
    """Print an answer as CSV; on a terminal odd characters are written out.

    Args:
        release: the answer.
        formulas: whether text may begin as a formula does.
    """
    text = csv_text(release, formulas)
    typer.echo(escaping.prose(text) if sys.stdout.isatty() else text, nl=False)


def check_output(path: Path | None) -> None:
    """See that an answer can be written there, before anything is charged."""
    if path is None:
        return
    if path.suffix.lower() not in SUFFIXES:
        raise Usage(f"--output {path}: the name must end in {', '.join(SUFFIXES)}")
    if not path.absolute().parent.is_dir():
        raise Usage(f"--output {path}: there is no such folder")
    if path.suffix.lower() in PICTURES:
        from discreet.plots.library import altair

        altair()  # says now, not after the charge, that the extra is missing


def write(release: Release, budget: BudgetState, path: Path) -> None:
    """Write an answer to a file of JSON or to a picture, as its name says; it appears whole, in place of the name."""
    with whole(path) as unfinished:
        if path.suffix.lower() == ".json":
            unfinished.write_text(dump(document(release, budget)) + "\n", "utf-8")
            return
        from discreet.plots.render import save

        save(release.plot(), unfinished)


def print_table(
    header: list[str], body: list[list[str]], right: list[bool], back: Container[int] = ()
) -> None:
    """Print aligned text; on a terminal the header stands out, and intervals and some columns stand back.

    Args:
        header: the names of the columns.
        body: the rows.
        right: whether a column is aligned to the right.
        back: the numbers of the columns that stand back.
    """
    header, *body = ([escaping.name(cell) for cell in line] for line in [header, *body])
    widths = [max(len(line[index]) for line in [header, *body]) for index in range(len(header))]

    def aligned(line: list[str]) -> list[str]:
        padded = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(line, widths, right, strict=True)]
        return [*padded[:-1], padded[-1].rstrip()]

    rule = shown.rule(widths)
    if not sys.stdout.isatty():
        typer.echo(
            "\n".join(["  ".join(aligned(header)), rule, *("  ".join(aligned(line)) for line in body)])
        )
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(soft_wrap=True, highlight=False)
    console.print(Text("  ".join(aligned(header)), "bold"))
    console.print(Text(rule, "dim"))
    for line in body:
        coloured = [Text(cell, "dim" if index in back else "") for index, cell in enumerate(aligned(line))]
        for cell in coloured:
            cell.highlight_regex(_INTERVAL, "dim")
        console.print(Text("  ").join(coloured))


def print_release(release: Release) -> None:
    """Print an answer whole, and the meaning of its intervals."""
    body, right = cells(release)
    print_table(shown.header(release), body, right)
    for line in shown.footer(release)[: 1 + len(release.cut_off)]:
        typer.echo(line)


def cells(release: Release) -> tuple[list[list[str]], list[bool]]:
    """The rows of an answer as text, and which columns are numbers."""
    return shown.rows(release), shown.to_the_right(release)


def say(words: str) -> None:
    """Say something beside the answer: on stderr, dimmed on a terminal."""
    typer.secho(escaping.prose(words), err=True, dim=sys.stderr.isatty())
