"""One line of the table, and how its seconds are measured."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """A measurement beside its reference.

    Attributes:
        name: what was measured.
        ours: seconds (or the unit that the name says).
        reference_name: what it is compared with; a fixed limit when nothing was run.
        reference: seconds of the reference.
        ratio: what the target speaks of, as the target says it.
        target: the target in words; empty when the line is for information.
        ok: whether the target is met.
        unit: of what was measured.
    """

    name: str
    ours: float
    reference_name: str
    reference: float
    ratio: float
    target: str
    ok: bool
    unit: str = "s"


def alternate(ours: Callable[[], object], theirs: Callable[[], object], runs: int = 9) -> tuple[float, float]:
    """Median seconds of two functions, run in turns so that a busy machine slows both; one warm-up each."""
    ours()
    theirs()
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(runs):
        for function, found in zip((ours, theirs), seconds, strict=True):
            found.append(once(function))
    return statistics.median(seconds[0]), statistics.median(seconds[1])


def median(function: Callable[[], object], runs: int = 9) -> float:
    """Median seconds after one warm-up."""
    function()
    return statistics.median(once(function) for _ in range(runs))


def once(function: Callable[[], object]) -> float:
    """Seconds of one run."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def faster(
    name: str, ours: float, reference_name: str, reference: float, at_least: float | None = None
) -> Line:
    """A line whose ratio is reference/ours: how many times as fast as the reference we are."""
    ratio = reference / ours
    target = "" if at_least is None else f"at least {at_least:g} times its speed"
    return Line(name, ours, reference_name, reference, ratio, target, at_least is None or ratio >= at_least)
