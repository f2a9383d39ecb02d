"""Processes that ask the same question at once; `python together.py FOLDER HOW LEDGER` prints how often it was paid.

HOW is `turns`; `alone`, without turns, as it was before; or `killed`, where the first is killed while it answers.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

import discreet as dp
from discreet.ledger import open_ledger
from discreet.session.queries import Queries

QUERY = "SELECT COUNT(*) AS n FROM data"
TABLE = pa.table({"age": [31, 47, 62]})


def ask(folder: Path, how: str, place: str, number: int, ready: int) -> None:
    session = dp.protect(folder / "data.parquet", privacy_unit="row", budget=3, ledger=place)
    if how == "alone":
        session.ledger.turn = lambda *_: contextlib.nullcontext(True)  # type: ignore[method-assign]
    run = Queries.run

    def slowly(self: Queries, plan: object, draw: object) -> object:
        (folder / f"charged {number}").touch()
        time.sleep(30 if how == "killed" and number == 0 else 0.5)
        return run(self, plan, draw)  # type: ignore[arg-type]

    Queries.run = slowly  # type: ignore[method-assign,assignment]
    os.write(ready, b"r")
    if number:
        while how != "alone" and not (folder / "charged 0").exists():
            time.sleep(0.01)
    release = session.sql(QUERY, epsilon=0.5)
    (folder / f"answer {number}").write_text(str(release.to_arrow().to_pylist()))


def main(folder: Path, how: str, place: str) -> None:
    parquet.write_table(TABLE, folder / "data.parquet")
    with dp.protect(folder / "data.parquet", privacy_unit="row", budget=3, ledger=place) as session:
        session.preview(QUERY, epsilon=0.5)  # loads before the forks what all of them need
    gate, ready = os.pipe()
    children = []
    for number in range(4):
        child = os.fork()
        if child == 0:
            try:
                ask(folder, how, place, number, ready)
            finally:
                os._exit(0)
        children.append(child)
    os.read(gate, 4)
    if how == "killed":
        while not (folder / "charged 0").exists():
            time.sleep(0.01)
        os.kill(children[0], signal.SIGKILL)
    for _ in children:
        os.wait()
    answers = {file.read_text() for file in folder.glob("answer *")}
    with open_ledger(place) as ledger:
        ledger.verify()
        charges = sum(entry.kind == "charge" for entry in ledger.entries())
    print(
        json.dumps({"charges": charges, "answers": len(answers), "given": len(list(folder.glob("answer *")))})
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
