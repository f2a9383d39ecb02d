"""The loss of a selection."""

from __future__ import annotations

import math

import pytest

from discreet import planning as plan


def test_selection() -> None:
    assert plan.selection_loss(4, 1, 1 - math.exp(-3)) == pytest.approx(2 * (math.log(4) + 3))
    assert plan.selection_loss(4, 1, sensitivity=2) == 2 * plan.selection_loss(4, 1)
