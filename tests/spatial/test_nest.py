"""The attack on one observer's record is as good as it can be, and no better; a map that betrays more is found."""

from __future__ import annotations

import math
from typing import Any

import pytest

import discreet as dp
from discreet.errors import InvalidParameter
from discreet.spatial import nest_attack


def betrayed(protect: Any, epsilon: str = "0.5", cap: int = 4) -> bool:
    """Whether more guesses are right than chance explains.

    Of 3,599 guesses at a rate of .6112 the standard deviation is .0081: six of them, 1e-9, are .049. Noise of half the
    scale is guessed at .704.
    """
    attack = nest_attack(protect, epsilon, cap, 60)
    assert attack.expected <= attack.most
    assert attack.wood is not None
    return abs(attack.right - attack.expected) > 0.05


def test_no_nest_is_betrayed_and_the_crowd_is_found() -> None:
    assert not betrayed(dp.protect)


def test_noise_of_half_the_scale_is_found() -> None:
    class Twice:
        """Asks for more than was said."""

        def __init__(self, *given: Any, **more: Any) -> None:
            self._session = dp.protect(*given, **{**more, "budget": 1})

        def sql(self, question: str, epsilon: Any, **more: Any) -> Any:
            return self._session.sql(question, epsilon=2 * epsilon, **more)

    assert betrayed(Twice)


@pytest.mark.parametrize("cap", [1, 2, 3, 4])
def test_the_long_run_is_that_of_the_noise(cap: int) -> None:
    attack = nest_attack(dp.protect, 1, cap, 2)
    weights = {z: math.exp(-abs(z) / cap) for z in range(-400 * cap, 400 * cap + 1)}
    wrong = sum(w for z, w in weights.items() if z > cap / 2) + sum(
        w for z, w in weights.items() if cap + z <= cap / 2
    )
    assert attack.expected == pytest.approx(1 - wrong / sum(weights.values()) / 2)
    assert cap > 1 or attack.expected == pytest.approx(attack.most)


@pytest.mark.parametrize("wrong", [{"side": 1}, {"side": 301}, {"cap": 0}, {"epsilon": 0}])
def test_what_cannot_be_attacked_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        nest_attack(dp.protect, **wrong)
