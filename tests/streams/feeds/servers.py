"""Real servers of brokers, from Debian's packages."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.servers import missing


@contextmanager
def redis_server(folder: Path) -> Iterator[int]:
    """A Redis server; its port."""
    port = _free()
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", ""]
    with _running("redis-server", command, port):
        yield port


@contextmanager
def nats_server(folder: Path) -> Iterator[int]:
    """A NATS server with JetStream; its port."""
    port = _free()
    command = ["nats-server", "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", str(folder)]
    with _running("nats-server", command, port):
        yield port


def _free() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def _running(package: str, command: list[str], port: int) -> Iterator[None]:
    program = shutil.which(command[0]) or shutil.which(command[0], path="/usr/sbin:/sbin")
    if program is None:
        if package in os.environ.get("DISCREET_UNAVAILABLE", "").split():
            pytest.skip(f"{package} cannot be installed here")
        missing(f"{package} is not installed")
        return
    with subprocess.Popen(
        [program, *command[1:]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            deadline = time.monotonic() + 30
            while time.monotonic() < deadline:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                time.sleep(0.02)
            yield
        finally:
            process.kill()
