"""The memory that this process takes while something is done by several threads at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path


def resident() -> int:
    """Bytes of memory that this process has now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def peak_of(work: Callable[[], object], threads: int) -> int:
    """Bytes that this process took beyond those at the begin, at the most."""
    began = highest = resident()
    at_work = [threading.Thread(target=work) for _ in range(threads)]
    for one in at_work:
        one.start()
    while any(one.is_alive() for one in at_work):
        highest = max(highest, resident())
        time.sleep(0.002)
    return highest - began
