"""Counting: rows one by one, or columns at once, with the same result, by any way that a row comes.

A row counts if its period is open, its key is public, and its unit has room: the first rows of each unit are counted,
in the order of the input. Where a period was shown its rows cannot be taken back, so no later row can be fairer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from discreet.streams.counting import columns, values
from discreet.streams.counting.units import digest_of, digests_at
from discreet.streams.periods import time_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from discreet.streams.spec import StreamSpec
    from discreet.streams.state import StreamProgress

    Integers = npt.NDArray[np.int64]


def add(spec: StreamSpec, progress: StreamProgress, row: Mapping[str, Any] | None) -> None:
    """Count a row; one of a closed period, of no period, of no group or of no unit is dropped."""
    when = None if row is None else time_of(row.get(spec.time))
    t = None if when is None else spec.periods.of(when)
    if row is None or t is None or t <= progress.closed:
        return
    group = spec.places.get("" if spec.group is None else values.text_of(row.get(spec.group)))
    if group is None:
        return
    if spec.unit is not None:
        unit = values.text_of(row.get(spec.unit))
        if not unit:
            return
        if not progress.seen.admit(digest_of(progress.key, unit), spec.rows):
            return
    for measure in spec.measures:
        steps = values.steps_of(measure, row.get(measure.column))
        if steps is not None:
            for part, added in enumerate(measure.adds(steps)):
                progress.counts[measure.name][t - 1, part * len(spec.keys) + group] += added


def add_all(spec: StreamSpec, progress: StreamProgress, table: pa.Table) -> None:
    """Count rows that come as columns; the same as `add` of each in turn."""
    size = table.num_rows
    t = columns.periods_of(_column(table, spec.time), spec.periods)
    counted = t > progress.closed
    if spec.group is None:
        group = np.full(size, spec.places.get("", -1), np.int64)
    else:
        group = columns.groups_of(_column(table, spec.group), spec.places)
    counted &= group >= 0
    if spec.unit is not None:
        units, texts = columns.units_of(_column(table, spec.unit))
        counted &= units >= 0
        digests = digests_at(progress.key, texts, units[counted])
        counted[counted] = progress.seen.first(digests, spec.rows)
    whole = bool(counted.all())
    t, group = (t, group) if whole else (t[counted], group[counted])
    for measure in spec.measures:
        counts = progress.counts[measure.name]
        flat, width = counts.reshape(-1), counts.shape[1]
        places = (t - 1) * width + group
        if not measure.column:
            _add(flat, places, None)
            continue
        steps, known = columns.steps_of(_column(table, measure.column), measure)
        steps, known = (steps, known) if whole else (steps[counted], known[counted])
        places, steps = (places, steps) if known.all() else (places[known], steps[known])
        lo, hi = measure.ends
        for part, added in enumerate((steps - lo, hi - steps) if measure.mean else (steps,)):
            _add(flat, places + part * len(spec.keys), added)


def _add(flat: Integers, places: Integers, added: Integers | None) -> None:
    """Add numbers, or ones, at places that may come more than once."""
    if not places.size:
        return
    if added is None:
        low = int(places.min())
        span = int(places.max()) - low + 1
        if span <= 4 * places.size + 1024:
            flat[low : low + span] += np.bincount(places - low, minlength=span)
            return
    np.add.at(flat, places, 1 if added is None else added)


def _column(table: pa.Table, name: str) -> pa.ChunkedArray:
    """A column; one of nothing where there is none."""
    found = table.schema.get_field_index(name)
    return pa.chunked_array([pa.nulls(table.num_rows)]) if found < 0 else table.column(found)
