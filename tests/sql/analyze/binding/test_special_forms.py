"""The forms whose modules load late are those that these modules have, each read by its own module."""

from __future__ import annotations

import pytest
from sqlglot import exp

from discreet.sql.analyze.binding import (
    date_forms,
    list_forms,
    pattern_forms,
    place_forms,
    several_values,
    special_forms,
)

EARLY = set(several_values.FORMS)
"""They are read first, and hand on those that are of lists."""
BY_CLASS = [
    (special_forms._of_dates, date_forms.FORMS),
    (special_forms._of_lists, list_forms.FORMS),
    (special_forms._of_patterns, pattern_forms.FORMS),
]
BY_NAME = [
    (special_forms._of_dates, date_forms.FORMS_BY_NAME),
    (special_forms._of_lists, list_forms.FORMS_BY_NAME),
    (special_forms._of_places, place_forms.FORMS_BY_NAME),
]


@pytest.mark.parametrize(("read", "forms"), BY_CLASS)
def test_each_class_of_a_late_module(read: object, forms: dict[type[exp.Expr], object]) -> None:
    assert {kind for kind, form in special_forms.LATER.items() if form is read} == set(forms) - EARLY
    assert all(special_forms.FORMS[kind] is read for kind in set(forms) - EARLY)


@pytest.mark.parametrize(("read", "forms"), BY_NAME)
def test_each_name_of_a_late_module(read: object, forms: dict[str, object]) -> None:
    assert {name for name, form in special_forms.LATER_BY_NAME.items() if form is read} == set(forms)


def test_no_other_late_form() -> None:
    assert len(special_forms.LATER) == sum(len(set(forms) - EARLY) for _, forms in BY_CLASS)
    assert len(special_forms.LATER_BY_NAME) == sum(len(forms) for _, forms in BY_NAME)
