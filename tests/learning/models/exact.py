"""How far the exact integers of a fit move between neighbours, with the released numbers held fixed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from discreet.learning.models import trees
from discreet.mechanisms import CubeVector, LaplaceVector
from discreet.release import gate


class Transcript:
    """Plays the gate: no noise, no charge; what was given to each draw is kept."""

    def __init__(self, before: Transcript | None = None) -> None:
        self.plan: Any = None
        self.given: dict[str, Any] = {}
        self._before = before

    def release(self, plan: Any, *_: Any) -> Any:
        self.plan = plan
        return plan.answer(plan.compute(self._draw))[0]

    def _draw(self, name: str, exact: Any) -> Any:
        self.given[name] = np.array(exact)
        if self._before is not None:
            exact = self._before.given[name]  # what was released is the same, so that rounds can be compared
        if isinstance(self.plan.uses[name].mechanism, (CubeVector, LaplaceVector)):
            return np.array(exact)
        return int(np.argmax(exact))


def moved(monkeypatch: pytest.MonkeyPatch, fit: Callable[[int], Any]) -> dict[str, float]:
    """By use, how far its exact values move from `fit(0)` to `fit(1)`, as parts of its sensitivity."""
    transcripts: list[Transcript] = []
    monkeypatch.setattr(
        trees,
        "_public",
        lambda many, width, depth: (
            np.arange(many * (2**depth - 1)).reshape(-1, 2**depth - 1) * 7 % (15 * width)
        ),
    )
    for side in range(2):
        transcripts.append(Transcript(transcripts[0] if side else None))
        monkeypatch.setattr(gate, "release", transcripts[side].release)
        fit(side)
    assert transcripts[0].plan.uses.keys() == transcripts[1].plan.uses.keys(), "neighbours ask the same"
    found: dict[str, float] = {}
    for name, use in transcripts[0].plan.uses.items():
        change = transcripts[1].given[name] - transcripts[0].given[name]
        key = use.alternatives or name
        found[key] = found.get(key, 0.0) + _part(use.mechanism, change)
    return found


def _part(mechanism: Any, change: Any) -> float:
    if isinstance(mechanism, LaplaceVector):
        return float(np.abs(change).sum() / mechanism.sensitivity)
    if isinstance(mechanism, CubeVector):
        return float(np.abs(change).max(axis=1).sum() / mechanism.sensitivity)
    up, down = max(int(change.max()), 0), max(-int(change.min()), 0)
    return float((up + down) / (2 * mechanism.sensitivity))  # scores that move one way cost half


ODD = [np.nan, np.inf, -np.inf, 1e308, -0.0, 5e-324, 1.0, -1.0, 0.3]
"""Values that a row may have, beyond the bounds and odd ones among them."""


def neighbours(rng: np.random.Generator, rows: int, width: int) -> tuple[list[Any], int]:
    """Two arrays of features that differ in one row, corners and odd values among them, and the place of the row."""
    first = rng.choice([*ODD, -0.7, 0.1, 0.5], (rows, width))
    second, at = first.copy(), int(rng.integers(rows))
    second[at] = (
        rng.choice(ODD, width) if rng.random() < 0.5 else -np.nan_to_num(first[at], posinf=1, neginf=-1)
    )
    return [first, second], at
