"""Each value of a release gets its noise once, and none is left without it."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import EngineError
from discreet.mechanisms import LaplaceVector
from discreet.release.draw import Draw, Use


def draw(values: int | None) -> Draw:
    return Draw({"n": Use(LaplaceVector(scale=1, sensitivity=1), "add_remove", values)})


def test_values_are_drawn_in_pieces_each_once() -> None:
    drawn = draw(5)
    assert drawn("n", np.zeros(2, np.int64)).shape == (2,)
    with pytest.raises(EngineError, match="no noise"):
        drawn.see_all_drawn()
    drawn("n", np.zeros((3, 1), np.int64))
    drawn.see_all_drawn()
    with pytest.raises(EngineError, match="a second time"):
        drawn("n", np.zeros(1, np.int64))


def test_more_values_than_were_declared_get_no_noise() -> None:
    with pytest.raises(EngineError, match="a second time"):
        draw(2)("n", np.zeros(3, np.int64))


def test_a_number_that_is_known_later_is_said_once() -> None:
    drawn = draw(None)
    with pytest.raises(EngineError, match="no noise"):
        drawn.see_all_drawn()
    drawn.settle_size("n", 3)
    with pytest.raises(EngineError, match="known already"):
        drawn.settle_size("n", 4)
    drawn("n", np.zeros(3, np.int64))
    drawn.see_all_drawn()


def test_a_use_of_unknown_size_may_draw_all_at_once() -> None:
    drawn = draw(None)
    drawn("n", np.zeros(7, np.int64))
    drawn.see_all_drawn()
    with pytest.raises(EngineError, match="a second time"):
        drawn("n", np.zeros(1, np.int64))
