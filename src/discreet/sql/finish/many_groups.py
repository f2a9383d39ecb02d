"""Which answers are made block by block (`blockwise`), and which in memory."""

from __future__ import annotations

from discreet.sql.lower.sequence import in_sequence
from discreet.sql.plan.plan import QueryPlan

IN_MEMORY = 1 << 16
"""Answers of up to so many groups are made in memory."""


def streams(plan: QueryPlan) -> bool:
    """Whether an answer is made block by block: it has many groups, all known, and none waits for other numbers."""
    return (
        not plan.workloads
        and all(release.discovery is None for release in plan.releases)
        and not in_sequence(plan)
        and sum(release.cells for release in plan.releases) > IN_MEMORY
    )
