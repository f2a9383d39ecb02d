"""Intervals where noise selects or folds that are sharper than bands which hold all together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from discreet import arrow
from discreet.sql.intervals.bands import curvature
from discreet.sql.intervals.bands.banded import Banded
from discreet.sql.intervals.simulation.noise_alone import widths_of_noise
from discreet.sql.intervals.simulation.simulated import Interval
from discreet.sql.lower.run import NoisyIntegers
from discreet.sql.plan.plan import Aggregate

if TYPE_CHECKING:
    import pyarrow as pa


def sharper_ends(
    noisy: Sequence[NoisyIntegers],
    values: pa.Table,
    rows: pa.Table,
    names: Sequence[str],
    how: tuple[Banded, float, float],
    ends_of: Callable[[NoisyIntegers, Aggregate, float], Interval],
) -> dict[str, Interval]:
    """The intervals of columns that are convex in the noisy numbers, are ranks, or are told of a row that was found.

    Args:
        noisy: the noisy integers of all groups.
        values: the answer.
        rows: the identity of its rows.
        names: of the columns.
        how: the statement over bands, the confidence of each row that is shown, and that of all rows.
        ends_of: the interval of an aggregate in all groups.
    """
    over, own, confidence = how
    places = {name: values.column_names.index(name) for name in names}
    out: dict[str, Interval] = {}
    for name, place in places.items():
        role = over.role(place)
        bands = None if role is None else over.sharper(role, confidence, len(values))
        if bands is not None:
            found = over.ends(noisy, rows, [place], own, ends_of, bands)
            out.update({name: found[place]} if place in found else {})
    return out | _convex(
        noisy, values, rows, {name: place for name, place in places.items() if name not in out}, (over, own)
    )


def _convex(
    noisy: Sequence[NoisyIntegers],
    values: pa.Table,
    rows: pa.Table,
    places: Mapping[str, int],
    how: tuple[Banded, float],
) -> dict[str, Interval]:
    """The intervals of columns that are convex or concave: as wide as the same of the noise alone."""
    over, confidence = how
    if over.found is None or over.relation is None:
        return {}
    curves = {name: over.curve(place) for name, place in places.items()}
    bending = {
        name: curve for name, curve in curves.items() if curve in (curvature.CONVEX, curvature.CONCAVE)
    }
    inner = {name: over.relation.columns[places[name]].name for name in bending}
    wanted = {inner[name]: curve == curvature.CONVEX for name, curve in bending.items()}
    found = widths_of_noise(over.plan, noisy, over.public, rows, over.found, wanted, confidence)
    known = [name for name in bending if inner[name] in found and not np.isnan(found[inner[name]]).any()]
    within = over.ends(noisy, rows, [places[name] for name in known], confidence, _anywhere)
    out = {}
    for name in known:
        own, width = arrow.floats(values.column(name)), found[inner[name]]
        low, high = within.get(places[name], (np.full(len(own), -np.inf), np.full(len(own), np.inf)))
        out[name] = np.fmax(own - width, low), np.fmin(own + width, high)
    return out


def _anywhere(noisy: NoisyIntegers, aggregate: Aggregate, confidence: float) -> Interval:
    """The whole line, so that the ends of a statement over it hold for certain."""
    ends = np.full(len(noisy.entries), np.inf)
    return -ends, ends
