"""Estimates from cells and sums of cells: the least variance of all, and intervals that hold, on simulated noise."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from discreet.sql.finish import estimates
from discreet.sql.finish.estimates import EarlierRelease, LeastSquares, Sums, better
from discreet.sql.plan.recalled import Recalled, variance

CELLS, DRAWS = 40, 40_000
EVERY = np.arange(CELLS)
ASKED = np.where((EVERY >= 6) & (EVERY < 34), EVERY % 2, -1)  # both groups have noise of the same law


def source(scale: float, groups: int, draw: np.random.Generator) -> EarlierRelease:
    """A release of zeros with noise, drawn many times: an integer of a group for each draw."""
    entries = np.rint(draw.laplace(0, scale, (groups, DRAWS))).astype(np.int64)
    plan: Any = SimpleNamespace(scale=lambda _: scale, entries=(slice(0, DRAWS),))
    return EarlierRelease(1, SimpleNamespace(plan=plan, entries=entries))  # type: ignore[arg-type]


@cache
def sources() -> list[EarlierRelease]:
    draw = np.random.default_rng(8)
    return [source(*of, draw) for of in ((10, CELLS), (9, 3 * CELLS), (12, 2), (15, 2), (8, 4))]


def made(asked: Any = ASKED) -> LeastSquares:
    """Cells known in two ways; a range of them, all of them by parity, and a range with others."""
    ranges = np.where((EVERY >= 4) & (EVERY < 30), EVERY % 2, -1)
    places = ((EVERY, 1), (np.repeat(EVERY, 3), 3), (ranges, 1), (EVERY % 2, 1), (EVERY // 10, 1))
    one, other, *sums = (
        Sums(of, 0, place, most) for of, (place, most) in zip(sources(), places, strict=True)
    )
    return LeastSquares((one, other), tuple(sums), asked, 2)


def test_no_linear_estimate_from_the_same_sums_has_less_variance() -> None:
    found = made()
    eye = np.eye(CELLS)
    cells = np.concatenate([eye / np.sqrt(2) / 10, eye / np.sqrt(6) / 9])
    rows = [
        (one.place == np.arange(one.place.max() + 1)[:, None]) / np.sqrt(2) / one.scale for one in found.sums
    ]
    sums = np.concatenate(rows)
    for group in (0, 1):
        wanted = (found.place == group).astype(float)
        design = np.concatenate([cells, sums[sums @ wanted > 0]])  # sums of other cells alone are left out
        assert variance([found.law]) == pytest.approx(
            wanted @ np.linalg.solve(design.T @ design, wanted), rel=1e-6
        )
        assert abs(found.entries(2)[group].mean()) < 6.1 * np.sqrt(variance([found.law]) / DRAWS)
    alone = Sums(found.cells[0].source, 0, ASKED, 14)
    assert better([alone], [(alone, found.cells, found.sums)], 2)[0].law == found.law


@pytest.mark.parametrize("planted", [False, True])
def test_its_interval_covers_as_often_as_it_says(planted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 40,000 draws a share of 0.95 has a standard deviation of 0.0011: 0.007 are 6.4 of them, false alarms at 1e-9.

    Planted: of the sums beside the cells no noise is reckoned, which leaves the interval too narrow.
    """
    if planted:
        monkeypatch.setattr(estimates, "_beside", lambda *_: [])
    found = made()
    errors = found.entries(2)
    width = Recalled(((found.law,),)).half_width(np.ones(1), 0, 0.95)
    covered = np.mean(np.abs(errors) <= width, axis=1)
    assert bool(np.all(np.abs(covered - 0.95) < 0.007)) != planted


def test_groups_of_different_laws_are_covered_by_the_interval_of_the_largest() -> None:
    found = made(np.where(EVERY == 7, 0, np.where(EVERY > 20, 1, -1)))
    errors, own = found.entries(2), Recalled(((found.law,),))
    for confidence in (0.5, 0.95, 0.999):
        covered = np.mean(np.abs(errors) <= own.half_width(np.ones(1), 0, confidence), axis=1)
        assert covered.min() > confidence - 6.1 * np.sqrt(confidence * (1 - confidence) / DRAWS)
        assert covered[0] > covered[1]  # a single cell has less noise than nineteen
