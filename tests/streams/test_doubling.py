"""Epochs that double do not know the horizon."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.streams.doubling import UNBOUNDED, Doubling


@pytest.mark.parametrize("gaussian", [False, True])
def test_a_later_end_changes_no_node_before_and_the_noise_little(gaussian: bool) -> None:
    short, long = Doubling(31, gaussian), Doubling(1023, gaussian)
    counts = np.arange(1023)[:, np.newaxis]
    for t in range(1, 32):
        assert (short.exact(t, counts) == long.exact(t, counts)).all()
        assert np.array_equal(short.weights(t), long.weights(t))
    ratio = long.l2_squared / short.l2_squared if gaussian else long.l1 / short.l1
    assert ratio == pytest.approx(1, abs=0.2 if gaussian else 0.01)


def test_the_error_grows_with_the_periods_so_far_alone() -> None:
    endless = Doubling(UNBOUNDED)
    sds = endless.l1 * np.sqrt(2 * endless.gains)
    assert sds[0] == pytest.approx(2**0.5, rel=0.01)
    assert sds[29] == pytest.approx(60**0.5, rel=0.01)
    assert sds[-1] < 150
    assert endless.nodes(0) == 0
