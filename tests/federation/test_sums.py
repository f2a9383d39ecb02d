from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.federation.sums import LARGEST, added, summed
from tests import inside
from tests.federation.wards import POOLED, ward


def test_sums_saturate() -> None:
    plan = summed(inside.plan_of(ward(POOLED), "SELECT SUM(age) AS n FROM data", Fraction(1)), 3)
    most, least = (np.full((1, 1), end, np.int64) for end in (2**63 - 1, -(2**63)))
    assert added(plan, [most, most, most]).entries.tolist() == [[LARGEST]]
    assert added(plan, [least, least]).entries.tolist() == [[-LARGEST]]
    assert added(plan, [np.array([[3]]), np.array([[-5]])]).entries.tolist() == [[-2]]


def test_the_law_of_a_sum_has_the_scale_of_each_so_many_times() -> None:
    plan = inside.plan_of(ward(POOLED), "SELECT COUNT(*) AS n FROM data", Fraction(1, 10))
    law = summed(plan, 4).releases[0].recalled
    assert law is not None
    assert law.laws == ((((10.0, 4),),),)
    assert law.variances.tolist() == [800.0]
