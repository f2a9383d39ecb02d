"""Real servers of brokers, from Debian's packages."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
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


@contextmanager
def kafka_cluster(**partitions: int) -> Iterator[str]:
    """The mock cluster of Kafka's own client, with topics of so many partitions; its address."""
    if importlib.util.find_spec("confluent_kafka") is None:
        missing("confluent-kafka is not installed")
    import confluent_kafka

    root = Path(confluent_kafka.__file__).parent
    library = next(iter(root.with_name("confluent_kafka.libs").glob("librdkafka*")), None)
    if library is None:
        missing("the wheel of confluent-kafka has no library of its own")
    made, any_ = ctypes.CDLL(str(library)), ctypes.c_void_p
    made.rd_kafka_conf_new.restype = made.rd_kafka_new.restype = made.rd_kafka_mock_cluster_new.restype = any_
    made.rd_kafka_conf_set.argtypes = [any_, ctypes.c_char_p, ctypes.c_char_p, any_, ctypes.c_size_t]
    made.rd_kafka_new.argtypes = [ctypes.c_int, any_, any_, ctypes.c_size_t]
    made.rd_kafka_mock_cluster_new.argtypes = [any_, ctypes.c_int]
    made.rd_kafka_mock_topic_create.argtypes = [any_, ctypes.c_char_p, ctypes.c_int, ctypes.c_int]
    made.rd_kafka_mock_cluster_bootstraps.argtypes = made.rd_kafka_mock_cluster_destroy.argtypes = [any_]
    made.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
    made.rd_kafka_destroy.argtypes = [any_]
    quiet = made.rd_kafka_conf_new()
    made.rd_kafka_conf_set(quiet, b"log_level", b"0", None, 0)
    client = made.rd_kafka_new(0, quiet, None, 0)
    cluster = made.rd_kafka_mock_cluster_new(client, 1)
    try:
        for name, many in partitions.items():
            assert made.rd_kafka_mock_topic_create(cluster, name.encode(), many, 1) == 0
        yield made.rd_kafka_mock_cluster_bootstraps(cluster).decode()
    finally:
        made.rd_kafka_mock_cluster_destroy(cluster)
        made.rd_kafka_destroy(client)


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
