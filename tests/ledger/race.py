"""Processes that race for one budget; run as `python race.py FILE FAULT`, prints what was granted as JSON.

Eight processes wait at a gate, then each asks 25 times. With FAULT `unlocked` the check of the budget is done
before the transaction that writes, as a careless ledger would.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Sequence

import discreet.ledger.postgres.store
import discreet.ledger.sqlite.store  # noqa: F401  # load before the forks, as a server would
from discreet.accounting.events import Event
from discreet.errors import BudgetExceeded, LedgerCorrupt
from discreet.ledger import Account, Charge, Ledger, Loss, open_ledger
from discreet.ledger.admission import admit_charge
from discreet.ledger.chain.book import after
from discreet.ledger.chain.entry import Entry, make_entry
from discreet.ledger.store import LedgerRows

PROCESSES, ATTEMPTS = 8, 25
ACCOUNTS = (Account("data set visits", Loss(1)), Account("everyone", Loss(2)))


class Unlocked(Ledger):
    def charge(
        self,
        question: str,
        loss: Loss | Event,
        accounts: Sequence[Account],
        *,
        guarantee: str = "",
        description: str = "",
        admit: Callable[[Entry | None], None] | None = None,
        once: bool = False,
    ) -> Charge:
        assert isinstance(loss, Loss)
        postings = self._store.read(lambda rows: [admit_charge(rows, account, loss) for account in accounts])

        time.sleep(0.001)  # so that the fault cannot hide, however few cores there are

        def work(rows: LedgerRows) -> Charge:
            book = rows.book()
            totals = after(book, {line.account: line.tally for line in postings})
            entry = make_entry(book.head, "charge", question, totals=totals, postings=postings)
            rows.append(entry)
            return Charge(entry.number, entry.hash, question, loss)

        return self._store.write(work)


def ask(path: str, fault: str) -> dict[str, int]:
    ledger = open_ledger(path)
    if fault == "unlocked":
        ledger = Unlocked(ledger._store)
    granted = refused = stopped = 0
    with ledger:
        for i in range(ATTEMPTS):
            try:
                ledger.settle(ledger.charge(f"q{i}", Loss("0.02"), ACCOUNTS), b"answer")
                granted += 1
            except BudgetExceeded:
                refused += 1
            except LedgerCorrupt:  # it follows the entries of the others, and one of them is wrong
                stopped += 1
                break
    return {"granted": granted, "refused": refused, "stopped": stopped}


def main(path: str, fault: str) -> None:
    if "://" in path:
        importlib.import_module("psycopg")  # before the forks
    gate, opener = os.pipe()
    results, report = os.pipe()
    for _ in range(PROCESSES):
        if os.fork() == 0:
            os.close(opener)
            os.read(gate, 1)  # returns when the parent closes the other end
            os.write(report, json.dumps(ask(path, fault)).encode() + b"\n")
            os._exit(0)
    os.close(gate)
    os.close(report)
    os.close(opener)
    with os.fdopen(results) as lines:
        counts = [json.loads(line) for line in lines]
    statuses = [os.wait()[1] for _ in range(PROCESSES)]
    total = {key: sum(count[key] for count in counts) for key in ("granted", "refused", "stopped")}
    print(json.dumps(total | {"failed": sum(map(bool, statuses))}))


if __name__ == "__main__":
    main(*sys.argv[1:])
