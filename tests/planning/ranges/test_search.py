"""Which windows are measured: the gain, where there is none, and how near the best is."""

from __future__ import annotations

import pytest

from discreet.planning.ranges.factors import error, single
from discreet.planning.ranges.families import EACH, RUNNING, RangeFamily, WindowFrame
from discreet.planning.ranges.search import GAIN, LEAST, MOST, factors


@pytest.mark.parametrize(
    ("size", "families", "most"),
    [
        (48, (RUNNING,), 5.05),  # the search over all entries finds 4.94
        (100, (RUNNING,), 6.1),
        (365, (RUNNING,), 8.1),  # 7.88
        (365, (WindowFrame(0, None),), 8.1),
        (365, (EACH, RUNNING), 4.25),
        (100, (WindowFrame(29, 0),), 5.9),
    ],
)
def test_errors_are_as_small_as_stated(size: int, families: tuple[RangeFamily, ...], most: float) -> None:
    found = factors(size, families)
    assert found is not None
    assert error(found, families) <= most
    assert error(found, families) * GAIN < error(single(size), families)


def test_running_totals_backwards_are_as_exact_as_forwards() -> None:
    one, other = factors(120, (RUNNING,)), factors(120, (WindowFrame(0, None),))
    assert one is not None
    assert other is not None
    assert abs(one.variance(RUNNING) / other.variance(WindowFrame(0, None)) - 1) < 1e-9


@pytest.mark.parametrize("size", [0, 1, LEAST - 1, MOST + 1])
def test_few_and_too_many_values_are_measured_by_themselves(size: int) -> None:
    assert factors(size, (RUNNING,)) is None


def test_single_values_and_short_windows_are_measured_by_themselves() -> None:
    assert factors(365, ()) is None
    assert factors(365, (EACH,)) is None
    assert factors(365, (EACH, WindowFrame(6, 0))) is None
