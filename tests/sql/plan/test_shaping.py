"""The options that shape numbers: which notes they bring, and what they do to a plan."""

from __future__ import annotations

from fractions import Fraction

import pytest
from tests.inside import plan_of
from tests.sql.plan.workloads.test_together import CUBE, protect

from discreet.sql.lower.identity import identity
from discreet.sql.plan.shaping import Shaping


@pytest.mark.parametrize(
    ("how", "together", "number"),
    [
        ((), True, 0),
        ((True,), True, 1),
        ((True,), False, 1),
        ((False, True), False, 0),
        ((True, True), True, 2),
    ],
)
def test_each_bias_is_said(how: tuple[bool, ...], together: bool, number: int) -> None:
    notes = list(Shaping(*how).notes(together))
    assert len(notes) == number
    assert all("bias" in note for note in notes)
    assert bool(Shaping(*how)) == any(how)


def test_a_plan_is_the_same_but_for_whole_counts() -> None:
    session = protect()
    plain, shaped = (
        plan_of(session, CUBE, Fraction(1), shaping=how) for how in (Shaping(), Shaping(True, True))
    )
    assert plain.measured == shaped.measured
    assert identity(plain, "duckdb") == identity(shaped, "duckdb")
    assert all(one.whole for table in shaped.releases for one in table.aggregates)
    assert not all(one.whole for table in plain.releases for one in table.aggregates)
