"""The noisy integers of several nodes as one answer: they are added up, and the laws of their noise with them.

Each person is in one node, so the exact integers add up to those of all people together. The noise of a sum of k nodes
is a sum of k independent Laplace variables of one scale, and its intervals are those of that law.

Privacy: reads released integers only, so it is post-processing (Dwork and Roth 2014, proposition 2.1). The nodes hold
different people, so together they are epsilon-differentially private by parallel composition (McSherry 2009,
theorem 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import QueryRefused
from discreet.sql.finish.recall import MOST_RECALLED_GROUPS
from discreet.sql.lower.run import NoisyIntegers
from discreet.sql.lower.sequence import given_to
from discreet.sql.measures.measure import Moments
from discreet.sql.plan.recalled import Recalled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.sql.plan.plan import PlannedRelease, QueryPlan

    Integers = NDArray[np.int64]

LARGEST = 2**62 - 1
"""Sums saturate here, so that two of them still fit."""
FIX = "Ask each node by itself, or ask for counts, sums and averages by public keys."


def see_addable(plan: QueryPlan) -> None:
    """See that the integers of several nodes add up to those of a question.

    Raises:
        QueryRefused: they do not. Nothing was charged.
    """
    reason = _refusal(plan)
    if reason:
        raise QueryRefused(reason, FIX)


def _refusal(plan: QueryPlan) -> str:
    if not plan.releases:
        return "The question reads nothing private, so there is nothing to add up."
    if any(workload.series is not None for workload in plan.workloads):
        return (
            "A server measures running totals by windows over the groups, which a federation does not add up."
        )
    if len(plan.releases) != 1 or plan.workloads:
        return "The question releases several noisy tables; a federation adds up one."
    (release,) = plan.releases
    if release.discovery is not None:
        return "The groups of the question are not public, and each node would find others."
    if plan.gaussian or any(release.rhos):
        return "The noise of the question is Gaussian; a federation adds up Laplace noise."
    if release.people is not None:
        return "The people of this node allow different epsilons, and the noise of each class has a law of its own."
    if given_to(release):
        return "Private rows are compared with released numbers, which differ from node to node."
    if not 0 < release.cells <= MOST_RECALLED_GROUPS:
        return f"The question has no group, or more than {MOST_RECALLED_GROUPS:,}."
    if not all(type(measure) is Moments for measure in release.measures):
        return "The question asks for quantiles or several columns as one, which do not add up over nodes."
    if any(measure.distinct for measure in release.measures if type(measure) is Moments):
        return "Two nodes may hold the same value, so distinct values do not add up."
    return ""


def summed(plan: QueryPlan, nodes: int) -> QueryPlan:
    """The plan of the answer of so many nodes together: that of one, with the law of the noise of a sum."""
    (release,) = plan.releases
    return replace(plan, releases=(_of_sum(release, nodes),))


def added(plan: QueryPlan, entries: Sequence[Integers]) -> NoisyIntegers:
    """The integers of some nodes, added up cell by cell.

    Args:
        plan: as `summed` gives it.
        entries: of each node, int64 array (groups, integers of all measures).
    """
    (release,) = plan.releases
    total = np.zeros((release.cells, sum(m.entries for m in release.measures)), np.int64, order="F")
    for values in entries:
        total = np.clip(total + np.clip(values, -LARGEST, LARGEST), -LARGEST, LARGEST)
    return NoisyIntegers(release, np.asfortranarray(total))


def _of_sum(release: PlannedRelease, nodes: int) -> PlannedRelease:
    laws = [(((float(release.scale(index)), nodes),),) for index in range(len(release.measures))]
    return replace(release, recalled=Recalled(tuple(laws)))
