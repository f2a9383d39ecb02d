"""Hospitals of different people, and one with the people of all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import discreet as dp
from tests import shared

DRAW = np.random.default_rng(11)
WARDS = ["a", "b", "c"]
SIZES = {"north": 300, "south": 500, "west": 200}


def _people(rows: int) -> pa.Table:
    return pa.table(
        {
            "ward": DRAW.choice([*WARDS, "z"], rows),  # one is not listed
            "age": DRAW.integers(0, 130, rows),  # some are beyond the bounds
            "day": DRAW.integers(0, 1000, rows),
        }
    )


PEOPLE = {name: _people(rows) for name, rows in SIZES.items()}
POOLED = pa.concat_tables(PEOPLE.values())


def ward(people: Any, **more: Any) -> dp.Session:
    """A session over people, each a row."""
    given = {"privacy_unit": "row", "bounds": {"age": (0, 120), "day": (0, 999)}, "keys": {"ward": WARDS},
             "budget": 10**6, **more}  # fmt: skip
    return shared.protect(people, table="data" if not isinstance(people, pa.Table) else None, **given)


def wards(**more: Any) -> dict[str, dp.Session]:
    """All hospitals."""
    return {name: ward(people, **more) for name, people in PEOPLE.items()}
