"""Processes that are killed while they answer questions; run as `python -m tests.session.crash FOLDER KILLS FAULT`.

Each asks one new question after the other, and shows the answers. The parent kills it with SIGKILL after a random
time. Each opens its own session, as a session belongs to the process that opened it. Prints all
answers that were ever shown as JSON, by the name of the question in the ledger. FAULT is `none`, or `answer-first` for
a session that shows its answer and charges then.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import select
import signal
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
from tests import inside

import discreet as dp
from discreet.errors import BudgetExceeded
from discreet.ledger import Account, Loss
from discreet.release.draw import Draw
from discreet.session import DATA_SET
from discreet.session.queries import Queries
from discreet.sql.lower.uses import uses_of

LONGEST = 0.04  # seconds; a question takes 10 to 40 ms
PATIENCE = 3.0  # seconds to wait for a first answer, which a busy machine needs
EPSILON, BUDGET = Fraction(1, 100), 2  # spent after 200 questions, so that refusals are frequent


def start(folder: Path) -> dp.Session:
    # With one thread DuckDB has none in the background, which a forked child would miss.
    connection = duckdb.connect(config={"threads": 1})
    connection.execute(f"CREATE TABLE visits AS FROM read_parquet('{folder / 'visits.parquet'}')")
    return dp.protect(
        connection, table="visits", privacy_unit="u", max_rows=2, bounds={"a": (0, 100)}, budget=BUDGET,
        ledger=folder / "ledger.db",
    )  # fmt: skip


def ask(session: dp.Session, number: int, show: int, fault: str) -> None:
    sql = f"SELECT COUNT(*) AS n, AVG(a) AS a FROM visits WHERE a > {number} / 100000.0"
    plan = inside.plan_of(session, sql, EPSILON)
    name = inside.identity_of(session, plan)
    if fault == "answer-first":
        answer = inside.answer_of(
            session, plan, inside.noisy_of(session, plan, Draw(uses_of(plan.releases))), 0.95
        )
        os.write(show, f"{name} {answer.to_dict(intervals=False)['n'][0]}\n".encode())
        time.sleep(LONGEST)  # so that every kill that waits for an answer falls before its charge
        session.ledger.charge(name, Loss(EPSILON), [Account(DATA_SET, Loss(session.policy.budget.epsilon))])
    else:
        answer = session.sql(sql, EPSILON)
        os.write(show, f"{name} {answer.to_dict(intervals=False)['n'][0]}\n".encode())


def live(folder: Path, life: int, show: int, ready: int, fault: str) -> None:
    session = start(folder)
    run = Queries.run

    def told(*given: Any) -> Any:
        os.write(ready, b"?")  # it was charged, and computes now
        return run(*given)

    Queries.run = told  # type: ignore[method-assign,assignment]
    os.write(ready, b"!")  # kills that fall into opening would find nothing
    number = life * 1000
    while True:
        number += 1
        with contextlib.suppress(BudgetExceeded):
            ask(session, number, show, fault)


def main(folder: Path, kills: int, fault: str) -> None:
    shown: dict[str, int] = {}
    session = start(folder)
    session.preview("SELECT COUNT(*) AS n, AVG(a) AS a FROM visits", EPSILON)  # loads what questions need
    for life in range(kills):
        read, show = os.pipe()
        waiting, ready = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                live(folder, life, show, ready, fault)
            finally:
                os._exit(1)
        os.close(show)
        os.close(ready)
        os.read(waiting, 1)
        if life % 3 == 1 or fault != "none":
            # Some lives are killed soon after an answer, when the next one is on its way; or is refused by now.
            select.select([read], [], [], PATIENCE)
        if life % 3 == 2 and fault == "none":
            # Some while they compute, however long that takes on a busy machine; or are refused by now.
            select.select([waiting], [], [], PATIENCE)
        else:
            time.sleep(random.uniform(0, LONGEST))
        os.kill(child, signal.SIGKILL)
        os.close(waiting)
        status = os.waitpid(child, 0)[1]
        assert os.WIFSIGNALED(status), "it ended before it was killed"
        with os.fdopen(read) as lines:
            shown.update((n, int(v)) for n, v in (line.split() for line in lines if line.endswith("\n")))
    print(json.dumps(shown))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
