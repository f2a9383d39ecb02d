"""Groups that no argument touches are told apart from others; `test_generic_reading` compares whole plans."""

from __future__ import annotations

from typing import Any

import pytest
from tests import inside
from tests.sql.fuzz import bench
from tests.sql.plan.generic.test_generic_reading import planned

from discreet.sql.algebra.public_groups import public_groups
from discreet.sql.plan import reading
from discreet.sql.plan.generic import generic_reading
from discreet.sql.plan.generic.untouched_groups import UntouchedGroups

UNTOUCHED = "SELECT sex, COUNT(*) AS n FROM t WHERE x > {} GROUP BY sex"
NEVER = "99"
"""Beyond the bounds of x."""
TOUCHED = (
    "SELECT sex, COUNT(*) AS n FROM t WHERE y < {} AND (y > 3 OR sex = 'M') GROUP BY sex",
    "SELECT y, COUNT(*) AS n FROM t WHERE y < {} GROUP BY y",
    "SELECT y // 5 AS k, COUNT(*) AS n FROM t WHERE y < {} GROUP BY k",
    "SELECT sex, COUNT(*) AS n FROM t WHERE y < {} OR sex = 'M' GROUP BY sex",
)


def worked_out(text: str, patch: pytest.MonkeyPatch, literals: tuple[str, ...]) -> int:
    """How often groups are worked out for some literals, once a template is known; plans are compared."""
    catalog, known, calls = inside.catalog_of(bench.bench().session), reading.Readings(), 0
    real = public_groups

    def counted(*given: Any) -> Any:
        nonlocal calls
        calls += 1
        return real(*given)

    for one in ("4", "5"):
        planned(text.format(one), catalog, False, known)
    with patch.context() as counting:
        counting.setattr(generic_reading, "public_groups", counted)
        found = [planned(text.format(one), catalog, False, known) for one in literals]
    with patch.context() as without:
        without.setattr(reading, "template_of", lambda text: None)
        assert found == [planned(text.format(one), catalog, False, None) for one in literals]
    return calls


def test_groups_by_other_columns_are_not_worked_out_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert worked_out(UNTOUCHED, monkeypatch, ("6", "7", "19")) == 0


def test_a_condition_that_no_value_meets_leaves_no_group(monkeypatch: pytest.MonkeyPatch) -> None:
    assert worked_out(UNTOUCHED, monkeypatch, (NEVER,)) >= 1


@pytest.mark.parametrize("text", TOUCHED)
def test_groups_that_a_literal_may_change_are_worked_out(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert worked_out(text, monkeypatch, ("6", "1")) >= 2


def test_conditions_that_are_taken_to_hold_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(UntouchedGroups, "hold", lambda *_: True)
    with pytest.raises(AssertionError):
        worked_out(UNTOUCHED, monkeypatch, (NEVER,))
