"""Errors as callers are told them: no data value, no path, and always the charge."""

from __future__ import annotations

import pytest

from discreet import errors
from discreet.accounting.loss import Loss
from discreet.errors import BudgetExceeded, DiscreetError, InvalidParameter, QueryRefused, tell
from discreet.server.problems import STATUS, NotSignedIn, NotThere, body, status, told

SECRET = "patient 4711 at /srv/visits.parquet"
KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, DiscreetError)]
SPOKEN = (QueryRefused, InvalidParameter, errors.ServerError, BudgetExceeded)


def made(kind: type[DiscreetError]) -> DiscreetError:
    return BudgetExceeded(SECRET, "1", "0") if kind is BudgetExceeded else kind(SECRET, SECRET)


@pytest.mark.parametrize("kind", KINDS)
def test_after_the_charge_the_words_are_fixed(kind: type[DiscreetError]) -> None:
    error = made(kind)
    tell(error, Loss("0.5"))
    said = body(told(error))
    if kind is not errors.TimedOut:  # which the service makes itself
        assert "4711" not in str(said)
        assert "/srv" not in str(said)
    assert said["charged"] == {"epsilon": "0.5", "delta": "0"}


@pytest.mark.parametrize("kind", KINDS)
def test_before_the_charge_only_errors_of_the_question_speak(kind: type[DiscreetError]) -> None:
    assert ("4711" in str(body(told(made(kind))))) == issubclass(kind, SPOKEN)


@pytest.mark.parametrize(
    "error", [ValueError(SECRET), KeyError(SECRET), OSError(2, SECRET), MemoryError(SECRET)]
)
def test_errors_that_nobody_foresaw_say_nothing(error: BaseException) -> None:
    assert "4711" not in str(body(told(error)))
    assert status(told(error)) == 500


def test_what_is_not_there_is_told_as_what_is_not_allowed() -> None:
    assert body(NotThere("a", "b"))["error"] == body(NotSignedIn("a", "b"))["error"] == "NotAllowed"
    assert all(any(issubclass(kind, first) for first, _ in STATUS) for kind in KINDS)
