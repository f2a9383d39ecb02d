"""`discreet plan --stream T`: the errors of all methods for a stream, and the one to take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import options as opt
from discreet.records import dataclass

if TYPE_CHECKING:
    from discreet.accounting.events import Neighbours
    from discreet.streams.strategy import Strategy


@dataclass(frozen=True)
class Streamed:
    """The options of a plan for a stream."""

    stream: Annotated[
        int | None, typer.Option("--stream", metavar="T", min=1, help="Plan running totals over T periods.")
    ] = None
    rows: Annotated[
        int,
        typer.Option("--max-rows", metavar="N", min=1, help="Of a stream: how many rows of a unit count."),
    ] = 1
    delta: Annotated[
        str, typer.Option("--delta", metavar="DELTA", help="Of a stream: compare Gaussian noise, too.")
    ] = "0"
    window: Annotated[
        int, typer.Option("--window", metavar="W", min=0, help="Of a stream: totals of the last W periods.")
    ] = 0
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Of a stream: draw the errors, SVG or PNG."),
    ] = None


def stream(asked: Streamed, epsilon: str | None, neighbours: Neighbours) -> tuple[dict[str, Any], list[str]]:
    """The errors of the totals of counts: a document and lines; the curves go into a file.

    Args:
        asked: the options.
        epsilon: of the whole stream.
        neighbours: as the policy says.
    """
    from discreet.planning.read import epsilon as read_epsilon
    from discreet.rational import decimal, epsilon_of
    from discreet.streams import compared
    from discreet.streams.choice import moves

    periods, rows, delta, window = asked.stream or 0, asked.rows, asked.delta, asked.window
    if epsilon is None:
        raise opt.Usage("--stream needs an epsilon, such as --epsilon 1")
    if window > periods:
        raise opt.Usage(f"--window {window}: there are {periods} periods")
    loss = float(decimal(delta, "delta"))
    made = compared(periods, epsilon, rows, neighbours, delta, window)
    if asked.output is not None:
        from discreet.cli.output import say
        from discreet.plots.render import save
        from discreet.plots.streams import stream_errors

        save(stream_errors(periods, epsilon, rows, neighbours, delta=delta, window=window), asked.output)
        say(f"wrote {asked.output}")
    document = {
        "periods": periods,
        "epsilon": read_epsilon(epsilon),
        "delta": loss,
        "window": window,
        "rows": rows,
        "neighbours": neighbours,
        "best": made[0].strategy.name,
        "noise": made[0].noise,
        "methods": [
            {"name": method.strategy.name, "noise": method.noise, "rms": method.rms, "first": float(method.errors[0]),
             "last": float(method.errors[-1]), "worst": float(method.errors.max())}
            for method in made
        ],
    }  # fmt: skip
    if not window:
        document["binary_tree"] = _published(periods) * moves(rows, neighbours) / float(epsilon_of(epsilon))
    return document, _lines(document, made[0].strategy)


def _published(periods: int) -> float:
    """The error at epsilon 1 of the binary tree of the first papers (Dwork, Naor, Pitassi and Rothblum 2010)."""
    from discreet.streams.tree import Tree

    return Tree(periods, periods.bit_length(), averaged=False).laplace()


def _lines(found: dict[str, Any], best: Strategy) -> list[str]:
    from discreet.streams.tree import Tree

    rows, window, delta = found["rows"], found["window"], found["delta"]
    totals = f"totals of the last {window:,} of" if window else "running totals of"
    cost = f"epsilon {found['epsilon']:g}" + (f" and delta {delta:g}" if delta else "")
    many = f"{rows:,} row{'s' * (rows != 1)} of a unit"
    lines = [f"{totals} {found['periods']:,} periods · {cost} in all · at most {many}",
             f"{'method':<10}{'noise':<10}{'rms':>12}{'first':>12}{'last':>12}{'worst':>12}"]  # fmt: skip
    for method in found["methods"]:
        cells = "".join(f"{_short(method[name]):>12}" for name in ("rms", "first", "last", "worst"))
        lines.append(f"{method['name']:<10}{method['noise']:<10}{cells}")
    if not window:
        lines.append(
            "The binary tree of the first papers, all levels and no averages, under Laplace noise: rms "
            f"{_short(found['binary_tree'])}."
        )
    words = best.words
    if isinstance(best, Tree):
        words += f", {best.height} level{'s' * (best.height != 1)} of {best.branches} branches"
    noise = f" with {found['noise']} noise" if delta else ""
    lines.append(f"Take {best.name}{noise}: {words}.")
    if found["best"] != "doubling":
        lines.append("Where no period is the last, `discreet stream` without --periods takes doubling." if not window
                     else "For a window period and tree need no last period: `discreet stream` takes them without "
                     "--periods.")  # fmt: skip
    return lines


def _short(value: float) -> str:
    """Three digits at least.

    Example:
        >>> [_short(value) for value in (5.5678, 42.43, 125.6, 2896.3, 1.1e9)]
        ['5.57', '42.4', '126', '2,896', '1.1e+09']
    """
    if value >= 1e6:
        return f"{value:.2g}"
    return f"{value:,.0f}" if value >= 100 else f"{value:#.3g}"
