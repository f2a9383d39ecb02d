"""How deep the tests look: `make test` at least as deep as each test says beside it, `make test-deep` deeper."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from typing import Any

DEEP = bool(os.environ.get("DISCREET_DEEP"))
"""Whether all is asked, which takes hours: every case of the lists, and more of the random ones."""


def examples(usual: int, deep: int) -> int:
    """How many random cases are tried; DISCREET_EXAMPLES multiplies both.

    Args:
        usual: in each run.
        deep: where DISCREET_DEEP is set.
    """
    return max(1, round((deep if DEEP else usual) * float(os.environ.get("DISCREET_EXAMPLES", "1"))))


def square(*lists: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Combinations of lists: all in a deep run, else the diagonals, on which each value occurs."""
    size = max(map(len, lists))
    numbered = itertools.product(*(enumerate(one) for one in lists))
    return [
        tuple(value for _, value in combined)
        for combined in numbered
        if DEEP or sum(at for at, _ in combined) % size == 0
    ]
