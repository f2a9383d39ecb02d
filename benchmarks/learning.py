"""Private models beside those of diffprivlib and OpenDP: the same rows, splits, bounds and epsilons; and intervals.

A line is the median score of `RUNS` runs at one epsilon. The others run in environments of their own
(`benchmarks/peers/requirements/`), at most `LIMIT` seconds for each task and data set; what takes longer is left out. A
score may lie below theirs by what medians of so many runs differ by chance: two standard errors of both.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from benchmarks.learned import data
from benchmarks.learned.covering import coverage
from benchmarks.line import Line
from benchmarks.peers.environments import HOME, ROOT, CannotInstall, python_of

RUNS: Final = 30
EPSILONS: Final = "0.1,1,3"
LIMIT: Final = 100.0
PEERS: Final = {"diffprivlib": "diffprivlib", "opendp": "opendp_learning"}
TASKS: Final = {
    "naive Bayes": ("diffprivlib",),
    "tree": ("diffprivlib",),
    "logistic": ("diffprivlib",),
    "linear": ("diffprivlib",),
    "line": ("diffprivlib", "opendp"),
    "k-means": ("diffprivlib",),
    "components": ("diffprivlib", "opendp"),
}
"""OpenDP has no naive Bayes, trees, logistic regression or k-means; its regression takes one feature."""
CASES: Final = ((500, 10.0), (3000, 1.0), (20_000, 0.3), (20_000, 10.0))
"""People and epsilon of the intervals."""

Scores = dict[str, list[float]]


def lines(only: list[str] | None = None) -> Iterator[Line]:
    """Every model on every data set, and the coverage of intervals."""
    folder = HOME / "learned"
    data.write(folder)
    for model in TASKS:
        for path in sorted(folder.glob("*.npz")):
            if only and not any(one in f"{model} {path.stem}" for one in only):
                continue
            ours = asked("ours", None, folder, model, path.stem)
            theirs = {peer: asked(peer, PEERS[peer], folder, model, path.stem) for peer in TASKS[model]}
            for epsilon, found in ours.items():
                yield from _compared(f"{model}, {path.stem}, epsilon {epsilon}", found, epsilon, theirs)
    for rows, asked_for in () if only else CASES:
        held, _, width = coverage(rows, asked_for, 300)
        name = f"95 % intervals hold: {rows:,} rows, epsilon {asked_for:g} (width {width:.2g})"
        yield Line(name, held, "least", 0.94, held, "0.94 or more", held >= 0.94, "")


def _compared(name: str, found: list[float], epsilon: str, theirs: dict[str, Scores]) -> Iterator[Line]:
    own = statistics.median(found)
    for peer, scores in theirs.items():
        other = [one for one in scores.get(epsilon, []) if math.isfinite(one)]
        if len(other) < RUNS / 2:
            yield Line(f"{name}: {peer} has no answer", own, "", 0.0, 0.0, "", True, "")
            continue
        least = statistics.median(other) - 2 * math.hypot(error(found), error(other))
        yield Line(f"{name}, beside {peer}", own, peer, statistics.median(other), own - statistics.median(other),
                   "no less, but for chance", own >= least, "")  # fmt: skip


def error(scores: list[float]) -> float:
    """The standard error of a median, by the quartiles."""
    low, _, high = statistics.quantiles(scores, n=4)
    return 1.2533 * (high - low) / 1.349 / math.sqrt(len(scores))


def asked(script: str, environment: str | None, folder: Path, model: str, stem: str) -> Scores:
    """The scores of a library by epsilon; none where it cannot be installed, fails or takes too long."""
    try:
        python = python_of(environment)
    except CannotInstall:
        return {}
    command = [str(python), str(ROOT / "benchmarks" / "learned" / f"{script}.py"), str(folder), str(RUNS)]
    try:
        done = subprocess.run([*command, EPSILONS, model, stem], capture_output=True, text=True,
                              timeout=LIMIT, env={**os.environ, "PYTHONPATH": _path(script)})  # fmt: skip
    except subprocess.TimeoutExpired as late:
        return _read((late.stdout or b"").decode())
    if done.returncode:
        print(done.stderr[-500:], file=sys.stderr)
    return _read(done.stdout)


def _path(script: str) -> str:
    return os.pathsep.join([str(ROOT), str(ROOT / "src")] if script == "ours" else [str(ROOT)])


def _read(text: str) -> Scores:
    found: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines() if line.endswith("}")]
    return {one["epsilon"]: one["scores"] for one in found}
