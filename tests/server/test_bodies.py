"""The keys of bodies, and the keyword arguments that they become."""

from __future__ import annotations

import inspect

import pytest
from pydantic import ValidationError

from discreet.server.bodies import ExplainQuestion, MockQuestion, PreviewQuestion, Question
from discreet.session import Session


def test_every_key_is_an_argument_of_the_session() -> None:
    def parameters(name: str) -> set[str]:
        return set(inspect.signature(getattr(Session, name)).parameters)

    assert set(Question.model_fields) <= parameters("sql")
    assert set(PreviewQuestion.model_fields) <= parameters("preview")
    assert set(ExplainQuestion(query="SELECT 1").explained()) <= parameters("explain")
    assert set(MockQuestion.model_fields) == {*Question.model_fields, "rows"}


def test_keys_that_were_left_out_are_left_out() -> None:
    assert Question(query="SELECT 1").asked() == {
        "query": "SELECT 1",
        "confidence": 0.95,
        "simultaneous": False,
        "intervals": True,
        "nonnegative": False,
        "integers": False,
    }
    assert PreviewQuestion(query="q", within={"n": 1}).looked()["within"] == {"n": 1}


@pytest.mark.parametrize(
    "more",
    [
        {"epsilon": True},
        {"epsilon": "1" * 101},
        {"max_rows": "3"},
        {"rows": 1},
        {"split": {"n" * 101: 1}},
        {"query": 1},
    ],
)
def test_values_of_another_type_or_size_are_refused(more: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Question.model_validate({"query": "SELECT 1", **more})
