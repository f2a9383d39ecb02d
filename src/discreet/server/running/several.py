"""Several processes that listen on one port: Python runs one thread of a process at a time.

Each opens the data, the ledgers and the state for itself; the system shares new connections out among them. One that
ends by itself is begun anew. All end with the process that began them, however that ends.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from discreet.engines.isolated.workers import isolated
from discreet.errors import InvalidParameter, ServerError
from discreet.records import dataclass
from discreet.server.oidc.settings import Oidc
from discreet.server.service import ServiceSettings
from discreet.server.start import Listening, address, bound, open_service, process, run, taken

EARLY, TRIES = 10.0, 5
"""A process that ends so many seconds after it began failed; after so many failures in a row all end."""
LONGEST_START = 120.0
"""Seconds for a process to begin."""


@dataclass(frozen=True)
class ProcessResources:
    """The things that each process opens.

    Attributes:
        policies: their files.
        settings: of the service.
        ledger: as for `open_service`.
        oidc: likewise.
        memory: MiB of each process that evaluates the part of a question above the noise.
    """

    policies: list[Path]
    settings: ServiceSettings
    ledger: str
    oidc: Oidc | None
    memory: int


def listen_together(
    opened: ProcessResources, listening: Listening, count: int, ready: Callable[[str], None]
) -> None:
    """Serve with several processes until this one is told to stop.

    Args:
        opened: by each of them.
        listening: where to listen.
        count: how many.
        ready: called with the address once all take requests.

    Raises:
        InvalidParameter: the system cannot share a port.
        ServerError: the port is taken, or the processes fail.
    """
    if not hasattr(socket, "SO_REUSEPORT"):
        raise InvalidParameter("This system cannot share a port among processes.", "Serve with one of them.")
    bound(listening).close()  # another service that shares the port would take a part of the requests unseen
    with bound(listening, shared=True) as held, _told_to_stop() as stop, ExitStack() as stack:
        host, port = held.getsockname()[:2]
        stack.enter_context(alone(host, port))
        own = Listening(host, port, listening.public_url)
        processes = [_begun(opened, own) for _ in range(count)]
        try:
            for child in processes:
                _see_ready(child)
            ready(address(held))
            _keep(processes, opened, own, stop)
        finally:
            for child in processes:
                child.process.terminate()
            for child in processes:
                child.process.join()


@contextlib.contextmanager
def alone(host: str, port: int) -> Iterator[None]:
    """Be the one service that shares an address among its processes, from before these listen until all have ended.

    Two that begin at once both find the port free. On Linux a name that only one of them gets tells them apart.

    Raises:
        ServerError: another service has it.
    """
    if sys.platform != "linux":
        yield
        return
    with socket.socket(socket.AF_UNIX) as held:
        try:
            held.bind(f"\0discreet serve {host} {port}")  # it ends with the process, and leaves no file
        except OSError:
            fault = True
        else:
            fault = False
        if fault:
            raise taken(host, port)
        yield


@dataclass
class _Begun:
    process: BaseProcess
    said: Connection
    began: float
    failures: int = 0


def _begun(opened: ProcessResources, listening: Listening, failures: int = 0) -> _Begun:
    context = get_context("spawn")  # threads and engines survive no fork
    said, says = context.Pipe(duplex=False)
    made = context.Process(target=_serve, args=(opened, listening, says), name="discreet-serve")
    made.start()
    says.close()
    return _Begun(made, said, time.monotonic(), failures)


def _see_ready(child: _Begun) -> None:
    """Wait until a process takes requests."""
    up = False
    with contextlib.suppress(EOFError), child.said:
        up = child.said.poll(LONGEST_START) and bool(child.said.recv())
    if not up:
        raise ServerError("A process of the service did not begin.", "Its error stands above.")


def _keep(processes: list[_Begun], opened: ProcessResources, listening: Listening, stop: Connection) -> None:
    """Begin each process anew that ends by itself, until told to stop."""
    while stop not in wait([stop, *(child.process.sentinel for child in processes)]):
        for place, child in enumerate(processes):
            if child.process.is_alive():
                continue
            child.process.join()
            failures = child.failures + 1 if time.monotonic() - child.began < EARLY else 0
            if failures >= TRIES:
                raise ServerError("The processes of the service fail.", "Their errors stand above.")
            processes[place] = _begun(opened, listening, failures)


@contextlib.contextmanager
def _told_to_stop() -> Iterator[Connection]:
    """A connection that has something to read once this process is told to stop."""
    end, begin = get_context("spawn").Pipe(duplex=False)
    kinds = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(kind, lambda *_: begin.send(True)) for kind in kinds]
    try:
        yield end
    finally:
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, handler)
        begin.close()
        end.close()


def _serve(opened: ProcessResources, listening: Listening, says: Connection) -> None:
    """One of the processes."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with isolated(opened.memory), bound(listening, shared=True) as listener:
        service = open_service(opened.policies, opened.settings, opened.ledger, opened.oidc)
        server = process(service)
        listener.listen(128)
        says.send(True)
        says.close()
        run(server, listener)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
