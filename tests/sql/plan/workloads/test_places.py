"""Which groups make up those of another release; that the sums are right is seen in the tests of recall and ranges."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import pyarrow as pa
import pytest
from tests import shared
from tests.inside import plan_of

import discreet as dp
from discreet.sql.plan.workloads.places import places

DATA = pa.table({"age": [1, 2, None], "ward": ["a", "b", "x"]})


@cache
def session() -> dp.Session:
    """One for all questions."""
    return shared.protect(
        DATA, privacy_unit="row", bounds={"age": (0, 9)}, keys={"ward": ["a", "b"]}, budget=10
    )


def placed(sql: str, by: str, every: bool = False) -> list[int] | None:
    (one,), (other,) = (plan_of(session(), text, Fraction(1)).releases for text in (sql, by))
    whole = frozenset(key.expression for key in other.keys) if every else frozenset()
    found = places(one, one.parts[0], other, other.parts[0], whole)
    return None if found is None else found[0].tolist()


AGES = "SELECT age, COUNT(*) AS n FROM data GROUP BY age"
WARDS = "SELECT ward, COUNT(*) AS n FROM data GROUP BY ward"


@pytest.mark.parametrize(
    ("sql", "by", "expected"),
    [
        ("SELECT COUNT(*) AS n FROM data WHERE age < 3", AGES, [0, 0, 0] + [-1] * 7),
        ("SELECT age // 5 AS g, COUNT(*) AS n FROM data GROUP BY g", AGES, [0] * 5 + [1] * 5),
        ("SELECT COUNT(*) AS n FROM data WHERE age < 3 OR age IS NULL", AGES, None),
        ("SELECT COUNT(*) AS n FROM data WHERE ward = 'b'", WARDS, [-1, 0]),
        ("SELECT COUNT(*) AS n FROM data WHERE ward <> 'b'", WARDS, None),
        ("SELECT COUNT(*) AS n FROM data", WARDS, None),
        ("SELECT COUNT(*) AS n FROM data WHERE ward = 'a'", AGES, None),
    ],
)
def test_groups_are_placed_where_no_row_is_missing(sql: str, by: str, expected: list[int] | None) -> None:
    assert placed(sql, by) == expected


def test_a_key_with_all_rows_holds_for_questions_that_do_not_read_it() -> None:
    assert placed("SELECT COUNT(*) AS n FROM data", WARDS, every=True) == [0, 0]
    assert placed("SELECT COUNT(*) AS n FROM data WHERE ward <> 'b'", WARDS, every=True) is None
