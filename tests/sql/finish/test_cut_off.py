"""The share that was cut off, as noisy integers tell it: without noise it is exact."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests import inside, shared
from tests.sql.plan.test_cut_off import CAP, COST, GIVEN, MEAN, ROWS, TABLE, UNIT, UNITS, of_cut_off

import discreet as dp
from discreet.sql.finish.cut_off import told


def _exact(session: dp.Session, sql: str) -> dict[str, float]:
    """The shares that an answer without noise would tell."""
    plan = inside.plan_of(session, sql, Fraction(1), diagnose=Fraction(1, 10))
    shares = [
        told(what, one, 0.95)
        for what, one in zip(plan.cut_off, inside.exact_of(session, of_cut_off(plan)), strict=True)
    ]
    return {share.subject: share.share for share in shares}


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_without_noise_the_shares_are_exact(neighbours: str) -> None:
    session = shared.protect(TABLE, **GIVEN, neighbours=neighbours)
    seen = np.minimum(ROWS, 4 * CAP)
    dropped = (seen - np.minimum(ROWS, CAP)).sum() / seen.sum()
    assert _exact(session, MEAN)["rows"] == pytest.approx(dropped)
    one = [sizes[UNITS // 4 * 0 :] for sizes in (seen[::4], np.minimum(ROWS, CAP)[::4])]
    some = (one[0] - one[1]).sum() / one[0].sum()
    assert _exact(session, f"{MEAN} WHERE ward = 'a'")["rows"] == pytest.approx(some)
    every = shared.protect(TABLE, **{**GIVEN, "privacy_unit": "row", "max_rows": None}, neighbours=neighbours)
    found = _exact(every, f"{MEAN} WHERE ward = 'a'")
    assert found == {"cost": pytest.approx((COST[UNIT % 4 == 0] > 50).mean())}
    asked = _exact(every, "SELECT ward, AVG(2 * cost) AS c FROM visits WHERE ward = 'a' GROUP BY ward")
    assert asked == found


def test_nan_and_null_are_not_clamped_and_infinity_is() -> None:
    values = pa.table({"cost": pa.array([1.0, None, float("nan"), float("inf"), -float("inf"), 60.0])})
    session = shared.protect(values, **{**GIVEN, "privacy_unit": "row", "max_rows": None, "keys": {}})
    assert _exact(session, MEAN) == {"cost": 3 / 4}
