"""The preview of a synthetic table: noise that is foretold is the noise that is drawn."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest

from discreet.engines.schema import Type
from discreet.mechanisms.adaptive import AdaptiveRounds
from discreet.synthetic.adaptive import CHOICE, FIRST, MarginalWorkload, first_part
from discreet.synthetic.axes import Axis
from discreet.synthetic.foretold import SynthesisPreview, marginals_of

AXES = [Axis("a", Type.INTEGER, values=tuple(range(40)), nullable=False),
        Axis("b", Type.INTEGER, values=tuple(range(9)), nullable=True)]  # fmt: skip
WORKLOAD = MarginalWorkload((40, 10), {(0, 1): 1})


@pytest.mark.parametrize("concentrated", [False, True])
def test_noise_is_as_foretold(concentrated: bool) -> None:
    """The L1 norm of noise on 400 counts, 10 times: its mean is within a third of the one foretold; the deviation of
    the mean is about 1 to 2 %. (Laplace noise has sqrt(pi)/2 = 0.89 of the L1 norm of normal noise.)"""
    mechanism = AdaptiveRounds(Fraction(1), 1, 1, concentrated=concentrated)
    one, _, pair = marginals_of(mechanism, AXES, WORKLOAD, 100_000)
    assert (one.cells, pair.cells, pair.columns) == (40, 400, ("a", "b"))
    later = (1 - CHOICE) * first_part(mechanism, WORKLOAD, 100_000)
    for seen, part in ((one, FIRST * mechanism.amount / 2), (pair, later)):
        noise = mechanism.noise(part)
        drawn = np.abs([noise.release(np.zeros(seen.cells, np.int64)) for _ in range(10)]).sum(axis=1).mean()
        assert 0.67 < drawn / 2 / 100_000 / seen.error < 1.33


def test_no_error_is_above_all_rows() -> None:
    mechanism = AdaptiveRounds(Fraction(1, 10), 1, 1, concentrated=False)
    assert max(one.error for one in marginals_of(mechanism, AXES, WORKLOAD, 1)) == 1


def test_words() -> None:
    mechanism = AdaptiveRounds(Fraction(1), 1, 1, concentrated=False)
    seen = SynthesisPreview(
        "people", Fraction(1), Fraction(0), Fraction(1), Fraction(3), False, {"a": 40, "b": 10},
        {axis.name: axis.words for axis in AXES}, {"name": "it has no keys and no bounds"},
        marginals_of(mechanism, AXES, WORKLOAD, 1000), 2, 1000,
    )  # fmt: skip
    said = repr(seen)
    assert "epsilon 1, of 3 left" in said
    assert re.search(r"1 set of 2 columns may be chosen: about [\d.]+ each", said)
    assert "2 have too many cells" in said
    assert "without name" in said
    assert "a: 40 values: about" in said
    assert "b: 9 values, and NULL: about" in said
    assert seen.to_dict()["left"] == "2"
