"""Rows of a table that were counted, or at least read, in its engine: nothing but integers has left it.

Columns: `t`, the period; `slot`, the number of the key; for measure i `s<i>`, the sum of its steps, and `c<i>`, of how
many values. Where each row is a unit these are sums over rows, `n` of them. Where units are told apart each is one row,
with the two numbers `u` and `v` of its unit, and the rows of a unit come in its order.

Privacy: the engine has clamped each value and dropped the rows that do not count. The bounds of a row and of a unit are
held here again: its steps are clamped, and no more than so many rows of a unit are counted over all polls together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    from discreet.streams.spec import StreamSpec
    from discreet.streams.state import StreamProgress

    Integers = npt.NDArray[np.int64]


def add_integers(spec: StreamSpec, progress: StreamProgress, table: pa.Table) -> None:
    """Count them in the periods that have not closed."""
    found = {name: table.column(name).to_numpy() for name in table.column_names}
    t, slot = found["t"], found["slot"]
    counted = (t > progress.closed) & (t <= spec.periods.count) & (slot >= 0) & (slot < len(spec.keys))
    found = {name: column[counted] for name, column in found.items()}
    if spec.unit is not None:
        found["n"] = np.ones(len(found["t"]), np.int64)
        pairs = np.stack([found.pop("u"), found.pop("v")], axis=1)
        first = progress.seen.first(pairs.astype(np.int64).view(np.uint64), spec.rows)
        found = {name: column[first] for name, column in found.items()}
    for index, measure in enumerate(spec.measures):
        counts = progress.counts[measure.name]
        where = found["t"] - 1, found["slot"]
        if not measure.column:
            np.add.at(counts, where, found["n"])
            continue
        lo, hi = measure.ends
        many = _clamped(found[f"c{index}"], 0, found["n"])
        steps = _clamped(found[f"s{index}"], lo * many, hi * many)
        for part, added in enumerate((steps - lo * many, hi * many - steps) if measure.mean else (steps,)):
            np.add.at(counts, (where[0], where[1] + part * len(spec.keys)), added)


def _clamped(values: Integers, lo: int | Integers, hi: Integers) -> Integers:
    return np.clip(values, lo, hi)
