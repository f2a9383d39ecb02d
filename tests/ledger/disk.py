"""Ledgers on bad disks; run as `python disk.py CASE FOLDER`, prints what was said as JSON.

Cases: `quota`, a file-size limit of the operating system; `full`, a tmpfs of 400 kB that fills up (needs the
right to mount; exit code 77 without it); `readonly`, files and folders that may not be written, as seen by an
ordinary user.
"""

from __future__ import annotations

import json
import os
import resource
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from discreet.errors import LedgerError
from discreet.ledger import Account, Ledger, Loss, open_ledger

VISITS = Account("data set visits", Loss(10**6))
ANSWER = b"secret answer " * 3000


def said(action: Callable[[], object]) -> str:
    """What the typed error says; the traceback must not quote the answer or another library's error."""
    try:
        action()
    except LedgerError as caught:
        error = caught
    else:
        return "nothing went wrong"
    assert error.__cause__ is None
    assert error.__context__ is None
    assert error.fix
    assert "secret" not in str(error)
    return str(error)


def fill(ledger: Ledger) -> None:
    for i in range(1000):
        ledger.settle(ledger.charge(f"q{i}", Loss(1), [VISITS]), ANSWER)


def until_full(path: Path, free: Callable[[], None]) -> dict[str, object]:
    with open_ledger(path) as ledger:
        problem = said(lambda: fill(ledger))
        again = said(lambda: ledger.settle(ledger.charge("q", Loss(1), [VISITS]), ANSWER * 100))
        free()
        entries = ledger.verify()
        ledger.settle(ledger.charge("after", Loss(1), [VISITS]), ANSWER)
        charges = sum(entry.kind == "charge" for entry in ledger.entries())
        consistent = ledger.spent("data set visits") == Loss(charges) and ledger.replay("after") == ANSWER
    with open_ledger(path) as ledger:
        grown = ledger.verify() - entries
    return {"problem": problem, "again": again, "entries": entries, "grown": grown, "consistent": consistent}


def quota(folder: Path) -> dict[str, object]:
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    with open_ledger(folder / "ledger.db"):
        resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, hard))
    return until_full(folder / "ledger.db", lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard)))


def full(folder: Path) -> dict[str, object]:
    # This process runs in a mount namespace of its own: what it mounts is gone with it.
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode:
        sys.exit(77)
    enlarge = ["mount", "-o", "remount,size=9m", str(folder)]

    def free() -> None:
        subprocess.run(enlarge, check=True)

    return until_full(folder / "ledger.db", free)


def readonly(folder: Path) -> dict[str, object]:
    for name in ("file", "both", "hidden"):
        (folder / name).mkdir()
        with open_ledger(folder / name / "ledger.db") as ledger:
            ledger.charge("q", Loss(1), [VISITS])
    (folder / "new").mkdir()
    (folder / "file" / "ledger.db").chmod(0o444)
    (folder / "both" / "ledger.db").chmod(0o444)
    (folder / "hidden" / "ledger.db").chmod(0)
    for name, mode in (("file", 0o777), ("hidden", 0o777), ("both", 0o555), ("new", 0o555)):
        (folder / name).chmod(mode)
    folder.chmod(stat.S_IMODE(folder.stat().st_mode) | 0o055)
    if os.getuid() == 0:
        os.setuid(65534)  # nobody: root may write anything
    try:
        return {
            name: said(lambda path=folder / name / "ledger.db": open_ledger(path))  # type: ignore[misc]
            for name in ("file", "both", "hidden", "new")
        }
    finally:
        if os.getuid() != 65534:
            for name in ("both", "new"):
                (folder / name).chmod(0o777)


if __name__ == "__main__":
    cases = {"quota": quota, "full": full, "readonly": readonly}
    print(json.dumps(cases[sys.argv[1]](Path(sys.argv[2]))))
