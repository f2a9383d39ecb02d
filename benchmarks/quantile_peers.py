"""Quantiles of other libraries beside ours, where `make bench-peers` has made their environments.

One quantile, and three that share epsilon evenly, as none of them has a way to ask several at once. A library is
started once for each data set and asked everything there; answers about integers are rounded. Eleven values stand
apart: libraries that draw from the gaps between values cannot choose one of them, and err by that alone. Ours of one
quantile by rank is worked out from its law.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.line import Line
from benchmarks.peers.environments import HOME, ROOT
from benchmarks.quantile_data import DataSet, data_sets, squares
from benchmarks.quantile_ways import by_law, by_parts, by_tree
from discreet.mechanisms.ranks.quantiles_with_ends import QuantilesWithEnds
from discreet.sql.plan.quantile_choice import quantile_choice

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

RUNS: Final = {"diffprivlib": 200, "opendp": 200, "tumult": 4}
"""Answers to each question by library and data set; each of Tumult's takes seconds."""
OURS: Final = 400
"""Answers of ours where they are drawn."""
EPSILONS: Final = ("0.05", "0.2", "1")
QUANTILES: Final = {
    "1/2 quantile": ("1/2",),
    "9/10 quantile": ("9/10",),
    "3 quantiles": ("1/4", "1/2", "3/4"),
}
ERRORS: Final = 3.0
"""A target is missed where ours errs more by so many standard errors."""


def beside_peers() -> Iterator[Line]:
    """Each library in turn."""
    yield Line("SmartNoise SQL has no quantiles: it is not asked", 0, "", 0, 0, "", True)
    for name in RUNS:
        if (HOME / name / "made.txt").exists():
            yield from of_peer(name)
        else:
            yield Line(f"{name} is not here: make bench-peers installs it", 0, "", 0, 0, "", True)


def of_peer(name: str) -> Iterator[Line]:
    """The rms errors of a library over all data sets, and ours."""
    questions = [(epsilon, said) for epsilon in EPSILONS for said in QUANTILES]
    told = {data.name: answers(name, data, questions) for data in data_sets()}
    for at, (epsilon, said) in enumerate(questions):
        wanted = [Fraction(q) for q in QUANTILES[said]]
        errors: dict[str, list[tuple[Floats, Floats]]] = {"eleven values": [], "all other data sets": []}
        for data in data_sets():
            values, drawn = np.sort(data.values), np.array(told[data.name][at])
            found = zip(wanted, (np.round(drawn) if data.ranks.whole else drawn).T, strict=True)
            theirs = np.mean([squares(values, q, column) for q, column in found], axis=0)
            where = data.name if data.name in errors else "all other data sets"
            errors[where].append((of_ours(data, wanted, Fraction(epsilon)), theirs))
        for where, pairs in errors.items():
            yield compared(f"{said}, epsilon {epsilon}, {where}", name, pairs)


def compared(label: str, name: str, pairs: Sequence[tuple[Floats, Floats]]) -> Line:
    """Ours and theirs over some data sets, from the mean squares of runs by data set."""
    (here, near), (there, off) = (over_all([pair[who] for pair in pairs]) for who in (0, 1))
    met = here - there <= ERRORS * math.hypot(near, off)
    label = f"rms rank: {label} (± {near:.2g}; {off:.2g})"
    ratio = here / max(there, 1e-9)
    return Line(label, here, name, there, ratio, "at most theirs, within 3 standard errors", met, "rows")


def over_all(parts: Sequence[Floats]) -> tuple[float, float]:
    """The rms error of data sets that count alike, from the mean squares of their runs, and its standard error."""
    rms = math.sqrt(sum(float(one.mean()) for one in parts) / len(parts))
    spread = math.sqrt(sum(float(one.var()) / len(one) for one in parts)) / len(parts)
    return rms, spread / max(2 * rms, 1e-9)


def of_ours(data: DataSet, quantiles: Sequence[Fraction], epsilon: Fraction) -> Floats:
    """The mean square errors of our runs, as the planner chooses without intervals; of one by rank that of its law."""
    chosen = quantile_choice(data.argument, [f"quantile {q}" for q in quantiles], ends=False).counts
    if chosen == "tree":
        return np.asarray(by_tree(data, quantiles, epsilon, OURS).mean(0))
    if len(quantiles) > 1:
        return np.asarray(by_parts(data, quantiles, epsilon, OURS, ends=False)[0].mean(0))
    made = QuantilesWithEnds(epsilon, quantiles, data.measure, ends=False)
    return np.array([by_law(made.number(quantiles[0]), data.counts()) ** 2])


def answers(name: str, data: DataSet, questions: Sequence[tuple[str, str]]) -> list[list[list[float]]]:
    """The answers of a library about a data set, by question, run and quantile."""
    grid = data.ranks.grid
    asked = {
        "library": name,
        "values": np.sort(data.values).tolist(),
        "bounds": [float(grid.lo), float(grid.hi)],
        "runs": RUNS[name],
        "questions": [
            [float(Fraction(epsilon)), [float(Fraction(q)) for q in QUANTILES[said]]]
            for epsilon, said in questions
        ],
    }
    python = str(HOME / name / "bin" / "python")
    done = subprocess.run(
        [python, "-W", "ignore", "-m", "benchmarks.peers.quantile_of"], input=json.dumps(asked), text=True,
        capture_output=True, check=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    found: list[list[list[float]]] = json.loads(done.stdout.splitlines()[-1])
    return found
