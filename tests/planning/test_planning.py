"""What no plan takes, and what each says of it."""

from __future__ import annotations

from typing import Any

import pytest

from discreet import planning as plan
from discreet.errors import InvalidParameter
from discreet.planning import LaplaceError, Schedule, VectorError


@pytest.mark.parametrize(
    "call",
    [
        lambda: LaplaceError.of(0),
        lambda: LaplaceError.of(1, float("nan")),
        lambda: LaplaceError(1).radius(1),
        lambda: LaplaceError(1).beyond(-1),
        lambda: VectorError.of(0, 1),
        lambda: VectorError.of(True, 1),
        lambda: VectorError.of_counts(3, 1, "both"),
        lambda: plan.sample_sizes(0, 1),
        lambda: plan.sample_sizes(0.1, "x"),
        lambda: plan.proportion_error(1.5, 1),  # type: ignore[arg-type]
        lambda: plan.mean_error((1, 1), 5, 1),
        lambda: plan.mean_error((2, 1), 5, 1),
        lambda: plan.scale_for_tail(1, 1),
        lambda: plan.demands(),
        lambda: plan.demands(1, ceiling=0),
        lambda: plan.selection_loss(0, 1),
        lambda: Schedule("x", 1),
        lambda: Schedule(1, 1, c=0),
    ],
)
def test_bad_parameters(call: Any) -> None:
    with pytest.raises(InvalidParameter):
        call()
