"""`discreet experiment`: runs an experiment of a textbook, and prints the curve."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import options as opt
from discreet.cli.progress import ProgressLine

if TYPE_CHECKING:
    from discreet.spatial import Cell

app = typer.Typer(
    help="Run an experiment and print its curve: the measured values beside those of the formula.",
    rich_markup_mode=None,
    no_args_is_help=True,
    add_completion=False,
)
_WIDTH = 36
MOST_DIGITS = 12
"""Of a number of people."""


def counted(progress: ProgressLine, words: str) -> Callable[[int, int], None]:
    """A function that tells the progress line how much is done."""
    return lambda done, of: progress.say(f"{words}: {done:,} of {of:,}")


@app.command("heights")
def heights(
    people: Annotated[int, typer.Option("--people", metavar="N", help="How many people report.")] = 500,
    rounds: Annotated[int, typer.Option("--rounds", metavar="N", help="How often, for each point.")] = 100,
    as_json: opt.Json = False,
) -> None:
    """Let people report their heights with Laplace noise, and see how far off the mean is.

    \b
    Examples:
      discreet experiment heights
      discreet experiment heights --people 2000 --rounds 1000 --json
    """  # noqa: D301
    from discreet.local import height_experiment
    from discreet.release.documents import dump

    with ProgressLine("asking people") as progress:
        run = height_experiment(people, rounds, progress=counted(progress, "points"))
    points = [vars(point) for point in run.points]
    if as_json:
        typer.echo(dump({"people": people, "rounds": rounds, "ratio": run.ratio, "points": points}))
        return
    sizes = list(dict.fromkeys(point.sensitivity for point in run.points))
    table = {(point.sensitivity, point.epsilon): point for point in run.points}
    most, least = max(p.error for p in run.points), min(p.error for p in run.points)
    typer.echo(
        "error of the mean height, in cm: measured (by the formula 2 b/sqrt(pi n), b = sensitivity/epsilon)"
    )
    marks = "  ".join(f"{mark} {size}" for mark, size in zip("abc", sizes, strict=True))
    header = "".join(f"sensitivity {size}".rjust(20) for size in sizes)
    typer.echo(f"epsilon  {header}   {marks}, logarithmic")
    for epsilon in dict.fromkeys(point.epsilon for point in run.points):
        row = [table[size, epsilon] for size in sizes]
        cells = "".join(f"{_three(p.error)} ({_three(p.expected)})".rjust(20) for p in row)
        bar = _marks([p.error for p in row], least, most)
        typer.echo(f"{epsilon:<9g}{cells}  {bar}".rstrip())
    typer.echo(f"error / b = {run.ratio:.4f} over all points; {rounds:,} rounds of {people:,} people each")


@app.command("mean")
def mean(
    rounds: Annotated[int, typer.Option("--rounds", metavar="N", help="How often, for each case.")] = 200,
    private: Annotated[bool, typer.Option("--private-n", help="Hide the number of people, too.")] = False,
    file: Annotated[
        Path | None,
        typer.Option("--data", metavar="FILE", help="A CSV file of yours instead of invented people."),
    ] = None,
    column: Annotated[str, typer.Option("--column", metavar="NAME", help="Its column.")] = "educ",
    bounds: Annotated[str, typer.Option("--bounds", metavar="LO:HI", help="Its bounds.")] = "1:16",
    as_json: opt.Json = False,
) -> None:
    """Release a mean of levels of education, 1 to 16, again and again: for 200 to 1,500 people and several epsilons.

    \b
    Examples:
      discreet experiment mean
      discreet experiment mean --rounds 1000 --private-n --json
      discreet experiment mean --data census.csv --column educ --bounds 1:16

    \b
    It shows errors of the noise, for which it looks at the file without a budget: use data that you may see.
    """  # noqa: D301
    import numpy as np

    from discreet.cli.output import print_table
    from discreet.plots.means import mean_releases
    from discreet.release.documents import dump

    _, ends = opt.read_bounds(f"x={bounds}")
    with ProgressLine("releasing") as progress:
        values = None if file is None else _column(file, column)
        cases = mean_releases(
            values, ends, rounds=rounds, private=private, progress=counted(progress, "cases")
        )
    rows = [
        {"people": case.people, "epsilon": case.epsilon, "error": float(np.abs(case.errors).mean()),
         "radius": case.radius, "coverage": case.coverage}
        for case in cases
    ]  # fmt: skip
    if as_json:
        typer.echo(dump({"rounds": rounds, "private_n": private, "cases": rows}))
        return
    body = [
        [f"{row['epsilon']:g}", f"{row['people']:,}", _three(row["error"]), f"± {_three(row['radius'])}",
         f"{100 * row['coverage']:.1f} %"]
        for row in rows
    ]  # fmt: skip
    print_table(
        ["epsilon", "people", "mean error", f"{100 * (1 - cases[0].alpha):g} % radius", "within it"],
        body,
        [True] * 5,
    )
    share = float(np.mean([case.coverage for case in cases]))
    typer.echo(f"{100 * share:.2f} % of {rounds * len(cases):,} releases lie within the radius")


@app.command("nest")
def nest(
    epsilon: Annotated[str, typer.Option("-e", "--epsilon", metavar="EPSILON", help="Of the map.")] = "0.5",
    cap: Annotated[
        int, typer.Option("--cap", metavar="N", help="How many sightings of a watcher count.")
    ] = 4,
    side: Annotated[int, typer.Option("--side", metavar="N", help="How many cells to each side.")] = 100,
    as_json: opt.Json = False,
) -> None:
    """Attack a heat map: guess for each cell whether one watcher saw a nest there, when all else is known.

    \b
    Examples:
      discreet experiment nest
      discreet experiment nest --epsilon 2 --cap 1 --side 200 --json
    """  # noqa: D301
    import discreet as dp
    from discreet.release.documents import dump
    from discreet.spatial import nest_attack
    from discreet.spatial.nest import CROWD

    with ProgressLine("attacking a map"):
        found = nest_attack(dp.protect, epsilon, cap, side)
    if as_json:
        wood = None if found.wood is None else [found.wood.value, found.wood.low, found.wood.high]
        typer.echo(dump({"epsilon": epsilon, "cap": cap, **vars(found), "wood": wood}))
        return
    times = "once" if cap == 1 else f"{cap} times"
    typer.echo(f"{found.cells:,} cells, by a coin each: a nest that one watcher saw {times}, or nothing")
    typer.echo(
        f"right guesses: {100 * found.right:.1f} %; in the long run {100 * found.expected:.1f} %, "
        f"where epsilon {epsilon} allows {100 * found.most:.1f} %, and a map without noise 100 %"
    )
    typer.echo(f"nests that the map shows as more than noise: {100 * found.shown:.2g} %")
    typer.echo(f"the wood where {CROWD} watchers were: {_wood(found.wood)}")


def _wood(cell: Cell | None) -> str:
    if cell is None:
        return "not told from noise"
    return f"found, {cell.value:,.0f} ({cell.low:,.0f} to {cell.high:,.0f})"


@app.command("triangles")
def triangles(as_json: opt.Json = False) -> None:
    """Compare how far off the triangles of four known graphs are, with one edge hidden, by each kind of noise.

    \b
    Examples:
      discreet experiment triangles
      discreet experiment triangles --json
    """  # noqa: D301
    from discreet.cli.output import print_table
    from discreet.graphs.published import known_graphs
    from discreet.release.documents import dump

    with ProgressLine("looking at graphs"):
        found = [vars(graph) for graph in known_graphs()]
    if as_json:
        typer.echo(dump({"epsilon": 1, "delta_of_smooth_laplace": "1e-6", "graphs": found}))
        return
    counts = ["edges", "triangles", "local", "worst"]
    errors = {"bound": "global", "published": "published", "smooth": "smooth", "ladder": "ladder",
              "smooth_laplace": "smooth-laplace"}  # fmt: skip
    print_table(
        ["graph", *counts, *errors.values()],
        [
            [
                graph["name"],
                *(f"{graph[column]:,}" for column in counts),
                *(f"{graph[column]:.1f}" for column in errors),
            ]
            for graph in found
        ],
        [False] + [True] * (len(counts) + len(errors)),
    )
    typer.echo(
        "local and worst: by how much an edge moves triangles, in this graph and in the worst of its size"
    )
    typer.echo(
        "then median errors at epsilon 1; published: Cauchy noise by the published formula, not on integers"
    )
    typer.echo("smooth-laplace has a delta of 1e-6")


@app.command("personal")
def personal(
    people: Annotated[
        list[str] | None,
        typer.Option("--people", metavar="N:EPSILON", help="So many people allow so much; may be repeated."),
    ] = None,
    share: Annotated[
        float, typer.Option("--share", metavar="P", min=0, max=1, help="The share of them that is counted.")
    ] = 0.4,
    as_json: opt.Json = False,
) -> None:
    """Compare the errors of a count of people who allow different epsilons, by the least one and by sampling.

    The least epsilon of all holds for everybody. Sampling runs at a threshold: it keeps a person who allows less with
    a probability, so that the loss about them is theirs, and the count is scaled to everybody. The errors are those of
    the formula, for groups of equal prevalence.

    \b
    Examples:
      discreet experiment personal
      discreet experiment personal --people 900:1 --people 100:0.1 --share 0.5 --json
    """  # noqa: D301
    from discreet.accounting import PersonalGroup, count_error
    from discreet.cli.output import print_table
    from discreet.errors import InvalidParameter
    from discreet.rational import epsilon_of
    from discreet.release.documents import dump

    groups = []
    for text in people or ("400:0.5", "400:1", "200:0.1"):
        many, _, epsilon = text.partition(":")
        try:
            if not many.isdecimal() or len(many) > MOST_DIGITS or not int(many):
                raise InvalidParameter("The number of people is out of range.")
            groups.append(PersonalGroup(int(many), epsilon_of(epsilon), share))
        except InvalidParameter:
            raise opt.Usage(f"--people {text}: write 400:0.5, so many people and their epsilon") from None
    each = sorted({epsilon_of(group.epsilon) for group in groups})
    named = {"the least epsilon": None, **{f"sampling at {float(t):g}": t for t in each[1:]}}
    errors = {name: count_error(groups, threshold).rms for name, threshold in named.items()}
    if as_json:
        typer.echo(dump({"people": sum(group.people for group in groups), "rms": errors}))
        return
    best = min(errors, key=lambda name: errors[name])
    print_table(
        ["way", "rms error", ""],
        [[name, f"{error:,.2f}", "least" if name == best else ""] for name, error in errors.items()],
        [False, True, False],
    )


def _column(file: Path, name: str) -> list[float]:
    """The numbers of a column of a CSV file; cells without a number are left out."""
    import csv

    values = []
    with file.open(encoding="utf-8") as lines:  # any line ends, also those of an old Macintosh
        reader = csv.DictReader(lines)
        if name not in (reader.fieldnames or ()):
            raise opt.Usage(f"--column {name}: the file has no such column")
        for row in reader:
            with contextlib.suppress(ValueError, TypeError):
                values.append(float(row[name]))
    return values


def _three(value: float) -> str:
    """Three digits that mean something.

    Example:
        >>> _three(1661.1), _three(12.345), _three(0.5)
        ('1,661', '12.3', '0.500')
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:#.3g}"


def _marks(errors: list[float], least: float, most: float) -> str:
    """The letters a, b, c where the errors lie on a logarithmic line.

    Example:
        >>> _marks([1.0, 10.0], 1.0, 10.0)
        'a                                   b'
    """
    import math

    line = [" "] * (_WIDTH + 1)
    for mark, error in zip("abc", errors, strict=False):
        share = math.log(error / least) / math.log(most / least) if most > least else 0.0
        line[round(share * _WIDTH)] = mark
    return "".join(line).rstrip()
