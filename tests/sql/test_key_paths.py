"""Units at the end of a path: neighbouring data sets stay within the sensitivity, however the keys are broken.

Power: each planted fault below is found with the same comparison on the data sets beside it, and within a few hundred
random cases (a run asks 80, a deep one 1,600). There is no chance of a false alarm: a violation is a pair of
data sets on which the guarantee is broken.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from tests.depth import examples
from tests.sql import paths

from discreet.sql.algebra.catalog import UnitStep
from discreet.sql.expressions.dialect import Dialect
from discreet.sql.lower import owners

CASES = examples(16, 1600)
SHARDS = 8

_owners = owners._owners


def _least(step: UnitStep, dialect: Dialect) -> str:
    """A key that several units share belongs to the least of them."""
    return _owners(step, dialect).replace("any_value(", "min(").partition(" HAVING")[0]


def _first_met(step: UnitStep, dialect: Dialect) -> str:
    """A key that several units share belongs to one of them."""
    return _owners(step, dialect).partition(" HAVING")[0]


def _nobody_passed_over(step: UnitStep, dialect: Dialect) -> str:
    """Rows of the parent that belong to nobody do not count."""
    return _owners(step, dialect).replace("IS NOT NULL)", f"IS NOT NULL AND {owners.OWNER} IS NOT NULL)").replace(
        " HAVING COUNT(*) = 1 AND", f" HAVING COUNT(DISTINCT {owners.OWNER}) = 1 AND COUNT({owners.OWNER}) = 1 OR"
    )  # fmt: skip


def _every_owner(step: UnitStep, dialect: Dialect) -> str:
    """A row belongs to every unit that holds its key."""
    return _owners(step, dialect).partition("FROM (")[2].rpartition(") AS pairs")[0]


@pytest.mark.parametrize("shard", range(SHARDS))
def test_neighbours_stay_within_the_sensitivity(shard: int) -> None:
    assert paths.violations(shard, CASES // SHARDS) == []


SHARED: paths.Data = {
    "people": [(0, 0, 1), (1, 1, 1)],
    "orders": [(7, 0, "x"), (7, 1, "x"), (8, 1, "x"), (9, 0, "x")],
}
"""Two households share the order 7, and each has another of its own."""
NOBODYS: paths.Data = {
    "people": [(0, 0, 1), (0, 1, 1), (2, 2, 1), (3, 0, 1)], "orders": [(7, 0, "x"), (7, 2, "x"), (8, 3, "x")],
}  # fmt: skip
"""The order 7 is of a household, and of a person who may be of two others."""
CASES_OF_FAULTS: list[tuple[paths.Data, int]] = [
    ({**SHARED, "lines": [(7, 1, "x"), (8, 1, "x")]}, 1),
    ({**SHARED, "lines": [(7, 1, "x"), (9, 1, "x")]}, 0),
    ({**NOBODYS, "lines": [(7, 1, "x"), (8, 1, "x")]}, 0),
]
"""Data, and the household that a neighbour lacks."""


def _on_the_cases() -> list[str]:
    rng = random.Random(0)
    pairs = [(data, paths.without(data, home, rng, behind=False)) for data, home in CASES_OF_FAULTS]
    return paths.moved(paths.QUESTIONS[0], paths.policy(caps=(1, 1, 1)), pairs, rng)


@pytest.mark.parametrize("fault", [_least, _first_met, _nobody_passed_over, _every_owner])
def test_a_rule_by_which_rows_change_hands_is_found(
    fault: Callable[[UnitStep, str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _on_the_cases() == []
    monkeypatch.setattr(owners, "_owners", fault)
    assert _on_the_cases() != []
