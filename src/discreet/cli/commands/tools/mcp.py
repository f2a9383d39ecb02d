"""`discreet mcp`: a server of the Model Context Protocol for assistants."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import options as opt
from discreet.cli.place import policy_file
from discreet.cli.progress import ProgressLine
from discreet.errors import InvalidParameter

if TYPE_CHECKING:
    from discreet.mcp.sources import QuestionSource


def command(
    policy: Annotated[
        Path | None, typer.Argument(metavar="POLICY", show_default=False, help="A policy file.")
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            "--budget",
            metavar="EPSILON",
            help="The most that the assistant may ever spend of the data set's budget.",
        ),
    ] = None,
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="The analyst that the assistant is.")
    ] = "assistant",
    server: Annotated[
        str | None,
        typer.Option("--server", metavar="URL", help="Ask a server, with the token in $DISCREET_TOKEN."),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(
            "--dataset", metavar="NAME", help="The data set of the server, where there are several."
        ),
    ] = None,
) -> None:
    """Let an assistant ask, within a budget of its own, over stdin and stdout.

    The assistant sees tables, previews prices and errors, and asks; it never sees a row, nor any text of the data that
    is no key of the policy. Its budget is kept in the ledger, so that it lasts over all conversations.

    \b
    Examples, as an assistant's configuration would run them:
      discreet mcp hospital/policy.toml --budget 0.5
      discreet mcp --server https://stats.example.org     (with $DISCREET_TOKEN; the budget is the server's)
    """  # noqa: D301
    if server is not None and (policy is not None or budget is not None):
        raise opt.Usage("--server has the policy and the budget itself; leave them out")
    if server is None and dataset is not None:
        raise opt.Usage("--dataset goes with --server")
    _see_installed()
    from discreet.mcp.tools import make_server

    with ExitStack() as stack:
        with ProgressLine("opening the data"):
            source = _local(stack, policy, budget, name) if server is None else _remote(server, dataset)
        make_server(source).run("stdio")


def _local(stack: ExitStack, policy: Path | None, budget: str | None, name: str) -> QuestionSource:
    from discreet.engines.isolated.workers import isolated
    from discreet.mcp.sources import Local
    from discreet.server.service import ServiceSettings
    from discreet.server.start import open_service

    stack.enter_context(isolated())
    service = open_service([policy_file(policy)], ServiceSettings())
    stack.callback(service.close)
    (found,) = service.datasets
    if budget is None and found not in service.people.grants(name):
        raise opt.Usage(f"{name} has no budget yet; give one with --budget 0.5")
    return Local(service, name, budget)


def _remote(server: str, dataset: str | None) -> QuestionSource:
    from discreet.client import connect
    from discreet.mcp.sources import ServerSource

    return ServerSource(connect(server, dataset=dataset))


def _see_installed() -> None:
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        raise InvalidParameter(
            "The library of this protocol is not installed.", "pip install 'discreet[mcp]'"
        )
