"""`discreet serve`: the service for several analysts, over HTTP and with pages."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import options as opt
from discreet.cli.option_groups import grouped
from discreet.cli.place import policy_file
from discreet.cli.progress import ProgressLine
from discreet.errors import InvalidParameter
from discreet.records import dataclass

if TYPE_CHECKING:
    import ssl

    from discreet.server.service import Service

DEMO = {"ana": "1", "ben": "1.5"}
"""The analysts of the demo and their budgets: together more than the data set has, which holds all the same."""


@dataclass(frozen=True)
class Postgres:
    """PostgreSQL's protocol beside HTTP."""

    pg_port: Annotated[
        int | None,
        typer.Option(
            "--pg-port",
            min=0,
            max=65535,
            show_default=False,
            help="Speak PostgreSQL's protocol on this port, too.",
        ),
    ] = None
    pg_host: Annotated[
        str, typer.Option("--pg-host", help="The address for it; any but this machine needs a certificate.")
    ] = "127.0.0.1"
    pg_certificate: Annotated[
        Path | None,
        typer.Option(
            "--pg-certificate", metavar="FILE", show_default=False, help="Its certificate for TLS, PEM."
        ),
    ] = None
    pg_key: Annotated[
        Path | None, typer.Option("--pg-key", metavar="FILE", show_default=False, help="The key of it, PEM.")
    ] = None


@grouped
def command(
    postgres: Postgres,
    policies: Annotated[
        list[Path] | None,
        typer.Argument(metavar="POLICY…", show_default=False, help="Policy files, one for each data set."),
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Serve invented hospital visits to two invented analysts.")
    ] = False,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="The port; 0 for any that is free.")
    ] = 8321,
    public_url: Annotated[
        str, typer.Option("--public-url", metavar="URL", help="The https:// address of the proxy in front.")
    ] = "",
    timeout: Annotated[
        float, typer.Option("--timeout", min=1, max=3600, help="Seconds that a question may take.")
    ] = 64.0,
    slot: Annotated[
        float,
        typer.Option(
            "--slot", min=0.01, max=60, help="Answers come after so many seconds, or 2, 4, 8 … times as many."
        ),
    ] = 0.25,
    ledger: Annotated[
        str,
        typer.Option(
            "--ledger",
            metavar="URL",
            help="A PostgreSQL database for all ledgers and the state of the service, which several processes share.",
        ),
    ] = "",
    memory: Annotated[
        int,
        typer.Option(
            "--memory",
            min=256,
            metavar="MIB",
            help="Memory of each of the processes that evaluate the part of a question above the noise.",
        ),
    ] = 512,
    processes: Annotated[
        int, typer.Option("--processes", min=1, max=64, help="How many processes share the port.")
    ] = 1,
    oidc: Annotated[
        Path | None,
        typer.Option(
            "--oidc",
            metavar="FILE",
            show_default=False,
            help="Sign-in through the OpenID provider of this file; its secret is $DISCREET_OIDC_SECRET.",
        ),
    ] = None,
    new_token: Annotated[
        str | None,
        typer.Option("--new-token", metavar="NAME", help="Print a new token for a person, and exit."),
    ] = None,
) -> None:
    """Serve data sets to several analysts, each with a budget of their own.

    The first start makes an administrator and prints their token, once. With it, add analysts, give them
    budgets and tokens: on the pages, or under /api/v1. The service listens on this machine alone; a proxy
    with TLS in front lets others in.

    \b
    Examples:
      discreet serve --demo
      discreet serve hospital/policy.toml
      discreet serve visits.toml trips.toml --port 9000
      discreet serve policy.toml --public-url https://stats.example.org
      discreet serve policy.toml --ledger postgresql://discreet@db.example.org/budgets
      discreet serve policy.toml --processes 2
      discreet serve policy.toml --oidc provider.toml
      discreet serve policy.toml --pg-port 5433                (for psql, DBeaver, Metabase, Superset, …)
      discreet serve policy.toml --new-token administrator     (when all tokens are lost)
    """  # noqa: D301
    see_installed()
    from discreet.server.running.kept_pages import keep_pages

    keep_pages()  # before anything loads DuckDB
    from discreet.engines.isolated.workers import isolated
    from discreet.server.desk import Caps
    from discreet.server.oidc.settings import read_settings
    from discreet.server.running.several import ProcessResources, listen_together
    from discreet.server.start import Listening, listen, open_service

    if demo and (policies or new_token):
        raise opt.Usage("--demo serves data of its own; leave the policy out")
    if processes > 1 and postgres.pg_port is not None:
        raise opt.Usage("--pg-port goes with one process; start another one for it, on the same files")
    listening = Listening(host, port, public_url)
    tls = None if postgres.pg_port is None else _certificate(postgres)  # before a token is shown
    with ExitStack() as stack:
        stack.enter_context(isolated(memory))
        with ProgressLine("opening the data"):
            files = [_invented(stack)] if demo else [policy_file(policy) for policy in policies or (None,)]
            provider = None if oidc is None else read_settings(oidc)
            settings = listening.settings(Caps(timeout=timeout, slot=slot))
            service = open_service(files, settings, ledger, provider)
        if new_token is not None:
            stack.callback(service.close)
            typer.echo(service.people.issue("this machine", new_token))
            return
        with ExitStack() as unless_all_is_well:
            unless_all_is_well.callback(service.close)
            _tell_tokens(service, demo)
            if postgres.pg_port is not None:
                stack.enter_context(_speaking_postgres(service, postgres.pg_host, postgres.pg_port, tls))
            unless_all_is_well.pop_all()
        names = ", ".join(service.datasets)

        def ready(url: str) -> None:
            typer.echo(f"serving {names} at {url}", err=True)

        if processes > 1:
            service.close()
            listen_together(
                ProcessResources(files, settings, ledger, provider, memory), listening, processes, ready
            )
        else:
            listen(service, listening, ready)


