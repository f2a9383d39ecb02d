"""The commands, and the report of one that fails."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from discreet import __version__
from discreet.cli import audit, failure
from discreet.cli.commands import (
    budget,
    completion,
    demo,
    experiment,
    explain,
    gallery,
    init,
    plan,
    plot,
    preview,
    query,
    serve,
    stream,
    tables,
    tune,
)
from discreet.cli.commands.structures import graph, pate, synthesize
from discreet.cli.commands.structures import map as map_
from discreet.cli.commands.tools import card, mcp, shell
from discreet.errors import DiscreetError


class Commands(TyperGroup):
    """Turns every error that discreet raises on purpose into words on stderr and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        # Asked here, as a command that is used wrongly does not come to know its own options.
        as_json = "--json" in [*getattr(ctx, "_protected_args", ()), *ctx.args]
        try:
            return super().invoke(ctx)
        except (DiscreetError, OSError, KeyboardInterrupt) as error:
            if ctx.params.get("debug") or isinstance(error, BrokenPipeError):
                raise
            (failure.explain_json if as_json else failure.explain)(error)
            raise typer.Exit(failure.exit_code(error)) from None
        except TyperException as error:
            if not as_json:
                raise
            failure.explain_json(error)
            raise typer.Exit(failure.USAGE) from None


app = typer.Typer(
    cls=Commands,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    no_args_is_help=True,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"discreet {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Private answers to questions about people.

    Every answer is noisy by a known amount, and every question is charged to a budget that cannot be
    overdrawn.

    \b
    Start here:
      discreet demo
      discreet init visits.parquet -o policy.toml     (then make its decisions)
      discreet tables
      discreet query --mock "SELECT COUNT(*) FROM visits" --epsilon 0.1     (on invented data, free)
      discreet explain "SELECT COUNT(*) FROM visits" --epsilon 0.1
      discreet preview "SELECT COUNT(*) FROM visits" --epsilon 0.1
      discreet query   "SELECT COUNT(*) FROM visits" --epsilon 0.1
      discreet budget
      discreet shell --epsilon 0.05                                 (line by line, with completion)
      discreet serve --demo                                         (for several analysts, over HTTP)
      discreet mcp policy.toml --budget 0.5                         (for an assistant)
      discreet synthesize policy.toml --epsilon 1 -o synthetic.parquet   (rows that nobody gave)
      discreet plan --counts 3143 --epsilon 0.1 --neighbours replace     (without any data)

    \b
    Exit codes: 0 answered; 2 bad usage, bad policy or refused query; 3 refused budget;
    130 interrupted; 1 anything else.
    """  # noqa: D301


app.command("demo")(demo.command)
app.command("init")(init.command)
app.command("tables")(tables.command)
app.command("query")(query.command)
app.command("preview")(preview.command)
app.command("explain")(explain.command)
app.command("plot")(plot.command)
app.command("tune")(tune.command)
app.command("serve")(serve.command)
app.command("stream")(stream.command)
app.command("graph")(graph.command)
app.command("map")(map_.command)
app.command("pate")(pate.command)
app.command("synthesize")(synthesize.command)
app.command("card")(card.command)
app.command("shell")(shell.command)
app.command("mcp")(mcp.command)
app.command("completion")(completion.command)
app.command("gallery")(gallery.command)
app.command("plan")(plan.command)
app.add_typer(budget.app, name="budget")
app.add_typer(audit.app, name="audit", help="The log of a service: export it, and see that it is unchanged.")
app.add_typer(experiment.app, name="experiment")
