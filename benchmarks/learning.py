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
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.learned import covering, data
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
POPULATIONS: Final[Mapping[str, Callable[[], covering.Population]]] = {
    "normal": covering.normal, "lognormal incomes": covering.lognormal, "census incomes": covering.census,
    "census incomes by age": lambda: covering.census(names=("age",)),
}  # fmt: skip
CASES: Final = [(rows, epsilon) for rows in (1000, 10_000) for epsilon in (0.5, 1.0, 5.0)]
"""People and epsilon of the intervals."""
DRAWS: Final = 300

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
    for name, population in POPULATIONS.items():
        if only and not any(one in f"intervals {name}" for one in only):
            continue
        if name.startswith("census") and not data.CENSUS.exists():
            continue
        yield from _covered(name, population())


def _covered(name: str, population: covering.Population) -> Iterator[Line]:
    for rows, epsilon in CASES:
        held, ended, width = coverage(population, rows, epsilon, DRAWS)
        said = f"intervals at 95 %: {name}, {rows:,} rows, epsilon {epsilon:g} ({ended:.0%} of fits have ends"
        said += f", first width {width:.3g})" if ended else ")"
        least, mean = float(held.min()), float(held.mean())
        # The chance that a coefficient holds below 94 % of `DRAWS` by chance is not small; that of their mean is.
        yield Line(said, mean, "least", least, mean, "0.94 or more", mean >= 0.94, "")


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
