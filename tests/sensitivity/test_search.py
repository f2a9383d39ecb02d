"""The search finds the faults that are usual, and says that finding none is no proof."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.depth import few

from discreet.errors import InvalidParameter
from discreet.sensitivity import search

# The moves are random, the starts are not: each of these is found at one of the first eighteen starts, which are all
# pairs of a data set at the bounds, in the middle or in halves with a record at a bound. In 1,000 runs none was missed.
BROKEN: list[tuple[Any, float, Any, int, dict[str, Any]]] = [
    (np.sum, 9.9, (0, 10), 5, {}),
    (np.mean, 0.19, (0, 1), 5, {}),
    (np.median, 0.2, (0, 1), 5, {}),  # as if it were a mean
    (lambda x: np.histogram(x, 4, (0, 1))[0], 1, (0, 1), 8, {}),  # a histogram under replace-one moves by 2
    (lambda x: x, 0.5, (0, 1), 3, {}),
    (
        lambda x: np.array([x.sum(), x.sum()]),
        1,
        (0, 1),
        3,
        {},
    ),  # a vector whose sensitivity was meant per coordinate
    (lambda x: x.sum() / (x > 0.5).sum(), 1, (0, 1), 3, {}),  # 0/0 for some data: no number at all
    (lambda x: 1 / x.mean(), 100, (0, 1), 3, {}),
    (np.sum, 1, (-2, 1), 3, {"neighbours": "add_remove"}),
    (lambda d: (d[:, 0] * d[:, 1]).sum(), 50, [(0, 10), (0, 10)], 4, {"neighbours": "add_remove"}),
    (
        lambda x: x[x > 0.25].mean() if (x > 0.25).any() else 0.0,
        0.3,
        (0, 1),
        5,
        {},
    ),  # a mean over a private number
]
SOUND: list[tuple[Any, float, Any, int, dict[str, Any]]] = [
    (np.sum, 10, (0, 10), 5, {}),
    (np.sum, 2, (-2, 1), 3, {"neighbours": "add_remove"}),
    (np.mean, 0.2, (0, 1), 5, {}),
    (lambda x: np.histogram(x, 4, (0, 1))[0], 2, (0, 1), 8, {}),
    (lambda x: np.histogram(x, 4, (0, 1))[0], 2**0.5, (0, 1), 8, {"norm": 2}),
    (lambda x: np.histogram(x, 4, (0, 1))[0], 1, (0, 1), 8, {"neighbours": "add_remove"}),
]


# A deep run breaks all.
@pytest.mark.parametrize(("query", "claim", "bounds", "records", "more"), few(BROKEN, 6))
def test_a_wrong_claim_is_broken(
    query: Any, claim: float, bounds: Any, records: int, more: dict[str, Any]
) -> None:
    found = search(query, claim, bounds, records, **more)
    assert found.broken
    assert "broken: a pair" in str(found)
    assert found.pair is not None
    one, other = found.pair
    flat = np.atleast_2d(np.array(bounds, float))
    assert (flat[:, 0] <= np.atleast_2d(one.T).T).all()
    assert (flat[:, 1] >= np.atleast_2d(one.T).T).all()
    if more.get("neighbours") == "add_remove":
        assert (one[1:] == other).all()
    else:
        assert (one[1:] == other[1:]).all()


# A deep run searches all six.
@pytest.mark.parametrize(("query", "claim", "bounds", "records", "more"), few(SOUND, 3))
def test_a_right_claim_is_reached_and_not_broken(
    query: Any, claim: float, bounds: Any, records: int, more: dict[str, Any]
) -> None:
    found = search(query, claim, bounds, records, **more)
    assert not found.broken
    assert found.largest == pytest.approx(claim)
    assert "this is no proof" in str(found)
    assert found.tries == 2000


def test_progress_and_bad_parameters() -> None:
    seen: list[tuple[int, int]] = []
    search(np.sum, 1, (0, 1), 3, tries=500, progress=lambda done, of: seen.append((done, of)))
    assert seen[-1] == (500, 500)
    bad: list[dict[str, Any]] = [
        {"sensitivity": 0},
        {"bounds": (1, 0)},
        {"bounds": []},
        {"records": 0},
        {"tries": 0},
        {"norm": 3},
    ]
    for more in bad:
        given: dict[str, Any] = {"query": np.sum, "sensitivity": 1, "bounds": (0, 1), "records": 3, **more}
        with pytest.raises(InvalidParameter):
            search(**given)
