"""How deep the tests look: `make test` at least as deep as each test says beside it, `make test-deep` deeper."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")

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


def few(cases: Iterable[T], usual: int) -> list[T]:
    """Cases of one kind: all in a deep run, else an evenly spread selection, the same each time, with both ends.

    Args:
        cases: in an order in which those that are alike stand beside each other.
        usual: how many of them each run asks, two or more.
    """
    listed = list(cases)
    if DEEP or usual >= len(listed):
        return listed
    return [listed[round(at * (len(listed) - 1) / (usual - 1))] for at in range(usual)]


def deep_only(test: T) -> T | None:
    """A test that only a deep run collects; others beside it ask the same of a smaller case."""
    return test if DEEP else None
