"""The seeds of the noise that is drawn again for intervals: an answer has the same intervals whenever they are made.

A seed is a digest of released noisy integers, which it can tell nothing beyond: it is post-processing (Dwork and Roth
2014, proposition 2.1). Fresh seeds would let an analyst ask again for nothing, and keep the narrowest interval. The
writing of the question is no part of it, for the same reason. The digest has a label of its own, and the noise of a
release comes from the operating system: so draws for an interval are independent of the noise that it is about, and it
covers as often as with fresh ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.sql.lower.run import NoisyIntegers
    from discreet.sql.plan.plan import PlannedRelease, QueryPlan

LABEL: Final = b"discreet, noise drawn again for an interval, 1"
BYTES: Final = 32
"""Of a seed: more than the pool that NumPy mixes it into, so that numbers appended to it never stand for padding."""


def seed_of(*parts: bytes) -> int:
    """A seed from some texts; other texts, or the same cut elsewhere, give an independent one.

    Example:
        >>> seed_of(b"ab", b"c") == seed_of(b"ab", b"c"), seed_of(b"ab", b"c") == seed_of(b"a", b"bc")
        (True, False)
    """
    state = hashlib.sha256(LABEL)
    for part in parts:
        state.update(len(part).to_bytes(8, "big"))
        state.update(part)
    return int.from_bytes(state.digest()[:BYTES], "big")


def row_generator(measure: int, entries: NDArray[np.float64]) -> np.random.Generator:
    """The generator for the entries of one group, float64 array (entries,): the same beside whichever other groups.

    Groups with equal entries have equal draws: each of their intervals holds, but draws of several say nothing of
    their difference.
    """
    released = np.ascontiguousarray(entries + 0.0, "<f8").tobytes()  # -0.0 is 0.0
    return np.random.default_rng(seed_of(b"group", str(measure).encode(), released))


def seed_of_tables(noisy: Sequence[NoisyIntegers]) -> int:
    """The seed for all that is drawn together around the integers of some tables."""
    parts = []
    for integers in noisy:
        shape = *integers.entries.shape, integers.first, *integers.places
        parts += [str(shape).encode(), np.ascontiguousarray(integers.entries, "<i8").tobytes()]
    return seed_of(b"tables", *parts)


def table_seed(seed: int, plan: QueryPlan, release: PlannedRelease, together: bool = True) -> int:
    """The seed of one table among those that are drawn together.

    Args:
        seed: of them all.
        plan: of the question.
        release: the plan of the table.
        together: whether tables that are estimated from the same marginals have one seed, for their common noise.
    """
    names = [planned.name for planned in plan.releases]
    own = f"table {names.index(release.name)}"
    estimated = release.estimated is not None and release.law is release.estimated
    for number, workload in enumerate(plan.workloads):
        if together and estimated and release.name in workload.tables:
            own = f"workload {number}"
    return seed_of(b"table", seed.to_bytes(BYTES, "big"), own.encode())