def _certificate(given: Postgres) -> ssl.SSLContext | None:
    from discreet.pgwire.listening import certificate

    return certificate(given.pg_host, given.pg_certificate, given.pg_key)


@contextmanager
def _speaking_postgres(service: Service, host: str, port: int, tls: ssl.SSLContext | None) -> Iterator[None]:
    """Speak PostgreSQL's protocol beside HTTP."""
    from discreet.pgwire.listening import bound, serving

    listener = bound(host, port)
    address = listener.getsockname()[:2]
    with serving(service, listener, tls):
        typer.echo(f"speaking PostgreSQL's protocol on {address[0]}, port {address[1]}", err=True)
        yield


def _tell_tokens(service: Service, demo: bool) -> None:
    """Print the tokens of a new service, which nobody can see again."""
    from discreet.server.people import ADMINISTRATOR
    from discreet.server.start import first_token

    if token := first_token(service):
        typer.echo(f"{ADMINISTRATOR}: {token}", err=True)
        typer.echo("This token is shown once. It can do everything but ask; keep it as a key.", err=True)
    if demo:
        (dataset,) = service.datasets
        for name, epsilon in DEMO.items():
            service.people.add(ADMINISTRATOR, name, "analyst")
            service.people.grant(ADMINISTRATOR, name, dataset, epsilon)
            typer.echo(f"{name}: {service.people.issue(ADMINISTRATOR, name, 1)}", err=True)


def _invented(stack: ExitStack) -> Path:
    """The policy of invented data, gone at the end."""
    from discreet.cli.invented import make

    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="discreet-serve-"))) / "hospital"
    folder.mkdir()
    make(folder)
    return folder / "policy.toml"


def see_installed() -> None:
    """See that the libraries of the service are there.

    Raises:
        InvalidParameter: they are not.
    """
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        missing = True
    else:
        missing = False
    if missing:
        raise InvalidParameter(
            "The libraries of the service are not installed.", "pip install 'discreet[server]'"
        )
