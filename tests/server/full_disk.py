"""Analysts who ask while the disk is full; run as `python -m tests.server.full_disk CASE FOLDER`, prints JSON.

Cases: `limit`, the files of the server may not grow, by a limit of the operating system; `disk`, a tmpfs that is
full (needs the right to mount; exit code 77 without it).
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path

from benchmarks.crowd import Crowd, gathered

from tests.depth import examples
from tests.server.aftermath import see_history, see_ledger

TIMES = examples(1, 10)
SECONDS = examples(1, 5)
LEFT = 60_000
"""Bytes that are left on a disk that is almost full, so that it becomes full at any step of a question."""
DECLARED = ("LedgerError", "Unavailable")


def grow(crowd: Crowd, most: int) -> None:
    """Let the files of servers grow up to so many bytes."""
    for server in crowd.servers:
        limit = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (most, limit[1]))


def fill(case: str, crowd: Crowd, folder: Path) -> None:
    """Leave little room."""
    if case == "limit":
        grow(crowd, max(one.stat().st_size for one in folder.rglob("*.db*")) + LEFT // 4)
    else:
        with (folder / "ballast").open("wb", 0) as ballast:
            try:
                while True:
                    ballast.write(b"x" * 4096)
            except OSError:
                ballast.truncate(ballast.tell() - LEFT)


def free(case: str, crowd: Crowd, folder: Path) -> None:
    """Make room again."""
    if case == "limit":
        grow(crowd, resource.RLIM_INFINITY)
    else:
        (folder / "ballast").unlink()


def outcomes(crowd: Crowd) -> Counter[str]:
    """How often each came since this was asked; what failed is in the words of the service."""
    found = sum((one.outcomes for one in crowd.analysts), Counter[str]())
    for one in crowd.analysts:
        assert all(any(words in fault for words in DECLARED) for fault in one.faults), one.faults
        one.outcomes.clear()
        one.faults.clear()
    return found


def asked_until(outcome: str, crowd: Crowd) -> Counter[str]:
    """Ask for a while, and on until this came: a busy machine asks little in a second."""
    found = Counter[str]()
    for _ in range(30):
        crowd.ask(SECONDS)
        found += outcomes(crowd)
        if found[outcome]:
            break
    return found


def main(case: str, folder: Path) -> None:
    """Ask while there is room, while there is none, and when there is some again."""
    if case == "disk":
        mount = ["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", str(folder)]
        if subprocess.run(mount, capture_output=True).returncode:
            sys.exit(77)
    full, after = Counter[str](), Counter[str]()
    with ExitStack() as stack:
        crowd = gathered(stack, folder, "", servers=1, analysts=6, budget="110", each="20", slot="0.01")
        crowd.ask(SECONDS)
        outcomes(crowd)
        for _ in range(TIMES):
            fill(case, crowd, folder)
            full += asked_until("503", crowd)
            free(case, crowd, folder)
            after += asked_until("200", crowd)
        unanswered = see_history(crowd)
        logged = "".join(line for server in crowd.servers for line in server.errors)
    assert str(folder) not in logged
    assert "Traceback" not in logged
    charges = see_ledger(crowd, "", Fraction(110), Fraction(20), unanswered)
    print(json.dumps({"full": full, "after": after, "charges": charges, "bought nothing": unanswered}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
