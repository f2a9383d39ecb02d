"""How many requests came, without a figure that depends on data."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

CHARGED = ("/query", "/workload", "/integers", "/ask", "/questions", "/questions/{key}")
"""The ends of addresses whose failures may depend on data, so that they count as served."""


class RequestCounts:
    """How many requests came to each address, and how many were refused."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, route: Any, status: int) -> None:
        """Count a request.

        Args:
            route: of the application; None where there is none.
            status: of the answer.
        """
        path = getattr(route, "path", "other")
        failed = "served" if path.endswith(CHARGED) else "failed"
        outcome = "served" if status < 400 else "refused" if status < 500 else failed
        with self._lock:
            self._counts[path, outcome] += 1

    def lines(self) -> list[str]:
        """All counts as Prometheus reads them."""
        with self._lock:
            found = sorted(self._counts.items())
        return [
            f'discreet_requests_total{{address="{path}",outcome="{outcome}"}} {count}'
            for (path, outcome), count in found
        ]
