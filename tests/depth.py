"""How deep the tests look: `make test` at least as deep as each test says beside it, `make test-deep` deeper."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import pytest

T = TypeVar("T")

DEEP = bool(os.environ.get("DISCREET_DEEP"))
"""Whether all is asked, which takes hours: every case of the lists, and more of the random ones."""

deep = pytest.mark.deep
"""Marks a test or a case that `make test` leaves to `make test-deep`: another one asks the same of the same lines."""


def examples(usual: int, deep: int) -> int:
    """How many random cases are tried; DISCREET_EXAMPLES multiplies both.

    Args:
        usual: in each run.
        deep: where DISCREET_DEEP is set.
    """
    return max(1, round((deep if DEEP else usual) * float(os.environ.get("DISCREET_EXAMPLES", "1"))))


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


def in_turn(*lists: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Combinations of lists: all in a deep run, else each value of the longest once, with the others' in turn."""
    if DEEP:
        return list(itertools.product(*lists))
    return [tuple(one[at % len(one)] for one in lists) for at in range(max(map(len, lists)))]
