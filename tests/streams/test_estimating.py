"""Estimates of means and under Gaussian noise, and their intervals."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.ledger import Loss
from discreet.policy import Policy
from tests.depth import in_turn
from tests.streams.invented import gaussian, opened, policy, row, silent, spec


def test_means_and_windows_without_noise(tmp_path: Path) -> None:
    stream = silent(spec(means=("cost",), window=2, method="tree", count=False), tmp_path)
    for day, cost in ((1, 10), (1, 30), (2, 50), (3, 900), (3, "none")):
        stream.add(row(day, f"p{day}{cost}", cost=cost))
    found = {(one.period[-1], one.key): (one.value, one.total, one.error) for one in stream.close(4)}
    assert found["1", "N"][:2] == pytest.approx((20, 20), abs=1e-3)
    assert found["2", "N"][:2] == pytest.approx((50, 30), abs=1e-3)
    assert found["3", "N"][:2] == pytest.approx((500, 275), abs=1e-3)
    assert found["4", "N"][1] == pytest.approx(500, abs=1e-3)
    assert found["1", "S"] == (245, 245, 510)  # nobody: the middle, and all of the range


# A deep run asks each method with both kinds of noise.
@pytest.mark.parametrize(("method", "delta"), in_turn(["tree", "root", "doubling"], [0, "1/1000000"]))
def test_intervals_hold(method: str, delta: Any, tmp_path: Path) -> None:
    # Of 2,000 independent numbers at least 95 % lie within. A share below .875 has a chance of at most
    # exp(-2 2000 .075^2) = 1.7e-10 (Hoeffding); noise of twice the width is found.
    keys = [str(key) for key in range(2000)]
    declared = Policy.for_table(
        "visits", privacy_unit="row", budget=3, keys={"ward": keys}, bounds={"cost": (0, 10)}
    )
    more: dict[str, Any] = {"means": ("cost",), "window": 3, "method": method}
    rows = pa.table({"time": ["2026-01-02"] * 2000 * 50, "ward": keys * 50, "cost": [4] * 2000 * 50})
    with opened(
        gaussian(spec(declared, periods=6, **more), Fraction(delta)), tmp_path, Loss(3, Fraction(1, 1000))
    ) as stream:
        stream.add_all(rows)
        found = stream.close(6)
    truths = {
        ("count", "value", 5): 0,
        ("count", "total", 4): 50,
        ("count", "total", 5): 0,
        ("mean_cost", "total", 3): 4,
    }
    for (name, part, day), truth in truths.items():
        made = [one for one in found if one.name == name and one.period == f"2026-01-0{day}"]
        errors = np.array([abs(getattr(one, part) - truth) for one in made])
        widths = np.array([one.error if part == "value" else one.total_error for one in made])
        assert (errors <= widths).mean() > 0.875
        if name == "count":  # wider than needed is a fault, too
            assert (errors <= widths / 2).mean() < 0.875


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
@pytest.mark.parametrize("method", ["period", "tree", "root", "doubling", "even"])
def test_a_unit_moves_the_nodes_in_l2_by_at_most_the_sensitivity(
    method: str, neighbours: str, tmp_path: Path
) -> None:
    declared = spec(policy(neighbours=neighbours), method=method, sums=("cost",), means=("cost",))
    declared = gaussian(declared, Fraction(1, 1000))
    shapes = [[1, 1], [8, 8], [1, 8], [3, 4], [8, 1]]
    costs = [(-10, -10), (500, 500), (-10, 500), (0, 0)]
    units = [[row(d, "u", w, cost=c) for d, w, c in zip(days, wards, cost, strict=True)]
             for days in shapes for wards in ("NN", "NS") for cost in costs]  # fmt: skip
    reached = 0.0
    for measure in declared.measures:
        vectors = [_nodes(declared, measure.name, unit, tmp_path) for unit in units]
        others = [np.zeros_like(vectors[0])] if neighbours == "add_remove" else vectors
        square = declared.mechanism(measure).square  # type: ignore[union-attr]
        moved = max(int(((one - other) ** 2).sum()) for one in vectors for other in others)
        assert moved <= square
        reached = max(reached, moved / float(square))
    assert reached > (0.4 if method == "even" else 0.9)  # no more noise than needed, where counts start early


def _nodes(declared: Any, name: str, unit: list[Any], folder: Path) -> Any:
    stream = silent(declared, folder)
    for one in unit:
        stream.add(one)
    strategy, counts = declared.strategy, stream.progress.counts[name]
    return np.concatenate([strategy.exact(t, counts) for t in range(1, 9)]).astype(object)
