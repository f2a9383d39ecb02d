"""Cells of H3: no point of a box is missed, equal points have one cell, and nothing makes them fail."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

import h3
import numpy as np
import pytest

from discreet.engines import hexagons
from discreet.engines.hexagons import cells, covering

Box = tuple[float, float, float, float]


def found(lat: list[float], lng: list[float], resolution: int = 7) -> list[int | None]:
    indices, none = cells(np.array(lat), np.array(lng), np.full(len(lat), resolution))
    return [None if missing else int(index) for index, missing in zip(indices, none, strict=True)]


def test_a_cell_is_that_of_the_library() -> None:
    assert found([52.1, -33.9], [5.1, 18.4]) == [
        int(h3.latlng_to_cell(lat, lng, 7), 16) for lat, lng in ((52.1, 5.1), (-33.9, 18.4))
    ]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e308, 180.1, -180.1])
def test_a_point_that_is_none_has_no_cell(bad: float) -> None:
    assert found([bad, 0.0], [0.0, bad]) == [None, None]


def test_the_ends_of_the_earth_have_cells_and_equal_points_have_one() -> None:
    assert None not in found([90, -90, 90.0, 0, 0, 5e-324], [180, -180, 0, 180, -180, 5e-324])
    for resolution in range(16):
        assert len(set(found([0.0, -0.0, 0.0, -0.0], [0.0, 0.0, -0.0, -0.0], resolution))) == 1
    assert found([1.0], [1.0], -1) == found([1.0], [1.0], 16) == [None]


def boxes(seed: int, each: int) -> Iterator[Box]:
    """Boxes as south, west, north and east: anywhere, small, around the poles, at the antimeridian, lines, points."""
    rng = random.Random(seed)

    def two(low: float, high: float) -> list[float]:
        return sorted(rng.uniform(low, high) for _ in range(2))

    for _ in range(each):
        (s, n), (w, e) = two(-90, 90), two(-180, 180)
        yield s, w, n, e
        for low, high in ((60, 90), (-90, -60), (87, 90)):
            (s, n), (w, e) = two(low, high), two(-180, 180)
            yield s, w, n, e
        yield rng.uniform(60, 89.9), -180, 90, 180
        lat, lng, wide = rng.uniform(-89, 88), rng.uniform(-180, 177), 10 ** rng.uniform(-5, 0)
        yield lat, lng, lat + wide, lng + wide
        yield lat, 180 - wide, lat + wide, 180
        yield lat, lng, lat, lng + 3
        yield lat, lng, lat, lng


def missed(seed: int, each: int) -> int:
    """How many points of boxes lie in no cell of their covering; ends are as likely as inner points."""
    rng, count = random.Random(seed), 0
    for s, w, n, e in boxes(seed, each):
        for resolution in (0, 1, 2) if n - s > 2 else (1, 3, 5, 7):
            if (n - s) * (e - w) > 30 and resolution > 3:
                continue
            listed = set(covering(s, w, n, e, resolution) or ())
            for _ in range(30):
                lat = rng.choice((s, n, rng.uniform(s, n), rng.uniform(s, n)))
                lng = rng.choice((w, e, rng.uniform(w, e), rng.uniform(w, e)))
                count += h3.latlng_to_cell(lat, lng, resolution) not in listed
    return count


def test_no_point_of_a_box_is_missed() -> None:
    assert missed(1, 12) == 0


@pytest.mark.parametrize(
    ("where", "name", "fault"),
    [
        (h3, "grid_disk", lambda *_: []),
        (hexagons, "_pieces", lambda s, w, n, e, edge: [[(s, w), (s, e), (n, e), (n, w)]]),
    ],
)
def test_a_covering_with_a_fault_is_found(
    monkeypatch: pytest.MonkeyPatch, where: Any, name: str, fault: Any
) -> None:
    """Without the cells around a pole, and with edges taken for straight."""
    monkeypatch.setattr(where, name, fault)
    covering.cache_clear()
    assert missed(1, 12) > 0
    covering.cache_clear()


def test_a_covering_has_few_cells_too_many() -> None:
    """An area of 100 by 100 km: of the cells listed, nearly all hold points of it."""
    listed = set(covering(52, 5, 52.9, 6.4, 6) or ())
    rng = random.Random(1)
    points = [(rng.uniform(52, 52.9), rng.uniform(5, 6.4)) for _ in range(40_000)]
    met = {h3.latlng_to_cell(*point, 6) for point in points}
    assert met <= listed
    assert len(listed) < 1.05 * len(met)


def test_too_many_cells_are_not_listed_and_none_are_none() -> None:
    assert covering(-90, -180, 90, 180, 5) is None
    assert covering(-90, -180, 90, 180, 15) is None
    assert len(covering(-91, -200, 95, 181, 2) or ()) == h3.get_num_cells(2)
    assert covering(95, 0, 100, 1, 3) == covering(0, 190, 1, 200, 3) == ()
