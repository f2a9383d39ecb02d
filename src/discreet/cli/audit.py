"""`discreet audit`: the log of a service, as lines that anybody can verify, and whether it is unchanged."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import options as opt
from discreet.cli.place import policy_file
from discreet.errors import LedgerError

if TYPE_CHECKING:
    from discreet.ledger import Head
    from discreet.server.records.state import State

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
Policies = Annotated[
    list[Path] | None,
    typer.Argument(metavar="POLICY…", show_default=False, help="As of `discreet serve`."),
]
Database = Annotated[
    str, typer.Option("--ledger", metavar="URL", help="The database of the service, as of `discreet serve`.")
]


@app.command("export")
def export(policies: Policies = None, ledger: Database = "") -> None:
    """Print the audit log: who did which things when. Each line is JSON, sealed, and follows from the one before.

    \b
    Examples:
      discreet audit export policy.toml > audit.jsonl
      discreet audit verify --file audit.jsonl
    """  # noqa: D301
    with ExitStack() as stack:
        for line in _state(stack, policies, ledger).export():
            typer.echo(line)


@app.command("verify")
def verify(
    policies: Policies = None,
    ledger: Database = "",
    file: Annotated[
        Path | None,
        typer.Option("--file", metavar="FILE", help="An export, instead of the service's own log."),
    ] = None,
    noted: Annotated[
        str | None,
        typer.Option("--noted", metavar="NUMBER:HASH", help="A head that an earlier verify printed."),
    ] = None,
    as_json: opt.Json = False,
) -> None:
    """Compute every hash of the audit log again.

    \b
    Examples:
      discreet audit verify policy.toml
      discreet audit verify policy.toml --noted 12:9f2c…
    """  # noqa: D301
    from discreet.cli.commands.budget import head_of
    from discreet.release.documents import dump
    from discreet.server.records.audit import verify_export

    before: Head | None = head_of(noted)
    with ExitStack() as stack:
        if file is not None:
            head = verify_export(stack.enter_context(file.open(encoding="utf-8")), before)
        else:
            head = _state(stack, policies, ledger).verify(before)
    if as_json:
        typer.echo(dump({"lines": head.number, "head": f"{head.number}:{head.hash}"}))
        return
    lines = "1 line" if head.number == 1 else f"{head.number:,} lines"
    typer.echo(f"{lines}, each unchanged\nhead {head.number}:{head.hash}")


def _state(stack: ExitStack, policies: list[Path] | None, ledger: str) -> State:
    from discreet.ledger import exists, named
    from discreet.server.records.state import State
    from discreet.server.start import state_place

    place = state_place([policy_file(one) for one in policies or (None,)], ledger)
    if not exists(place):
        raise LedgerError(f"There is no service at {named(place)} yet.", "It is made by `discreet serve`.")
    state = State(place)
    stack.callback(state.close)
    return state
