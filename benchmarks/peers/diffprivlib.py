"""diffprivlib: NumPy arrays in memory, a histogram for the counts and a mean for each group.

Its mean takes the number of rows of a group for public knowledge, which no other peer does and which the histogram
beside it is asked to hide: it has less to hide than the others. It has no users with several rows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow.parquet as pq
from diffprivlib import tools

from benchmarks.peers.common import EPSILON, GROUPS, HIGH, LOW, Answer, CannotAnswer, main


def prepare(path: str, unit: str) -> Callable[[], Answer]:
    """Load two arrays."""
    if unit == "user":
        raise CannotAnswer("it protects one row and bounds no one's contributions")
    table = pq.read_table(path)
    place, amount = table["place"].to_numpy(), table["amount"].to_numpy()

    def answer() -> Answer:
        counts, _ = tools.histogram(place, epsilon=EPSILON / 2, bins=GROUPS, range=(0, GROUPS))
        order = np.argsort(place, kind="stable")
        parts = np.split(amount[order], np.searchsorted(place[order], np.arange(1, GROUPS)))
        means = [tools.mean(part, epsilon=EPSILON / 2, bounds=(LOW, HIGH)) for part in parts]
        return dict(enumerate(counts)), dict(enumerate(means))

    return answer


if __name__ == "__main__":
    main(prepare, "diffprivlib", "scikit-learn")
