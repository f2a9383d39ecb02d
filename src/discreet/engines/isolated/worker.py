"""The process that evaluates: it is given SQL and tables on one line, and answers there; it can reach nothing else.

The limits of the operating system are set before anything of DuckDB is loaded. Once it is, no file and no socket can be
opened any more. A statement that took too much memory is answered, and then the process ends: nothing that it left
behind meets the next one.
"""

from __future__ import annotations

import os
import resource
import sys
import threading
import time
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from discreet.engines.isolated import messages

if TYPE_CHECKING:
    import pyarrow as pa

MIB = 1 << 20
OWN = 160
"""MiB that the interpreter and the libraries take of the memory of a process."""
LARGEST = 64 * MIB
"""Bytes of a result: several times those of the largest answer that the service gives."""


def main(descriptor: int, memory: int, parent: int) -> None:
    """Evaluate until the line is closed, or a statement took too much.

    Args:
        descriptor: of the line to the service.
        memory: MiB that this process may take.
        parent: the process of the service; without it this one ends, in the middle of a statement too.
    """
    _limit(resource.RLIMIT_DATA, memory * MIB)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    os.nice(5)
    sys.modules["pandas"] = None  # type: ignore[assignment]  # DuckDB and Arrow would load it, for nothing
    from discreet.engines import sandbox

    sandbox.LARGEST = LARGEST
    sandbox.SETTINGS.update(memory_limit=f"{memory - OWN}MiB", async_threads="1")
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    taken = os.open("/proc/self/statm", os.O_RDONLY) if os.path.exists("/proc/self/statm") else None
    with Connection(descriptor) as line:
        _warm()
        _limit(resource.RLIMIT_NOFILE, 0)
        messages.send(line, {}, {})  # it has begun
        last = False
        while not last:
            try:
                head, tables = messages.receive(line)
            except EOFError:
                return
            reply, result = _evaluated(tables, head["sql"], head["timeout"], head["rows"])
            failed = any(word in reply.get("cause", "") for word in BROKEN)
            last = failed or _resident(taken) > memory * MIB // 2
            messages.send(line, {**reply, "last": last}, result)
            del tables, result


BROKEN = ("Out of Memory", "FATAL Error", "INTERNAL Error")
"""Words of DuckDB after which a process is not used again."""


def _evaluated(
    tables: dict[str, pa.Table], sql: str, timeout: float, rows: int | None = None
) -> tuple[dict[str, Any], dict[str, pa.Table]]:
    from discreet.engines.sandbox import Sandbox
    from discreet.errors import PostProcessingError

    try:
        with Sandbox(tables, rows) as box:
            return {}, {"result": box.run(sql, timeout)}
    except PostProcessingError as error:
        return {"cause": error.cause, "fix": error.fix}, {}


def _warm() -> None:
    """Load all that a statement needs, while files can still be opened."""
    line, other = messages.pair()
    with line, other:
        _, result = _evaluated({}, "SELECT 1 AS one, CAST('2000-01-01' AS TIMESTAMPTZ) AS day", 60)
        messages.send(line, {}, result)
        _, tables = messages.receive(other)
        _evaluated(tables, "SELECT * FROM result; SELECT", 60)
        _evaluated(tables, "SELECT * FROM result", 60)


def _resident(taken: int | None) -> int:
    """Bytes of memory that this process has, where the operating system says it."""
    if taken is None:
        return 0
    pages = int(os.pread(taken, 100, 0).split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _limit(kind: int, most: int) -> None:
    resource.setrlimit(kind, (most, most))


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(0)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
