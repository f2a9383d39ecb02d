"""Twelve questions to everybody: errors beside ours, saved; exit 1 where ours is the greater one.

python -m benchmarks.peers.twelve                        # everybody, all cases
python -m benchmarks.peers.twelve ours tumult -c user    # those only; what was saved of the others stays
python -m benchmarks.peers.twelve none                   # the tables of what was saved
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from rich.console import Console

from benchmarks.peers.environments import HOME, CannotInstall, python_of
from benchmarks.peers.twelve import data, table, truth
from benchmarks.peers.twelve.measure import ASKED, Asked, Kept, ask
from benchmarks.peers.twelve.saved import RESULTS, everything, save

words = Console(stderr=True)


def main() -> int:
    """Ask those named, or all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", help=" ".join(asked.key for asked in ASKED))
    parser.add_argument("-c", "--case", default="", help="row, user or census; all where it is empty")
    parser.add_argument("--only", default="", help="questions, by commas")
    parser.add_argument("--seconds", default="6", help="of each question")
    parser.add_argument("--least", default="6", help="answers of each question")
    given = parser.parse_args()
    cases = data.cases(HOME / "data")
    began = time.monotonic()
    RESULTS.mkdir(parents=True, exist_ok=True)
    options = [
        "--seconds",
        given.seconds,
        "--least",
        given.least,
        *(["--only", given.only] if given.only else []),
    ]
    for name, path in cases.items():
        exact = truth.of(path)
        for asked in ASKED:
            if (not given.names or asked.key in given.names) and given.case in ("", name):
                save(name, asked, one(asked, name, path, exact, options))
    results = everything()
    console = Console(width=None if sys.stdout.isatty() else 170)
    for title, rows in table.tables(results):
        console.print(table.rich(title, rows))
    found = table.verdicts(results)
    for met, text in found:
        console.print(f"{'ok    ' if met else 'MISSED'} {text}", highlight=False, soft_wrap=True)
    (RESULTS.parent / "twelve.md").write_text(table.page(results), "utf-8")
    words.print(f"{time.monotonic() - began:.0f} s; saved in {RESULTS}")
    return 0 if all(met for met, _ in found) else 1


def one(asked: Asked, name: str, path: Path, exact: truth.Truth, options: list[str]) -> Kept:
    """Ask one library over one case."""
    label = f"{asked.key}, {name}"
    try:
        python = python_of(asked.environment)
    except CannotInstall as why:
        return Kept(cannot={"all": f"it cannot be installed: {why}"})
    start = time.monotonic()
    with words.status(label) as status:
        kept = ask(asked, python, path, exact, options, lambda n: status.update(f"{label}: {n // 2} answers"))
    runs = sum(len(told) for told in kept.squares.values())
    words.print(
        f"{label}: {runs} answers in {time.monotonic() - start:.0f} s; {kept.cannot or 'all'}",
        highlight=False,
    )
    return kept


if __name__ == "__main__":
    sys.exit(main())
