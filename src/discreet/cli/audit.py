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
    from discreet.server.records.state import ServiceState

app = typer.Typer(
    help="The log of a service: export it, and see that it is unchanged.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)
Policies = Annotated[
    list[Path] | None,
    typer.Argument(metavar="POLICY…", show_default=False, help="As of `discreet serve`."),
]
Database = Annotated[
    str, typer.Option("--ledger", metavar="URL", help="The database of the service, as of `discreet serve`.")
]


Server = Annotated[
    str | None,
    typer.Option("--server", metavar="URL", help="Ask a server, with a steward's token in $DISCREET_TOKEN."),
]


@app.command("export")
def export(policies: Policies = None, ledger: Database = "", server: Server = None) -> None:
    """Print the audit log: who did which things when. Each line is JSON, sealed, and follows from the one before.

    \b
    Examples:
      discreet audit export policy.toml > audit.jsonl
      discreet audit export --server https://stats.example.org > audit.jsonl
      discreet audit verify --file audit.jsonl
    """  # noqa: D301
    if server is not None:
        _see_alone(policies, ledger)
        from discreet.client.audit import exported

        for line in exported(server):
            typer.echo(line)
        return
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
    server: Server = None,
    as_json: opt.Json = False,
) -> None:
    """Compute every hash of the audit log again.

    A server computes them itself; to compute them here, verify its export.

    \b
    Examples:
      discreet audit verify policy.toml
      discreet audit verify --server https://stats.example.org
      discreet audit verify policy.toml --noted 12:9f2c…
    """  # noqa: D301
    from discreet.cli.commands.budget import head_of
    from discreet.release.documents import dump
    from discreet.server.records.audit import verify_export

    before: Head | None = head_of(noted)
    with ExitStack() as stack:
        if server is not None:
            _see_alone(policies, ledger, file)
            from discreet.client.audit import verified

            count, head = verified(server, noted)
        else:
            if file is not None:
                found = verify_export(stack.enter_context(file.open(encoding="utf-8")), before)
            else:
                found = _state(stack, policies, ledger).verify(before)
            count, head = found.number, f"{found.number}:{found.hash}"
    if as_json:
        typer.echo(dump({"lines": count, "head": head}))
        return
    lines = "1 line" if count == 1 else f"{count:,} lines"
    typer.echo(f"{lines}, each unchanged\nhead {head}")


def _see_alone(*local: object) -> None:
    """See that nothing at hand is named beside a server.

    Raises:
        Usage: something is.
    """
    if any(local):
        raise opt.Usage("--server has the log itself; leave POLICY, --ledger and --file out")


def _state(stack: ExitStack, policies: list[Path] | None, ledger: str) -> ServiceState:
    from discreet.ledger import exists, named
    from discreet.server.records.state import ServiceState
    from discreet.server.start import state_place

    place = state_place([policy_file(policy) for policy in policies or (None,)], ledger)
    if not exists(place):
        raise LedgerError(f"There is no service at {named(place)} yet.", "It is made by `discreet serve`.")
    state = ServiceState(place)
    stack.callback(state.close)
    return state
