"""Examples of releases, to show their pictures: invented truths, real noise."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.mechanisms import Laplace
from discreet.rational import Number
from discreet.records import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

COUNTIES = {"Alder": 2140, "Birch": 708, "Cedar": 1200, "Elm": 486, "Hazel": 233, "Juniper": 1420, "Maple": 964,
            "Rowan": 12, "Sorrel": None}  # fmt: skip
SIDE = 14


@dataclass(frozen=True, eq=False)
class Example:
    """As much of a release as a picture needs."""

    values: pa.Table
    low: dict[str, Any]
    high: dict[str, Any]
    epsilon: Fraction
    confidence: float = 0.95

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.values.column_names)


def counts(epsilon: Number = "1/10") -> Example:
    """Visits by county: counts with noise, one of them withheld.

    Example:
        >>> counts().columns
        ['county', 'visits']
    """
    import pyarrow as pa

    noise = Laplace(epsilon, sensitivity=3)
    width = float(noise.error(0.95))
    noisy = [None if count is None else int(noise.release(count)) for count in COUNTIES.values()]
    ends = [pa.array([None if n is None else n + side * width for n in noisy]) for side in (-1, 1)]
    table = pa.table({"county": list(COUNTIES), "visits": noisy})
    return Example(table, {"visits": ends[0]}, {"visits": ends[1]}, noise.epsilon)


def sightings(epsilon: Number = "1/2", cap: int = 4) -> Example:
    """Sightings of a bird on a grid: Laplace noise of scale cap/epsilon in each cell, cap sightings of a person.

    Example:
        >>> len(sightings().values)
        196
    """
    import pyarrow as pa

    across, down = (axis.ravel() for axis in np.meshgrid(np.arange(SIDE), np.arange(SIDE), indexing="ij"))
    lake = 420 * np.exp(-((across - 4.2) ** 2 + (down - 9.1) ** 2) / 9)
    wood = 230 * np.exp(-((across - 10.5) ** 2 / 5 + (down - 3.8) ** 2 / 12))
    truth = np.random.default_rng().poisson(lake + wood + 6)
    noise = Laplace(epsilon, sensitivity=cap)
    noisy = noise.release(truth)
    width = float(noise.error(0.95))
    table = pa.table({"east": across, "north": down, "sightings": noisy})
    ends = [pa.array(noisy + side * width) for side in (-1, 1)]
    return Example(table, {"sightings": ends[0]}, {"sightings": ends[1]}, noise.epsilon)
