"""Random questions are answered as plain DuckDB answers them, but for noise, which is zero here.

A case compares values, which groups there are, their order, the types of the columns, and low <= value <= high; or two
questions that mean the same. There is no chance of a false alarm, but for that of `cases.fair`, which says it. Power: the
faults of `test_planted.py` are planted, and each is found by a kind of case.

By default 20 cases are asked. With DISCREET_DEEP=1 there are 20,000, which take about half an hour of one
core; DISCREET_FUZZ=first:last asks a slice of them.
"""

from __future__ import annotations

import os

import pytest
from tests.depth import DEEP
from tests.sql.fuzz import cases

FIRST, LAST = map(int, os.environ.get("DISCREET_FUZZ", f"0:{20_000 if DEEP else 20}").split(":"))
SHARDS = 4 if LAST - FIRST <= 1000 else 40


@pytest.mark.parametrize("shard", range(SHARDS))
def test_random_questions_are_answered_as_duckdb_answers_them(shard: int) -> None:
    found = [cases.problem(number) for number in range(FIRST + shard, LAST, SHARDS)]
    assert [one for one in found if one] == []


def test_few_questions_are_refused() -> None:
    """Else a fuzzer that is refused everything would find nothing."""
    cases.REFUSALS.clear()
    asked = range(100_000, 100_020 if DEEP else 100_010)
    assert [one for one in map(cases.problem, asked) if one] == []
    known = sum(many for cause, many in cases.REFUSALS.items() if cases.NO_GROUP not in cause)
    assert known <= len(asked) / 20, cases.REFUSALS
