"""Asks one library over one case, and keeps errors by line and run, and seconds."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.peers.measure import said
from benchmarks.peers.twelve.asked import NOT_ASKED
from benchmarks.peers.twelve.truth import Truth

LIMIT = 1500.0
"""Seconds of one library over one case."""
THREE_STANDARD_ERRORS = 0.00135
"""The chance that a normal variable lies so far above its mean."""


@dataclass(frozen=True)
class Asked:
    """One way to ask one library.

    Attributes:
        key: of the saved file.
        name: of the column that its errors stand in.
        script: in this folder.
        environment: that it runs in; None for ours.
        settings: environment variables.
        judged: whether ours has to err at most as much; if not, it is told below the tables.
    """

    key: str
    name: str
    script: str
    environment: str | None = None
    settings: tuple[tuple[str, str], ...] = ()
    judged: bool = True


OURS = Asked("ours", "discreet", "ours")
ASKED = (
    OURS,
    Asked("ours-cells", "discreet", "ours", None, (("CELLS", "1"),)),
    Asked("opendp", "OpenDP", "opendp", "opendp"),
    Asked("opendp-days", "OpenDP", "opendp", "opendp", (("OPENDP_DAYS", "1"),)),
    Asked("smartnoise", "SmartNoise SQL", "smartnoise", "smartnoise"),
    Asked("pipelinedp", "PipelineDP", "pipelinedp", "pipelinedp"),
    Asked("tumult", "Tumult Analytics", "tumult", "tumult"),
    Asked("diffprivlib", "diffprivlib", "diffprivlib", "diffprivlib"),
    Asked(
        "diffprivlib-sizes",
        "diffprivlib, sizes of places public",
        "diffprivlib",
        "diffprivlib",
        (("SIZES", "1"),),
        False,
    ),
    Asked("ours-intervals", "discreet, with intervals", "ours", None, (("INTERVALS", "1"),), False),
)


@dataclass
class Kept:
    """Errors, times and refusals of one way over one case.

    Attributes:
        versions: of its packages.
        seconds: by question, those of each answer but the first.
        squares: by line of the table, a mean squared error of each part (second index) of what is independent (first).
        cannot: by question, why there is no answer.
    """

    versions: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    squares: dict[str, list[list[float]]] = field(default_factory=dict)
    cannot: dict[str, str] = field(default_factory=dict)


def read(lines: Sequence[str], truth: Truth, otherwise: str) -> Kept:
    """The answers in the lines of a script."""
    kept = Kept()
    told = [json.loads(line) for line in lines if line.startswith("{")]
    for line in told:
        if "versions" in line:
            kept.versions = line["versions"]
        elif "cannot" in line:
            kept.cannot[line["question"]] = line["cannot"]
        else:
            question = line["question"]
            if line["seconds"] is not None:
                kept.seconds.setdefault(question, []).append(line["seconds"])
            for name, found in truth.errors(question, line).items():
                kept.squares.setdefault(name, []).extend(found)
    kept.cannot = {question: why for question, why in kept.cannot.items() if why != NOT_ASKED}
    if not told:
        kept.cannot["all"] = otherwise
    return kept


def ask(
    asked: Asked, python: Path, case: Path, truth: Truth, options: Sequence[str], told: Callable[[int], None]
) -> Kept:
    """Run a script over a case; where it fails or takes longer than the limit, its lines until then count."""
    command = [str(python), "-m", f"benchmarks.peers.twelve.{asked.script}", str(case), *options]
    lines, words = said(command, asked.settings, LIMIT, told)
    return read(lines, truth, f"no answer: {words}")


@dataclass(frozen=True)
class Error:
    """A root mean square error.

    Attributes:
        rms: itself; over several parts their geometric mean.
        relative: its standard error over itself.
        runs: how many independent errors it was taken from.
    """

    rms: float
    relative: float
    runs: int

    def times(self, other: Error) -> tuple[float, float]:
        """How many times the other it is, and the standard error of that.

        Where the other never erred, the standard error says whether its answers are enough to tell: zero where the
        chance of none that errs, had the other erred as often as this one, is at most that of three standard errors,
        and else infinite.
        """
        if other.rms:
            ratio = self.rms / other.rms
            return ratio, ratio * math.hypot(self.relative, other.relative)
        if not self.rms:
            return 1.0, 0.0
        if math.isnan(self.rms):
            return math.nan, math.nan
        chance = (1 - self.often) ** other.runs
        return math.inf, math.inf if chance > THREE_STANDARD_ERRORS else 0.0

    @property
    def often(self) -> float:
        """The share of answers that erred, were all of these errors alike: p, of (1 - p) / (4 p runs) = relative²."""
        return 1 / (1 + 4 * self.runs * self.relative**2)


def error(squares: Sequence[Sequence[float]]) -> Error:
    """The error of a line.

    One that is independent changes the logarithm of the error by its influence, the mean over the parts of square / (2
    mean square), whose spread is the standard error (the delta method).
    """
    table = np.asarray(squares, np.float64)
    means = table.mean(0)
    if not means.all():
        return Error(0.0 if not means.any() else math.nan, 0.0, len(table))
    rms = math.exp(float(np.mean(np.log(means))) / 2)
    influence = (table / means).mean(1) / 2
    spread = float(np.std(influence, ddof=1)) / math.sqrt(len(table)) if len(table) > 1 else math.inf
    return Error(rms, spread, len(table))


def seconds(kept: Kept, question: str) -> float | None:
    """The median time of an answer."""
    took = kept.seconds.get(question)
    return statistics.median(took) if took else None
