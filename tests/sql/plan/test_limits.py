"""How many rows of a unit count in a question, by its limits."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
import pytest
from tests import inside, shared

from discreet.sql.plan.limits import NO_LIMITS, Limits
from discreet.sql.plan.planner import plan as plan_of

ROWS = pa.table({"id": [1, 1, 2], "k": ["a", "b", "a"]})
GROUPS = "SELECT k, {} AS n FROM data GROUP BY k"


@pytest.mark.parametrize(
    ("number", "limits", "cap", "per_group"),
    [
        ("COUNT(*)", NO_LIMITS, 7, None),
        ("COUNT(*)", Limits(max_rows=3), 3, None),
        ("COUNT(*)", Limits(max_rows_per_group=2), 4, 2),  # of two groups
        ("COUNT(*)", Limits(max_groups=1, max_rows_per_group=2), 2, None),
        ("COUNT(DISTINCT id)", NO_LIMITS, 2, 1),
        ("COUNT(DISTINCT id)", Limits(max_groups=1), 1, 1),
    ],
)
def test_the_least_limit_counts(number: str, limits: Limits, cap: int, per_group: int | None) -> None:
    with shared.protect(ROWS, privacy_unit="id", max_rows=7, keys={"k": ["a", "b"]}, budget=9) as session:
        plan = plan_of(GROUPS.format(number), inside.catalog_of(session), Fraction(1), limits)
    ((part,),) = [release.parts for release in plan.releases]
    assert (part.cap, part.per_group) == (cap, per_group)


def test_the_text_of_limits_is_a_part_of_questions_in_ledgers() -> None:
    assert str(NO_LIMITS) == "Limits(max_rows=None, max_groups=None, max_rows_per_group=None)"
