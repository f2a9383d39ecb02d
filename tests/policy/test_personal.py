"""Classes of people in a policy: what is read, what is refused, and that a file says the same."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.consenting import PEOPLE, SHARES, declared, protected

import discreet as dp
from discreet.errors import PolicyError
from discreet.policy.classes import personal_of


def test_a_policy_reads_back_from_its_file(tmp_path: Path) -> None:
    policy = declared(shares={"careful": 0.1, "1 / 3 of it": "1/3", "open": 1})
    (tmp_path / "policy.toml").write_text(policy.to_toml())
    assert dp.Policy.from_toml(tmp_path / "policy.toml") == policy
    found = personal_of(policy.tables)
    assert found is not None
    assert found[1].shares["1 / 3 of it"] == Fraction(1, 3)


def test_an_answer_depends_on_the_shares() -> None:
    one = declared().digest()
    assert declared(budget=5).digest() == one
    assert declared(shares={**SHARES, "careful": "0.2"}).digest() != one
    plain = declared().tables["people"].model_copy(update={"personal": None})
    assert (
        dp.Policy(budget=dp.Budget(epsilon=1), tables={**declared().tables, "people": plain}).digest() != one
    )


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ({}, "names no class"),
        ({"a": 0, "b": 1}, "at least 0.000001"),
        ({"a": 2, "b": 1}, "at most 1"),
        ({"a": 0.5}, "No class has the share 1"),
        ({f"c{at}": 1 for at in range(17)}, "more than 16"),
        ({"a\n": 1}, "not shown"),
        ({"1": 0.1, 1: 1}, "two shares"),
        ({"a": "much"}, "a"),
        (3, "names no class"),
    ],
)
def test_shares_are_parts_of_one(shares: Any, said: str) -> None:
    with pytest.raises(PolicyError, match=said):
        declared(shares=shares)


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pa.array([0.5] * 11), "names no classes"),
        (pa.array([1] * 11), "whole numbers"),
    ],
)
def test_the_column_must_be_able_to_name_them(column: pa.Array, said: str) -> None:
    table = PEOPLE.set_column(1, "consent", column)
    with pytest.raises(PolicyError, match=said):
        protected(people=table)
    with pytest.raises(PolicyError, match="no column consent"):
        protected(people=PEOPLE.drop_columns(["consent"]))


def test_classes_may_be_numbers() -> None:
    table = PEOPLE.set_column(1, "consent", pa.array([1, 2, 1, None, 1, 9, 1, 2, 1, None, 1]))
    session = protected(declared(shares={"1": 1, "2": "0.1"}), people=table)
    answer = session.sql("SELECT consent, COUNT(*) AS n FROM people GROUP BY consent", 200).to_dict()
    assert answer["consent"] == [1, 2]
    assert answer["n"] == [3, 2]  # a false alarm has a chance below 1e-8


def test_the_words_say_the_epsilon_of_each_class() -> None:
    assert ("people, personal",
            "consent says how much of epsilon 1000 a person allows: careful 100, normal 500, open 1000",
            ) in declared().lines()  # fmt: skip
