"""A name means the column that is written so, and else the only one that differs by case alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from discreet.policy.naming import meant, twins

NAMES = st.lists(st.sampled_from(["id", "ID", "Id", "age", "Age", "x"]), unique=True)


@given(NAMES, st.sampled_from(["id", "ID", "iD", "age", "y"]))
def test_a_name_is_itself_or_all_that_differ_by_case(names: list[str], name: str) -> None:
    found = meant(name, names)
    if name in names:
        assert found == [name]
    else:
        assert found == [each for each in names if each.lower() == name.lower()]


@given(NAMES)
def test_twins_are_the_first_names_that_differ_by_case_alone(names: list[str]) -> None:
    found = twins(names)
    assert bool(found) == (len({name.lower() for name in names}) < len(names))
    assert len({name.lower() for name in found}) <= 1
    assert set(found) <= set(names)
