"""Errors as documents and back: every class of ours, and nothing else."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet import errors
from discreet.accounting.loss import Loss
from discreet.client.wire import DEEPEST, of_error, to_error, to_explanation
from discreet.errors import BudgetExceeded, DiscreetError, QueryRefused, ServerError, tell

CLASSES = [
    kind for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, DiscreetError) and kind not in (BudgetExceeded, QueryRefused)
]  # fmt: skip


@pytest.mark.parametrize("kind", CLASSES)
def test_an_error_is_the_same_on_the_other_side(kind: type[DiscreetError]) -> None:
    error = kind("The cause.", "The fix.")
    tell(error, Loss(Fraction(1, 3), Fraction(1, 10**9)))
    back = to_error(of_error(error))
    assert type(back) is kind
    assert (str(back), back.charged, back.cause, back.fix) == (
        str(error),
        error.charged,
        "The cause.",
        "The fix.",
    )


@pytest.mark.parametrize("name", ["SystemExit", "prose", "Protocol", "Any", "__name__", "", None, 3])
def test_a_name_that_is_no_error_of_ours_makes_none(name: object) -> None:
    said = {"error": name, "cause": "The cause.", "fix": "", "charged": None}
    assert type(to_error(said)) is ServerError


def test_a_plan_without_end_is_refused() -> None:
    node: dict[str, object] = {"kind": "", "title": "", "facts": [], "from": []}
    for _ in range(DEEPEST):
        node = {**node, "from": [node]}
    with pytest.raises(ValueError, match="deeply"):
        to_explanation({"question": "", "epsilon": "1", "tree": node})
