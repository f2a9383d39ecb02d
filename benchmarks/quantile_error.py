"""Errors and coverage from independent draws, their standard errors, and how long to draw until a verdict is clear."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

CLEAR: Final = 4.0
"""By how many standard errors a difference is clear."""


@dataclass
class Drawn:
    """The mean square errors of independent runs, drawn in blocks.

    Attributes:
        draw: the mean square error of each run of one more block: float64 array (runs,).
        blocks: drawn so far.
    """

    draw: Callable[[], Floats]
    blocks: list[Floats] = field(default_factory=list)

    @property
    def rms(self) -> float:
        """The root of the mean of all."""
        return float(np.sqrt(np.mean(np.concatenate(self.blocks))))

    @property
    def spread(self) -> float:
        """The standard error of `rms`, by the delta method."""
        every = np.concatenate(self.blocks)
        return float(np.std(every, ddof=1) / math.sqrt(len(every)) / max(2 * self.rms, 1e-9))

    def more(self) -> None:
        """Draw one more block."""
        self.blocks.append(self.draw())


@dataclass(frozen=True)
class Goal:
    """An error is at most so many times the best of the others, and so much more.

    Attributes:
        times: the best of the others.
        more: than that.
    """

    times: float
    more: float

    def met(self, error: float, best: float) -> bool:
        """Whether an error is."""
        return error <= self.times * best + self.more

    def draw_until_clear(self, one: Drawn, other: Drawn, known: float, blocks: int) -> None:
        """Draw until it is clear whether one meets the goal, or long enough.

        Args:
            one: what has to meet it.
            other: another.
            known: a third error, which needs no draws.
            blocks: the most to be drawn of each; two at least are.
        """
        for at in range(blocks):
            one.more()
            other.more()
            best, spread = min((other.rms, other.spread), (known, 0.0))
            gap = abs(one.rms - self.times * best - self.more)
            if at and gap > CLEAR * math.hypot(one.spread, self.times * spread):
                return


def coverage_until_clear(draw: Callable[[], Floats], least: float, blocks: int) -> tuple[float, float]:
    """How often intervals hold, and its standard error, drawn until it is clear whether that is often enough.

    Args:
        draw: the share of intervals that hold in each run of one more block: float64 array (runs,). Intervals of one
            run share its noise, so only runs are independent.
        least: the share that is often enough.
        blocks: the most to be drawn; one at least is.
    """
    drawn: list[Floats] = []
    for _ in range(blocks):
        drawn.append(draw())
        runs = np.concatenate(drawn)
        held, spread = float(runs.mean()), float(np.std(runs, ddof=1) / math.sqrt(len(runs)))
        if abs(held - least) > CLEAR * spread > 0:
            break
    return held, spread
