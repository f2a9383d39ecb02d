"""A ledger across forks; run as `python fork.py FILE`, prints what parent and children saw as JSON."""

from __future__ import annotations

import json
import os
import sys
import threading

from discreet.errors import BudgetExceeded, LedgerError
from discreet.ledger import Account, Ledger, Loss, open_ledger

VISITS = Account("data set visits", Loss(1))


def open_files(path: str) -> int:
    links = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
    if "://" in path:
        return sum(os.readlink(link).startswith("socket:") for link in links if os.path.lexists(link))
    return sum(os.path.realpath(link).startswith(path) for link in links if os.path.exists(link))


def spend(ledger: Ledger) -> int:
    granted = 0
    try:
        while True:
            ledger.settle(ledger.charge("q", Loss(0.01), [VISITS]), b"answer")
            granted += 1
    except BudgetExceeded:
        return granted


def main(path: str) -> None:
    ledger, memory = open_ledger(path), open_ledger(None)
    ledger.charge("q", Loss(0.01), [VISITS])
    before = open_files(path)
    read, write = os.pipe()
    stop = threading.Event()

    def keep_writing() -> None:
        while not stop.is_set():
            ledger.charge("q", Loss(0), [VISITS])

    writer = threading.Thread(target=keep_writing)
    writer.start()  # so that the forks come in the middle of transactions
    for _ in range(4):
        if os.fork() == 0:
            inherited = open_files(path)
            try:
                memory.charge("q", Loss(1), [VISITS])
                refused = False
            except LedgerError:
                refused = True
            seen = {"inherited": inherited, "refused": refused, "granted": spend(ledger)}
            os.write(write, json.dumps(seen).encode() + b"\n")
            ledger.close()
            os._exit(0)
    os.close(write)
    own = spend(ledger)
    with os.fdopen(read) as lines:
        children = [json.loads(line) for line in lines]
    stop.set()
    writer.join()
    for _ in range(4):
        os.wait()
    ledger.verify()
    result = {"before": before, "own": own, "children": children, "spent": str(ledger.spent(VISITS.name))}
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1])
