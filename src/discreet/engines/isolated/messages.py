"""The messages between a service and its workers: lengths, JSON and Arrow streams. Nothing is unpickled."""

from __future__ import annotations

import json
from collections.abc import Mapping
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


def pair() -> tuple[Connection, Connection]:
    """The two ends of a line."""
    return Pipe()


def send(line: Connection, head: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
    """Send a head and tables."""
    line.send_bytes(json.dumps({**head, "tables": list(tables)}).encode())
    for table in tables.values():
        line.send_bytes(_packed(table))


def receive(line: Connection, largest: int | None = None) -> tuple[dict[str, Any], dict[str, pa.Table]]:
    """Receive a head and tables.

    Raises:
        EOFError, OSError: the other side is gone, or a part is larger than `largest` bytes.
    """
    import pyarrow as pa

    head = json.loads(line.recv_bytes(largest))
    tables = {}
    for name in head.pop("tables"):
        with pa.ipc.open_stream(line.recv_bytes(largest)) as reader:
            tables[name] = reader.read_all()
    return head, tables


def _packed(table: pa.Table) -> pa.Buffer:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()
