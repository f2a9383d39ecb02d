"""How often somebody may ask: a bucket of requests for each, which fills again evenly."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

MOST = 10_000
"""How many are remembered; the one that was seen longest ago is forgotten, whose bucket is the fullest."""


class Rate:
    """Counts the requests of each.

    Args:
        each_second: how fast a bucket fills.
        burst: how many requests a full one has.
        clock: seconds.

    Example:
        >>> rate = Rate(1, 2, clock=lambda: 0.0)
        >>> [rate.allows("ana") for _ in range(3)], rate.allows("ben")
        ([True, True, False], True)
    """

    def __init__(self, each_second: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._speed, self._burst, self._clock = each_second, burst, clock
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def allows(self, name: str) -> bool:
        """Take one request from the bucket of a name; False where it is empty."""
        now = self._clock()
        with self._lock:
            level, since = self._buckets.pop(name, (self._burst, now))
            level = min(self._burst, level + (now - since) * self._speed)
            allowed = level >= 1
            self._buckets[name] = (level - 1 if allowed else level, now)
            if len(self._buckets) > MOST:
                self._buckets.popitem(last=False)
        return allowed
