"""The loss of many labels by their moments: the published figures, and never more than the sum."""

from __future__ import annotations

import pytest

from discreet.errors import InvalidParameter
from discreet.learning import data_independent


def test_the_published_figures() -> None:
    """Papernot et al. 2017: 100 and 1,000 labels at gamma 0.05 and delta 1e-5."""
    assert round(data_independent("0.05", 100, "1e-5"), 2) == 5.30
    assert round(data_independent("0.05", 1000, "1e-5"), 2) == 20.76


def test_it_is_never_above_the_sum() -> None:
    assert data_independent(1, 1, "1e-9") == 2


@pytest.mark.parametrize("wrong", [(0, 1, "1e-5"), (1, 0, "1e-5"), (1, 1, 0), (1, 1, 1), (-1, 1, "1e-5")])
def test_arguments_out_of_range(wrong: tuple[float, int, float]) -> None:
    with pytest.raises(InvalidParameter):
        data_independent(*wrong)
