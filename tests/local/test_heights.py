"""The height experiment gives the curve of the checklist."""

from __future__ import annotations

import math
from typing import Any

import pytest

from discreet.errors import InvalidParameter
from discreet.local import height_experiment
from discreet.local.heights import SENSITIVITIES


def test_the_error_is_about_a_twentieth_of_the_scale() -> None:
    assert SENSITIVITIES == (11.99, 22.46, 32.93)
    run = height_experiment()
    assert len(run.points) == 75
    assert {point.epsilon for point in run.points} >= {0.001, 3.0}
    # 7,500 errors |N(0, 1)|, whose relative sd is .756: the mean is off by .0087 relative, so 6 % is almost 7
    # deviations. Noise of scale epsilon/sensitivity, or a mean over 400 people, is seen.
    assert run.ratio == pytest.approx(0.0505, rel=0.06)
    for point in run.points:
        assert point.expected / point.scale == pytest.approx(0.0505, abs=0.00005)
        # Of 100 rounds: 7.6 %, so 60 % is more than 7 deviations; chi is steeper below than above.
        assert point.error == pytest.approx(point.expected, rel=0.6)


def test_progress_blocks_and_bad_parameters() -> None:
    seen: list[tuple[int, int]] = []
    run = height_experiment(
        5000, 1000, epsilons=[1], sensitivities=[1], progress=lambda done, of: seen.append((done, of))
    )
    assert seen == [(1, 1)]
    assert run.points[0].error == pytest.approx(2 / math.sqrt(math.pi * 5000), rel=0.2)
    bad: dict[str, Any] = {"people": 0, "rounds": 0, "epsilons": [], "sensitivities": [-1]}
    for name, value in bad.items():
        with pytest.raises(InvalidParameter):
            height_experiment(**{name: value})
