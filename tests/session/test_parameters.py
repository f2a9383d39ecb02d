"""The parameters of a question are read before anything else, and each bad one names the fix."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from tests import shared

from discreet.errors import DiscreetError, InvalidParameter, QueryRefused
from discreet.session import parameters
from discreet.sql.intervals.simultaneous import Level


@pytest.mark.parametrize(
    ("read", "bad"),
    [
        (parameters.see_text, [None, 3, b"SELECT 1", "SELECT '\0'", "SELECT '\ud800'"]),
        (parameters.delta_of, [-1, 1, 2, "small", float("nan")]),
        (parameters.emphasis_of, [[("n", 3)], {"n": 0}, {"n": "much"}, {3: 1}, "n"]),
        (parameters.confidence_of, [0, 1, -1, 1.5, "sure", None, 0.9999999999999999]),
        (lambda value: parameters.level_of(0.95, value), [None, 1, "yes"]),
        (lambda value: parameters.limits_of(value, None), [0, -1, 1.5, True, "3", 2**63]),
        (lambda value: parameters.limits_of(None, value), [0, -1, 1.5, True, "3", 2**63]),
    ],
)
def test_a_bad_parameter_names_the_fix(read: Callable[[Any], object], bad: list[Any]) -> None:
    for value in bad:
        with pytest.raises(DiscreetError) as refused:
            read(value)
        assert isinstance(refused.value, InvalidParameter | QueryRefused)
        assert refused.value.fix


def test_a_character_that_no_database_reads_is_named_by_its_place_alone() -> None:
    with pytest.raises(QueryRefused, match="place 8 of the question"):
        parameters.see_text("SELECT \0 'secret'")


def test_where_the_stack_ends_a_question_is_refused() -> None:
    def deeper() -> None:
        deeper()

    with pytest.raises(QueryRefused, match="nested too deeply"), parameters.not_too_deep():
        deeper()


def test_good_parameters_are_exact() -> None:
    parameters.see_text("SELECT 'é'")
    assert parameters.delta_of(None) == 0
    assert parameters.delta_of(1e-9) == Fraction(1, 10**9)
    assert parameters.emphasis_of({"n": 3, "a": 0.1}) == (("a", Fraction(1, 10)), ("n", Fraction(3)))
    assert parameters.emphasis_of(None) == ()
    level = parameters.level_of(0.9, True)
    assert level == Level(0.9, True)
    limits = parameters.limits_of(3, None)
    assert (limits.max_rows, limits.max_groups) == (3, None)


@pytest.mark.parametrize(
    "query", ["SELECT COUNT(*) AS n, SUM(x) AS s FROM data", "SELECT MEDIAN(x) AS n, COUNT(*) AS s FROM data"]
)
def test_the_greatest_confidence_has_intervals_that_hold_together(query: str) -> None:
    """The part of each number was rounded to nothing, which ended in a division by zero after the charge."""
    table = pa.table({"u": range(30), "x": range(30)})
    session = shared.protect(table, privacy_unit="u", max_rows=1, bounds={"x": (0, 30)}, budget=4)
    with pytest.raises(InvalidParameter, match="nearer to 1"):
        session.sql(query, epsilon=1, confidence=0.9999999999999999, simultaneous=True)
    assert session.budget.spent == 0
    release = session.sql(query, epsilon=1, confidence=parameters.SUREST, simultaneous=True)
    low, high = (release.to_dict()[f"n_{end}"][0] for end in ("low", "high"))
    assert low < high
