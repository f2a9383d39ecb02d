"""Noisy integers give the estimates of the groups that are asked for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests import inside, shared

from discreet.sql.lower.run import BLOCK, GroupSelection, NoisyIntegers


@pytest.mark.parametrize("groups", [2, 5, BLOCK + 3])
def test_estimates_of_some_groups_are_those_of_all(groups: int) -> None:
    table = pa.table({"g": [0]})
    with shared.protect(table, privacy_unit="row", bounds={"g": (0, groups - 1)}, budget=1) as session:
        plan = inside.plan_of(session, "SELECT g, COUNT(*) AS n FROM data GROUP BY g", Fraction(1, 2))
    (one,) = plan.releases
    noisy = NoisyIntegers(one, np.arange(one.cells)[:, np.newaxis] - 1)
    (aggregate,) = one.aggregates
    every = np.arange(one.cells) - 1.0
    some: list[GroupSelection] = [
        slice(None),
        slice(0, one.cells),
        slice(1, one.cells),
        slice(0, 1),
        slice(0, 0),
        np.array([0, one.cells - 1, 0]),
    ]
    for at in [*some, *some]:  # the second time what was kept of the first could be given
        assert np.array_equal(noisy.values(aggregate, at), every[at])
