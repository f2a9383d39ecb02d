"""Buckets of requests."""

from __future__ import annotations

from discreet.server import rate
from discreet.server.rate import Rate


def test_a_bucket_fills_again_evenly_and_never_over() -> None:
    now = [0.0]
    one = Rate(2, 3, clock=lambda: now[0])
    assert [one.allows("ana") for _ in range(4)] == [True] * 3 + [False]
    now[0] = 0.5
    assert [one.allows("ana") for _ in range(2)] == [True, False]
    now[0] = 100
    assert [one.allows("ana") for _ in range(4)] == [True] * 3 + [False]


def test_only_so_many_are_remembered() -> None:
    one = Rate(0.001, 1, clock=lambda: 0.0)
    for at in range(rate.MOST + 5):
        one.allows(str(at))
    assert len(one._buckets) == rate.MOST
