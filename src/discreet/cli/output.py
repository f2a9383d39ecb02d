"""Answers as text for people, as JSON for programs, and as files."""

from __future__ import annotations

import datetime as dt
import json
import math
import sys
from collections.abc import Container
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from discreet import far
from discreet.cli.options import Usage
from discreet.sql.finish.answer_file import SUFFIXES as WRITTEN
from discreet.sql.finish.answer_file import about, flat
from discreet.sql.finish.answer_file import exact as exact

if TYPE_CHECKING:
    from discreet.session import BudgetState
    from discreet.sql.finish.answer import Release

PICTURES = (".svg", ".png", ".html")
TABLES = tuple(sorted(WRITTEN))
SUFFIXES = (*TABLES, ".json", *PICTURES)
_INTERVAL = r"± [\d,.∞e+-]+$|\[-?[\d,.∞e+-]+, -?[\d,.∞e+-]+\]$"


def dump(document: object) -> str:
    """Write JSON that every reader accepts: no NaN, dates as text."""
    return json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False, default=str)


def rows(release: Release) -> list[dict[str, Any]]:
    """The rows of an answer with their intervals, ready for JSON."""
    return [
        {name: _plain(value) for name, value in row.items()}
        for row in far.shown(release.to_arrow()).to_pylist()
    ]


def document(release: Release, budget: BudgetState) -> dict[str, Any]:
    """An answer and all that belongs to it, for `--json`."""
    return {
        **about(release),
        "rows": rows(release),
        "budget": state(budget),
    }


def state(budget: BudgetState) -> dict[str, str]:
    """A budget for JSON."""
    out = {"epsilon": exact(budget.epsilon), "spent": exact(budget.spent), "left": exact(budget.left)}
    if budget.delta or budget.delta_spent:
        out |= {"delta": exact(budget.delta), "delta_spent": exact(budget.delta_spent)}
    return out


def _plain(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value.isoformat() if isinstance(value, dt.date | dt.datetime) else value


def print_csv(release: Release) -> None:
    """Print an answer as CSV."""
    import pyarrow as pa
    from pyarrow import csv

    sink = pa.BufferOutputStream()
    csv.write_csv(flat(release.to_arrow()), sink)
    typer.echo(sink.getvalue().to_pybytes().decode(), nl=False)


def check_output(path: Path | None) -> None:
    """See that an answer can be written there, before anything is charged."""
    if path is None:
        return
    if path.suffix.lower() not in SUFFIXES:
        raise Usage(f"--output {path}: the name must end in {', '.join(SUFFIXES)}")
    if not path.absolute().parent.is_dir():
        raise Usage(f"--output {path}: there is no such folder")
    if path.suffix.lower() in PICTURES:
        from discreet.plots.theme import altair

        altair()  # says now, not after the charge, that the extra is missing


def write(release: Release, budget: BudgetState, path: Path) -> None:
    """Write an answer to a file of JSON or to a picture, as its name says."""
    if path.suffix.lower() == ".json":
        path.write_text(dump(document(release, budget)) + "\n", "utf-8")
        return
    from discreet.plots.render import save

    save(release.plot(), path)


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
    widths = [max(len(line[at]) for line in [header, *body]) for at in range(len(header))]

    def aligned(line: list[str]) -> list[str]:
        padded = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(line, widths, right, strict=True)]
        return [*padded[:-1], padded[-1].rstrip()]

    rule = "  ".join("─" * width for width in widths)
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
        shown = [Text(cell, "dim" if at in back else "") for at, cell in enumerate(aligned(line))]
        for cell in shown:
            cell.highlight_regex(_INTERVAL, "dim")
        console.print(Text("  ").join(shown))


def print_release(release: Release) -> None:
    """Print an answer whole, and what its intervals mean."""
    body, right = cells(release)
    print_table(release.columns, body, right)
    plural = "s" * (len(release) != 1)
    cost = "free: asked before" if release.replayed else release.cost
    if not release.epsilon:
        cost = "free: nothing private was read"
    covers = f" · ± covers the noise at {100 * release.confidence:g} %" if release.low else ""
    typer.echo(f"{len(release):,} row{plural} · {cost}{covers}")


def cells(release: Release) -> tuple[list[list[str]], list[bool]]:
    """The rows of an answer as text, and which columns are numbers."""
    from discreet.sql.finish.answer import is_number, with_interval

    columns = []
    for name in release.columns:
        values = far.values(release.values.column(name))
        ends = ([False] * len(values),) * 2
        if name in release.low:
            ends = (release.low[name].to_pylist(), release.high[name].to_pylist())
        columns.append([with_interval(*cell) for cell in zip(values, *ends, strict=True)])
    right = [name in release.low or is_number(release.values, name) for name in release.columns]
    return [list(row) for row in zip(*columns, strict=True)], right


def say(words: str) -> None:
    """Say something beside the answer: on stderr, dimmed on a terminal."""
    typer.secho(words, err=True, dim=sys.stderr.isatty())
