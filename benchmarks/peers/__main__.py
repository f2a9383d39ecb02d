"""`make bench-peers`: the same questions to everybody, two tables, saved; exit 1 when a target is missed.

`python -m benchmarks.peers opendp tumult` asks those only, and us.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from benchmarks.peers import table
from benchmarks.peers.common import EPSILON, GROUPS
from benchmarks.peers.data import ROWS, Truth, generate, truth
from benchmarks.peers.environments import HOME, CannotInstall, python_of
from benchmarks.peers.measure import OURS, PEERS, Answers, Peer, ask, errors
from benchmarks.peers.table import UNITS, Result

RESULTS = Path(__file__).parents[1] / "results"
TIMED = ("--warm-up", "1", "--least", "2", "--most", "30", "--seconds", "8")
ERRORS = ("--least", "3", "--most", "40", "--seconds", "12")
SPEED = "Seconds of an answer"
ERROR = "Root mean square error"
words = Console(stderr=True)


def main(chosen: Sequence[str]) -> int:
    """Ask the peers named, or all of them."""
    unknown = set(chosen) - {peer.script for peer in PEERS}
    if unknown:
        words.print(f"No such peer: {', '.join(sorted(unknown))}. There are {', '.join(_scripts())}.")
        return 2
    began = time.monotonic()
    peers = [peer for peer in PEERS if not chosen or peer.script in chosen or peer is OURS]
    installed, missing = environments(peers)
    visits, capped = generate(HOME / "data")
    truths = {visits: truth(visits), capped: truth(capped)}
    results = [measure(peer, python, truths, visits, capped) for peer, python in installed.items()]
    # Ours once more at the end: what else this machine does may have changed meanwhile.
    for unit in UNITS:
        results[0].answers[unit] += _ask(OURS, python_of(None), visits, unit, TIMED)
    results += missing
    tables = {SPEED: table.speed(results), ERROR: table.accuracy(results)}
    console = Console(width=None if sys.stdout.isatty() else 150)
    for title, rows in tables.items():
        console.print(table.rich(title, rows))
    found = table.verdicts(results)
    for met, text in found:
        console.print(f"{'ok    ' if met else 'MISSED'} {text}", highlight=False, soft_wrap=True)
    for reason in table.reasons(results):
        console.print(reason, highlight=False, soft_wrap=True)
    save(results, tables)
    words.print(f"{time.monotonic() - began:.0f} s; saved in {RESULTS}/peers.json and peers.md")
    return 0 if all(met for met, _ in found) else 1


def environments(peers: Sequence[Peer]) -> tuple[dict[Peer, Path], list[Result]]:
    """The interpreters of those that are installed, and results that say why the others are not."""
    found, missing = {}, []
    for peer in peers:
        with words.status(f"{peer.name}: its environment"):
            try:
                found[peer] = python_of(peer.environment)
            except CannotInstall as why:
                missing.append(Result(peer.name, cannot=str(why)))
                words.print(f"{peer.name} is missing: {why}", highlight=False, soft_wrap=True)
    return found, missing


def measure(peer: Peer, python: Path, truths: dict[Path, Truth], visits: Path, capped: Path) -> Result:
    """Speed and errors of one peer in both units."""
    result = Result(peer.name)
    for unit in UNITS:
        timed = result.answers[unit] = _ask(peer, python, visits, unit, TIMED)
        if timed.cannot:
            continue
        # Bounding drops rows of people with many, so errors are taken where nobody has many.
        judged, path = (
            (timed, visits) if unit == "row" else (_ask(peer, python, capped, unit, ERRORS), capped)
        )
        if not judged.cannot:
            result.errors[unit] = errors(judged, truths[path])
    return result


def _ask(peer: Peer, python: Path, path: Path, unit: str, options: Sequence[str]) -> Answers:
    what = f"{peer.name}, {UNITS[unit]}, {path.stem}"
    with words.status(what) as status:
        told = ask(
            peer, python, path, unit, *options, told=lambda lines: status.update(f"{what}: {lines} lines")
        )
    said = told.cannot or f"{len(told.seconds)} answers of {told.median:.3g} s"
    words.print(f"{what}: {said}", highlight=False, soft_wrap=True)
    return told


def save(results: Sequence[Result], tables: dict[str, table.Rows]) -> None:
    """Write results/peers.json and results/peers.md."""
    RESULTS.mkdir(exist_ok=True)
    now = datetime.now(UTC).isoformat(timespec="minutes")
    record = {
        "when": now,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "peers": [_record(one) for one in results],
    }
    (RESULTS / "peers.json").write_text(json.dumps(record, indent=2) + "\n", "utf-8")
    parts = [
        f"{ROWS:,} rows, {GROUPS} groups, epsilon {EPSILON:g}; {now}, {platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, {table.versions(results)}.\n",
        *(table.markdown(title, rows) for title, rows in tables.items()),
        "".join(f"- {'met' if met else 'missed'}: {text}\n" for met, text in table.verdicts(results))
        + "".join(f"- {reason}\n" for reason in table.reasons(results)),
    ]
    (RESULTS / "peers.md").write_text("\n".join(parts), "utf-8")


def _record(result: Result) -> dict[str, object]:
    record = asdict(result)
    for told in record["answers"].values():  # two hundred thousand numbers that nobody reads
        del told["counts"], told["means"]
    return record


def _scripts() -> list[str]:
    return list(dict.fromkeys(peer.script for peer in PEERS if peer is not OURS))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
