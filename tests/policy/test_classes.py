"""Classes of people, and the declarations that they do not go with."""

from __future__ import annotations

from typing import Any

import pytest
from tests.consenting import SHARES, declared

import discreet as dp
from discreet.errors import PolicyError
from discreet.policy.classes import personal_of


def test_one_table_names_them_or_none() -> None:
    found = personal_of(declared().tables)
    assert found is not None
    assert found[0] == "people"
    assert personal_of({"visits": declared().tables["visits"]}) is None


def test_what_shares_do_not_go_with_is_refused() -> None:
    people = {"privacy_unit": "id", "max_rows": 1, "personal": {"column": "consent", "shares": SHARES}}
    cases: list[tuple[dict[str, Any], str]] = [
        ({"neighbours": "replace_one"}, "has no share of their own"),
        ({"budget": dp.Budget(epsilon=1, delta="1e-6", accountant="zcdp")}, "zcdp composes"),
        ({"tables": {"a": people, "b": people}}, "Two tables"),
        ({"tables": {"a": {"public": True, "personal": people["personal"]}}}, "holds nobody"),
        ({"tables": {"a": {**people, "columns": {"Consent": {"bounds": [0, 1]}}}}}, "clamped to another"),
    ]
    for more, said in cases:
        given: dict[str, Any] = {"budget": 1, "tables": {"people": people}, **more}
        with pytest.raises(PolicyError, match=said):
            dp.Policy(**given)
