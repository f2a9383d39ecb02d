"""The most memory that a process ever held, without the memory of the one that started it.

Linux hands `ru_maxrss` on: a process begins with the peak of its parent, over exec, too. So a small process of a large
parent would seem never to grow. `VmHWM` begins anew with each program.
"""

from __future__ import annotations

import sys
from pathlib import Path

SOURCE = """
def peak():
    import resource, sys
    try:
        status = open("/proc/self/status").read()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
"""
"""For a process of its own, which need not know this package: a function `peak`, of bytes."""


def peak() -> int:
    """The most memory that this process ever held, in bytes."""
    try:
        return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) * 1024
    except OSError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
