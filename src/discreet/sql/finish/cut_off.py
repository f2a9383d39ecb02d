"""Noisy integers of a measurement of a cap or of bounds -> the share that was cut off, as an answer tells it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from discreet.release.cut_share import CutShare
from discreet.sql.intervals.closed_form import direct
from discreet.sql.intervals.ratio import LinearCombination, Ratio, ratio_ends
from discreet.sql.lower.run import EVERY
from discreet.sql.plan.cut_off import VALUES

if TYPE_CHECKING:
    from discreet.sql.lower.run import NoisyIntegers
    from discreet.sql.plan.plan import CutOff, QueryPlan


def shares(plan: QueryPlan, noisy: Sequence[NoisyIntegers], confidence: float) -> tuple[CutShare, ...]:
    """The shares that the caps and bounds of a plan cut off, each as `told`.

    Args:
        plan: with the measurements.
        noisy: the noisy integers of all that was measured.
        confidence: of the intervals.
    """
    drawn = {integers.plan.name: integers for integers in noisy}
    return tuple(told(what, drawn[what.plan.name], confidence) for what in plan.cut_off)


def told(measured: CutOff, noisy: NoisyIntegers, confidence: float) -> CutShare:
    """The share that was cut off, and its interval, both within 0 to 1.

    Args:
        measured: the measurement.
        noisy: its noisy integers.
        confidence: of the interval.
    """
    plan = noisy.plan
    if measured.kind != VALUES:
        kept, dropped = (float(noisy.values(aggregate)[0]) for aggregate in plan.aggregates)
        ratio = Ratio(LinearCombination(((1, 1.0),)), LinearCombination(((0, 1.0), (1, 1.0))))
        ends = ratio_ends(noisy, ratio, EVERY, confidence)
        assert ends is not None
        low, high = (float(end[0]) for end in ends)
        share = dropped / (kept + dropped) if kept + dropped > 0 else np.nan
        subject, by, counted = measured.kind, measured.name, measured.counted
    else:
        aggregate = plan.aggregates[0]
        value = noisy.values(aggregate)
        low, high = (float(end[0]) for end in direct(plan, aggregate, noisy.of(aggregate), value, confidence))
        share, subject, by, counted = float(value[0]), measured.name, "its bounds", None
    share, low, high = (float(np.clip(number, 0, 1)) for number in (share, low, high))
    return CutShare(subject, by, share, min(low, share), max(high, share), counted)
