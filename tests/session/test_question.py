"""The parameters of a question are read once, in one place."""

from __future__ import annotations

import dataclasses
import inspect
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests import shared

import discreet as dp
from discreet.errors import InvalidParameter
from discreet.ledger import Loss
from discreet.session import question
from discreet.session.question import SessionQuestion
from discreet.sql.plan.limits import Limits

COUNT = "SELECT COUNT(*) AS n FROM data"


def test_a_question_holds_exact_values_and_does_not_change() -> None:
    asked = SessionQuestion.read(COUNT, 0.1, delta="1e-9", max_rows=3, split={"n": 2}, simultaneous=True)
    assert asked == SessionQuestion(
        COUNT, Fraction(1, 10), Fraction(1, 10**9), 0.95, True, Limits(3, None), (("n", Fraction(2)),)
    )
    assert asked.loss(spends=True) == Loss("1/10", "1e-9")
    assert asked.loss(spends=False) == Loss("1/10")
    assert asked.with_epsilon(Fraction(2)) == dataclasses.replace(asked, epsilon=Fraction(2))
    with pytest.raises(dataclasses.FrozenInstanceError):
        asked.epsilon = Fraction(3)  # type: ignore[misc]


def test_questions_are_told_apart_by_all_of_their_parameters() -> None:
    """The hash is of few of them, and is the same for all that are equal."""
    asked = [SessionQuestion.read(COUNT, "1/10"), SessionQuestion.read(COUNT, 0.1), SessionQuestion.read(COUNT, 0.2),
             SessionQuestion.read(COUNT, 0.1, max_rows=3), SessionQuestion.read(COUNT, 0.1, integers=True),
             SessionQuestion.read(COUNT, 0.1, diagnose=0.5), SessionQuestion.read(f"{COUNT} ", 0.1)]  # fmt: skip
    assert len(set(asked)) == len(asked) - 1
    assert hash(asked[0]) == hash(asked[1])


def test_every_parameter_of_a_question_is_one_of_sql_with_the_same_default() -> None:
    read, sql = (inspect.signature(one).parameters for one in (SessionQuestion.read, dp.Session.sql))
    assert {name: sql[name].default for name in read if name not in ("text", "epsilon")} == {
        name: one.default for name, one in read.items() if name not in ("text", "epsilon")
    }
    assert set(sql) - set(read) == {"self", "query", "within", "group_rows", "reuse", "progress"}


@pytest.mark.parametrize(
    "odd",
    [
        {"epsilon": None}, {"epsilon": True}, {"epsilon": 0}, {"epsilon": "x"}, {"delta": -1}, {"delta": 1},
        {"confidence": 1}, {"simultaneous": 1}, {"max_rows": 0}, {"max_groups": 1.5}, {"split": {"n": 0}},
        {"split": [1]},
    ],
)  # fmt: skip
def test_what_is_out_of_range_is_refused_everywhere_and_costs_nothing(
    odd: dict[str, Any], tmp_path: Any
) -> None:
    given = {"epsilon": 1, **odd}
    with pytest.raises(InvalidParameter):
        SessionQuestion.read(COUNT, given.pop("epsilon"), **given)
    given = {"epsilon": 1, **odd}
    with shared.protect(pa.table({"age": [1, 2]}), privacy_unit="row", budget=3) as session:
        for ask in (
            lambda: session.sql(COUNT, **given),
            lambda: session.preview(COUNT, **given),
            lambda: session.write(COUNT, into=tmp_path / "a.csv", **given),
        ):
            with pytest.raises(InvalidParameter) as caught:
                ask()
            assert caught.value.charged is None
        assert session.budget.spent == 0
        assert session.ledger.entries() == []


def see_types_told_apart() -> None:
    """Ask for equal values of other types, once the first of them is remembered."""
    ones: list[Any] = [1, 1.0, Fraction(1), "1"]
    assert len({SessionQuestion.read(COUNT, one, max_rows=1, nonnegative=True) for one in ones}) == 1
    odd: list[tuple[Any, dict[str, Any]]] = [
        (True, {"max_rows": 1, "nonnegative": True}),
        (1, {"max_rows": True, "nonnegative": True}),
        (1, {"max_rows": 1, "nonnegative": 1}),
    ]
    for epsilon, others in odd:
        with pytest.raises(InvalidParameter):
            SessionQuestion.read(COUNT, epsilon, **others)


def test_a_question_is_remembered_by_the_types_of_its_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    assert SessionQuestion.read(COUNT, 0.3) is SessionQuestion.read(COUNT, 0.3)
    see_types_told_apart()
    # The planted fault: it is remembered by values alone.
    faulty = {"_known": lru_cache(9)(question._read), "_known_parameters": lru_cache(9)(question._parameters)}
    for name, cache in faulty.items():
        with monkeypatch.context() as patch:
            patch.setattr(question, name, cache)
            if name == "_known_parameters":  # each text is new to the other
                patch.setattr(question, "_known", question._read)
            with pytest.raises(pytest.fail.Exception):
                see_types_told_apart()


@pytest.mark.parametrize("forgotten", range(12))
def test_no_parameter_of_a_question_is_forgotten(forgotten: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault of each: of two questions that differ in it, the second is read as the first."""
    first: list[Any] = [COUNT, 1, 0.95, None, None, None, None, False, True, None, False, False]
    other: list[Any] = [f"{COUNT} ", 2, 0.9, 0.1, 2, 3, 4, True, False, 0.5, True, True]
    names = list(inspect.signature(SessionQuestion.read).parameters)
    names.remove("split")

    def read(values: list[Any]) -> SessionQuestion:
        return SessionQuestion.read(**dict(zip(names, values, strict=True)))

    changed = [*first[:forgotten], other[forgotten], *first[forgotten + 1 :]]
    assert read(first) != read(changed)
    seen: dict[tuple[Any, ...], SessionQuestion] = {}

    def faulty(*given: Any) -> SessionQuestion:
        key = (*given[:forgotten], *given[forgotten + 1 :])
        return seen.setdefault(key, question._read(*given))

    with monkeypatch.context() as patch:
        patch.setattr(question, "_known", faulty)
        assert read(first) == read(changed)
    if not forgotten:
        return
    shared: dict[tuple[Any, ...], dict[str, Any]] = {}

    def without(*given: Any) -> dict[str, Any]:
        key = (*given[: forgotten - 1], *given[forgotten:])
        return shared.setdefault(key, question._parameters(*given))

    question._known.cache_clear()
    monkeypatch.setattr(question, "_known_parameters", without)
    assert read(first) == read(changed)
    question._known.cache_clear()


@pytest.mark.parametrize(
    "name", [name for name in inspect.signature(SessionQuestion.read).parameters if name != "text"]
)
@pytest.mark.parametrize("wrong", [[0.1], pd.Series([0.1]), np.array([0.1]), {"n": [1]}, set()])
def test_a_parameter_that_cannot_be_hashed_is_refused_by_name(name: str, wrong: Any) -> None:
    given: dict[str, Any] = {"epsilon": 1, name: wrong}
    if name == "split" and isinstance(wrong, set):
        given["split"] = [0.1]
    with pytest.raises(InvalidParameter):
        SessionQuestion.read(COUNT, **given)
