"""Checks of a policy: each finding has its fix, and a complete policy has none."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

import pyarrow as pa

import discreet as dp
from discreet.policy import Policy
from discreet.release.documents import rows
from discreet.server.pages.checks import Check, checks

START, END = dt.datetime(2024, 1, 1), dt.datetime(2024, 12, 31)
DATA = pa.table({"who": [1], "age": [3], "note": ["x"], "seen": [START], "left": [END]})
BOUNDS = {"age": (0, 9), "seen": (START, END)}


def told(epsilon: int, granted: list[Fraction]) -> list[Check]:
    policy = Policy.for_table("data", privacy_unit="who", max_rows=1, bounds=BOUNDS, budget=epsilon)
    session = dp.protect(DATA, policy=policy)
    columns = rows(session.sql("SELECT * FROM information_schema.columns"))
    tables = [{"table_name": "data", "kind": "private", "columns": columns}]
    return list(checks(policy, tables, granted))


def test_findings_name_their_columns_and_their_fix() -> None:
    found = [one for one in told(40, []) if not one.fine]
    assert all(one.fix for one in found)
    assert [one.words.split()[0] for one in found] == ["The", "data:", "Cards"]
    # A time stamp with bounds is grouped by its parts.
    assert "data: note, left can be counted" in found[1].words


def test_grants_beyond_the_budget_are_no_fault_as_the_data_set_holds() -> None:
    grants = [one.words for one in told(1, [Fraction(1), Fraction(1)]) if one.words.startswith("Analysts")]
    assert grants == ["Analysts were granted 2 together, more than that; the data set's budget holds."]
