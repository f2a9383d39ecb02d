"""`discreet graph`: counts of a graph, from a table of its edges."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import options as opt
from discreet.cli.option_groups import grouped
from discreet.cli.place import source_of
from discreet.cli.progress import ProgressLine
from discreet.cli.terminal.sink import Sink
from discreet.records import dataclass

if TYPE_CHECKING:
    from discreet.policy import Budget
    from discreet.session.sources.graphing import GraphPreview


@dataclass(frozen=True)
class Way:
    """The way to count."""

    max_degree: Annotated[
        int | None,
        typer.Option(
            "--max-degree", metavar="D", help="Edges of a hidden vertex that count; or the last degree shown."
        ),
    ] = None
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="NAME",
            help="ladder, smooth, smooth-laplace, global or local; of hidden vertices flow or projection.",
        ),
    ] = ""
    width: Annotated[
        int | None,
        typer.Option(
            "--width",
            metavar="N",
            help="A public guess of the most common neighbours; it chooses the method.",
        ),
    ] = None
    delta: Annotated[
        str | None,
        typer.Option("--delta", metavar="DELTA", help="May be spent; it buys the method smooth-laplace."),
    ] = None
    in_engine: Annotated[
        bool | None,
        typer.Option(
            "--in-engine/--here",
            help="Where the edges are counted; by default tables of Spark there and others in this process.",
            show_default=False,
        ),
    ] = None


@dataclass(frozen=True)
class Granted:
    """The budget of a graph."""

    budget: opt.BudgetEpsilon = None
    budget_delta: Annotated[
        str | None,
        typer.Option(
            "--budget-delta",
            metavar="DELTA",
            help="All of delta that may ever be spent; else none is granted.",
        ),
    ] = None
    ledger: opt.LedgerPlace = None

    def read(self) -> str | Budget:
        """The budget.

        Raises:
            Usage: none was named.
        """
        from discreet.policy import Budget

        if self.budget is None:
            raise opt.Usage("name with --budget all that may ever be spent on the graph")
        if self.budget_delta is None:
            return self.budget
        return Budget(epsilon=self.budget, delta=self.budget_delta)


@grouped
def command(
    source: Annotated[
        str, typer.Argument(metavar="FILE|URL", help="The edges, a row each.", show_default=False)
    ],
    count: Annotated[
        str,
        typer.Option(
            "--count",
            metavar="NAME",
            help="edges, degrees, triangles, 2-stars … 8-stars, components, clustering or assortativity.",
        ),
    ],
    epsilon: Annotated[str, typer.Option("-e", "--epsilon", metavar="EPSILON", help="Of the question.")],
    sink: Sink,
    way: Way,
    granted: Granted,
    vertices: Annotated[
        str | None,
        typer.Option(
            "--vertices",
            metavar="N|A..B|FILE",
            help="How many there are at most; or the public ones: 1..34, or a file with a name on each line.",
        ),
    ] = None,
    hide: Annotated[
        str, typer.Option("--hide", metavar="UNIT", help="edge, or vertex with all its edges.")
    ] = "edge",
    ends: Annotated[
        str | None, typer.Option("--ends", metavar="FROM,TO", help="The two columns of an edge.")
    ] = None,
    table: opt.Table = None,
    confidence: opt.Confidence = 0.95,
    preview: Annotated[
        bool,
        typer.Option("--preview", help="Predict the error of each method; it is free, and reads no edge."),
    ] = False,
) -> None:
    """Count in a graph so that no edge shows, or no vertex with its edges, and charge epsilon.

    Where an edge is hidden, the vertices are public. An edge has no direction, and counts once.

    \b
    Examples:
      discreet graph friends.csv --count triangles -e 1 --vertices 1..34 --budget 3
      discreet graph friends.csv --count triangles -e 1 --vertices 1..34 --budget 3 --preview
      discreet graph friends.csv --count triangles -e 1 --delta 1e-6 --vertices 1..34 --budget 3 --budget-delta 1e-5
      discreet graph spark:friends --count triangles -e 1 --vertices 1000000 --budget 3
      discreet graph friends.parquet --count degrees -e 1 --vertices people.txt --budget 3 -o degrees.svg
      discreet graph friends.csv --count edges -e 1 --hide vertex --max-degree 20 --vertices 50 --budget 3 --json
    """  # noqa: D301
    from discreet.cli.output import say
    from discreet.release.bill import Bill
    from discreet.session.sources.graphing import graph

    limit = granted.read()
    names = _vertices(vertices)
    columns = None if ends is None else _ends(ends)
    sink.see()
    hidden = hide == "vertex"
    with ProgressLine("opening the graph") as progress, Bill(), source_of("FILE"), graph(
        source, budget=limit, vertices=names, privacy_unit=hide, max_degree=way.max_degree if hidden else None,
        ends=columns, table=table, ledger=granted.ledger, in_engine=way.in_engine,
    ) as session:  # fmt: skip
        keywords: dict[str, Any] = {"confidence": confidence, "width": way.width, "delta": way.delta,
                                    "max_degree": None if hidden else way.max_degree}  # fmt: skip
        if preview:
            _predict(session.preview(count, epsilon, **keywords), sink.as_json)
            return
        if sink.output is not None:
            session.files.see_free(sink.output)
        progress.say("counting")
        release = session.ask(count, epsilon, method=way.method, **keywords)
        left, where = session.budget, session.ledger.where
    if sink.table is not None:
        _write(release, sink)
    else:
        sink.put(release, left)
    if not sink.quiet:
        if sink.output is not None:
            say(f"wrote {sink.output}")
        for note in release.notes:
            say(note if note == release.notes[0] else f"not covered: {note}")
        say(f"budget: {left}, kept in {where}")


def _predict(made: list[GraphPreview], as_json: bool) -> None:
    from discreet.cli.output import print_table
    from discreet.rational import small
    from discreet.release.documents import dump

    if as_json:
        deltas = {preview.method: float(preview.delta) for preview in made if preview.delta}
        typer.echo(
            dump(
                {
                    "best": made[0].method,
                    "methods": {preview.method: preview.error for preview in made},
                    "deltas": deltas,
                }
            )
        )
        return
    rows = [
        [preview.method, f"{preview.error:,.4g}", small(preview.delta) if preview.delta else "0"]
        for preview in made
    ]
    print_table(["method", "error", "delta"], rows, [False, True, True])


def _write(release: Any, sink: Sink) -> None:
    """Write an answer into a file of a table."""
    from discreet.release.answer_file import Target

    assert sink.table is not None
    target = Target(sink.table, replace=True, formulas=sink.formulas)
    with target.folder() as folder:
        target.write([release], folder)


def _ends(text: str) -> tuple[str, str]:
    names = tuple(text.split(","))
    if len(names) != 2:
        raise opt.Usage(f"--ends {text}: name two columns, such as from,to")
    return names[0], names[1]


def _vertices(text: str | None) -> Any:
    """How many vertices there are, or their names."""
    if text is None:
        return None
    if text.isascii() and text.isdigit():
        return int(text)
    first, dots, last = text.partition("..")
    if dots and first.lstrip("-").isdigit() and last.lstrip("-").isdigit():
        if int(last) < int(first):
            raise opt.Usage(f"--vertices {text}: write the least name first, {last}..{first}")
        return range(int(first), int(last) + 1)
    path = Path(text)
    if not path.is_file():
        raise opt.Usage(
            f"--vertices {text}: write a number, a range like 1..34, or a file with a name on each line"
        )
    return [line for line in path.read_text("utf-8").splitlines() if line]
