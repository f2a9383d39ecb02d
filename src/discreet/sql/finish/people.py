"""Intervals of groups that are each of one class of people: a group has the noise of its own class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from discreet.sql.lower.run import GroupSelection, NoisyIntegers

if TYPE_CHECKING:
    from discreet.sql.intervals.simulation.simulated import Interval
    from discreet.sql.plan.people.by_class import ByClass


def ends_by_class(
    noisy: NoisyIntegers,
    people: ByClass,
    groups: GroupSelection,
    ends: Callable[[NoisyIntegers, GroupSelection], Interval],
) -> Interval:
    """The intervals of some groups, worked out for those of each class by themselves.

    Args:
        noisy: the integers of a release whose keys tell the class.
        people: its classes.
        groups: the groups that are wanted.
        ends: the intervals of some groups that have the same noise.
    """
    places = np.arange(len(noisy.entries))[groups]
    classes = people.of_groups(noisy.plan.keys, noisy.plan.cells)[noisy.first + places]
    low, high = np.empty(len(places)), np.empty(len(places))
    for number in np.unique(classes).tolist():
        here = classes == number
        own = replace(noisy, plan=replace(noisy.plan, people=replace(people, key=None, only=number)))
        low[here], high[here] = ends(own, places[here])
    return low, high
