"""Processes that are killed while they answer; run as `python crash.py FILE KILLS FAULT`.

Each asks one new question after the other: charge, compute, settle, show. The parent kills it with SIGKILL
after a random time and starts the next one on the same file. Prints all answers that were ever shown as JSON.
FAULT is `none`, or what a careless ledger would do: `answer-first`, show and then charge, or `uncommitted`,
show before the transaction of charge and settlement commits.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import random
import signal
import sys
import time
from hashlib import sha256

import discreet.ledger.postgres.store
import discreet.ledger.sqlite.store  # noqa: F401  # load before the forks
from discreet.errors import BudgetExceeded
from discreet.ledger import Account, Ledger, Loss, open_ledger
from discreet.ledger.admission import admit_charge
from discreet.ledger.chain.book import after
from discreet.ledger.chain.entry import digest_of, make_entry
from discreet.ledger.store import LedgerRows

YOUNG = 20  # so many lives are cut short from their first moment, while the file is made
ENOUGH, MOST = 30, 10  # more lives are cut until enough answers are shown
LONGEST = 5  # questions; the other lives last so long after they are ready; one takes about 6 ms
EPSILON, PER_ANALYST = "0.1", "0.45"  # an analyst's budget ends after 4 questions, so refusals are frequent


def compute(question: str) -> bytes:
    until = time.perf_counter() + 0.001
    answer = question.encode()
    while time.perf_counter() < until:
        answer = sha256(answer).digest()
    return question.encode()


def accounts(analyst: int) -> list[Account]:
    return [Account("data set visits", Loss(10**6)), Account(f"analyst {analyst}", Loss(PER_ANALYST))]


def answer(ledger: Ledger, question: str, analyst: int, show: int, fault: str) -> None:
    def careless(rows: LedgerRows) -> None:
        postings = [admit_charge(rows, account, Loss(EPSILON)) for account in accounts(analyst)]
        book = rows.book()
        totals = after(book, {line.account: line.tally for line in postings})
        entry = make_entry(book.head, "charge", question, totals=totals, postings=postings)
        rows.append(entry)
        result = compute(question)
        digest, head = digest_of(result), rows.book().head
        settled = make_entry(head, "settle", question, totals=totals, settles=entry.number, digest=digest)
        rows.append(settled, io.BytesIO(result))
        os.write(show, result + b"\n")
        time.sleep(0.002)  # a slow commit

    if fault == "uncommitted":
        ledger._store.write(careless)
        return
    if fault == "answer-first":
        os.write(show, compute(question) + b"\n")
    charge = ledger.charge(question, Loss(EPSILON), accounts(analyst))
    result = compute(question)
    ledger.settle(charge, result)
    if fault == "none":
        os.write(show, result + b"\n")


def ask_until_killed(ledger: Ledger, show: int, life: int, fault: str) -> None:
    asked = 0
    while True:
        # Lives share analysts, so that a budget is spent partly before and partly after a kill.
        with contextlib.suppress(BudgetExceeded):
            answer(ledger, f"life {life} question {asked}", life // 4 * 1000 + asked // 4, show, fault)
        asked += 1


def time_of_a_question(ledger: Ledger, fault: str) -> float:
    """Seconds, as the machine and the store are now, so that a busy machine kills at the same points."""
    quiet, took = os.open(os.devnull, os.O_WRONLY), []
    for asked in range(5):
        began = time.perf_counter()
        answer(ledger, f"timed {asked}", -1 - asked, quiet, fault)
        took.append(time.perf_counter() - began)
    os.close(quiet)
    return sorted(took)[2]


def main(path: str, kills: int, fault: str) -> None:
    shown: list[str] = []
    parents = None
    life, longest = -1, 0.03
    if "://" in path:
        importlib.import_module(
            "psycopg"
        )  # before the forks, each of which would take longer for it than it lives
    while (life := life + 1) < kills or (len(shown) < ENOUGH and life < MOST * kills):
        if life == YOUNG:
            parents = open_ledger(path)  # later children inherit it, as in a server that forks its workers
            longest = LONGEST * time_of_a_question(parents, fault)
        read, show = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                ledger = parents if parents is not None and life % 2 else open_ledger(path)
                ledger.head()
                os.write(show, b"\n")
                ask_until_killed(ledger, show, life, fault)
            finally:
                os._exit(1)
        os.close(show)
        if life >= YOUNG:
            os.read(read, 1)
        time.sleep(random.uniform(0, longest))
        os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        assert os.WIFSIGNALED(status), "it ended before it was killed"
        with os.fdopen(read) as lines:
            # What was cut in the middle of a line was not shown; a pipe takes a short line whole.
            shown += [line.rstrip("\n") for line in lines if line != "\n"]
    print(json.dumps(shown))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
