"""The start of a service: its files, its first token, and the process that listens."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import secrets
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from discreet.client.transport import is_loopback
from discreet.errors import InvalidParameter, PolicyError, ServerError
from discreet.ledger.postgres.address import is_address
from discreet.records import dataclass
from discreet.server.dataset import DataSet, open_dataset
from discreet.server.desk import Caps
from discreet.server.oidc.provider import Provider
from discreet.server.oidc.settings import Oidc
from discreet.server.pages.draft import PolicyDraft
from discreet.server.records.state import ServiceState
from discreet.server.service import Service, ServiceSettings

if TYPE_CHECKING:
    import uvicorn

SUFFIX, SCHEMA = ".service.db", "discreet_service"
"""Where its state lies, in files and in a database."""

MOST_CONNECTIONS = 512
"""Connections that a process serves; one more is refused."""
GARBAGE = (100_000, 20, 100)
"""How seldom a process that serves looks for garbage: objects that were made, and looks at younger ones."""
SWITCH = 0.0005
"""Seconds that a thread of Python keeps the interpreter while others wait for it, a tenth of the usual time: a thread
that comes back from the disk in the middle of a charge waits for that long, and other processes for the charge."""


@dataclass(frozen=True)
class Listening:
    """Where a service listens, and by which name it is reached.

    Attributes:
        host: the address of this machine; only its own by default.
        port: 0 for any that is free.
        public_url: the https:// address of the proxy in front; empty without one.

    Raises:
        InvalidParameter: tokens and answers would cross a network in the clear.
    """

    host: str = "127.0.0.1"
    port: int = 8321
    public_url: str = ""

    def __post_init__(self) -> None:
        proxy = urlsplit(self.public_url)
        if self.public_url and (proxy.scheme != "https" or not proxy.hostname or proxy.path not in ("", "/")):
            raise InvalidParameter(
                "--public-url is not the https:// address of a proxy.", "Write https://stats.example.org."
            )
        if not is_loopback(self.host) and not self.public_url:
            raise InvalidParameter(
                "The service speaks plain HTTP, so that it listens on this machine alone.",
                "Put a proxy with TLS in front, and name its address with --public-url https://….",
            )

    def settings(self, caps: Caps) -> ServiceSettings:
        """The settings of a service that listens here."""
        name = urlsplit(self.public_url).hostname
        hosts = ServiceSettings().hosts + ((name.lower(),) if name else ())
        return ServiceSettings(
            caps=caps, hosts=hosts, secure=bool(self.public_url), public_url=self.public_url
        )


def state_place(policies: Sequence[Path], ledger: str = "") -> str:
    """The state of a service: a file beside its first policy, or a schema beside its ledgers."""
    return f"{ledger}#{SCHEMA}" if ledger else str(policies[0].absolute().with_suffix(SUFFIX))


def open_service(
    policies: Sequence[Path], settings: ServiceSettings, ledger: str = "", oidc: Oidc | None = None
) -> Service:
    """Open a service over the data sets of some policies.

    Args:
        policies: their files.
        settings: of the service.
        ledger: the url of a PostgreSQL database that keeps all ledgers and the state of the service, each in a schema
            of its own, so that several processes share them; empty for files beside the policies.
        oidc: the provider by which people sign in; None for tokens alone.

    Raises:
        InvalidParameter: the url is of another kind, or names a schema.
        DiscreetError: a policy, its data or a file of the service cannot be opened.
    """
    if ledger and (not is_address(ledger) or "#" in ledger):
        raise InvalidParameter(
            "The ledger of a service is not the url of a PostgreSQL database, or names a schema behind #.",
            "Write postgresql://user@host/database: each data set gets a schema of its own.",
        )
    with contextlib.ExitStack() as stack:
        found = []
        for path in policies:
            found.append(open_dataset(path, ledger))
            stack.callback(found[-1].session.close)
        provider = None if oidc is None else Provider(oidc)
        service = Service(
            by_name(found), ServiceState(state_place(policies, ledger)), settings, provider=provider
        )
        stack.callback(service.state.close)
        service.note_versions()
        stack.pop_all()
    return service


def by_name(datasets: Sequence[DataSet]) -> dict[str, DataSet]:
    """Data sets by name.

    Raises:
        PolicyError: two have one name.
    """
    found: dict[str, DataSet] = {}
    for dataset in datasets:
        if dataset.name in found:
            raise PolicyError(
                f"Two data sets have the name {dataset.name}.", "Name the policy files differently."
            )
        found[dataset.name] = dataset
    return found


def first_token(service: Service) -> str:
    """The token of the administrator of a service without a steward; empty where there is one."""
    with service.state.writing():  # of several processes that start at once, one makes it
        return "" if service.people.names("steward") else service.people.administrator()


def begin_service(draft: PolicyDraft, settings: ServiceSettings) -> Service:
    """A service without data, whose first page makes the policy of a file; `service.secret` is the way in."""
    service = Service({}, ServiceState(state_place([draft.place])), settings)
    service.draft, service.secret = draft, secrets.token_urlsafe(32)
    return service


def listen(service: Service, listening: Listening, ready: Callable[[str], None]) -> None:
    """Serve until the process is told to stop.

    Args:
        service: open; it is closed at the end.
        listening: where to listen.
        ready: called with the address once requests are taken.

    Raises:
        ServerError: the port is taken.
    """
    listener = bound(listening)
    listener.listen(128)  # a client that comes at once waits for the process below
    ready(address(listener))
    try:
        run(process(service), listener)
    finally:
        listener.close()


def run(server: uvicorn.Server, listener: socket.socket) -> None:
    """Serve until told to stop, in a process that does nothing else."""
    gc.collect()
    gc.freeze()  # modules and tables stay; to look for garbage among them takes a tenth of the time
    gc.set_threshold(*GARBAGE)
    sys.setswitchinterval(SWITCH)
    try:
        server.run([listener])
    except KeyboardInterrupt:
        if not server.should_exit:
            raise
        # Told to stop, it has answered the questions at work and ended: no failure, which systemd would note.
    finally:
        gc.unfreeze()  # else the engine's library reports each of its objects as leaked when the process ends


def address(listener: socket.socket) -> str:
    """The address of a socket, for a browser."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def process(service: Service) -> uvicorn.Server:
    """The process that listens, without debugging, logs of requests, or belief in headers that anybody can send."""
    import uvicorn

    from discreet.server.app import make_app
    from discreet.server.patience import MOST_HEAD

    return uvicorn.Server(
        uvicorn.Config(
            make_app(service), log_level="error", access_log=False, server_header=False, proxy_headers=False, ws="none",
            timeout_keep_alive=15, limit_concurrency=MOST_CONNECTIONS, h11_max_incomplete_event_size=MOST_HEAD,
            http=protocol(), lifespan="on", timeout_graceful_shutdown=30,
        )
    )  # fmt: skip


def protocol() -> type[asyncio.Protocol]:
    """The protocol for connections: the fastest that is installed."""
    try:
        from discreet.server.running.quick_protocol import QuickProtocol
    except ImportError:
        from discreet.server.patience import PatientProtocol

        return PatientProtocol
    return QuickProtocol


def bound(listening: Listening, *, shared: bool = False) -> socket.socket:
    """A socket that is bound, so that the port is known before anybody is told; one may be shared by processes."""
    family = socket.AF_INET6 if ":" in listening.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if shared:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        listener.bind((listening.host, listening.port))
    except OSError:
        listener.close()
        fault = True
    else:
        fault = False
    if fault:
        raise taken(listening.host, listening.port)
    return listener


def taken(host: str, port: int) -> ServerError:
    """The error for a port where something listens already."""
    return ServerError(f"Nothing can listen on {host}, port {port}.", "Name another one with --port.")
