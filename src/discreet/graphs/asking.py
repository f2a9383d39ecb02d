"""A question about a graph as a release plan."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Protocol

from discreet.graphs.question import DEGREES
from discreet.ledger import Loss
from discreet.release.answer import Release
from discreet.release.bill import charged_at
from discreet.release.draw import Draw, Use
from discreet.release.plan import ReleasePlan

if TYPE_CHECKING:
    from fractions import Fraction

    import pyarrow as pa

    from discreet.graphs.graph import Graph
    from discreet.graphs.question import Interval

HIDES: Final = {
    "edge": "hides one edge, added or removed; the vertices are public",
    "vertex": "hides one vertex with all its edges, added or removed",
}
"""By privacy unit, the guarantee in words."""
SIZE: Final = 1 << 16


class Answering(Protocol):
    """A way to answer a question about a graph."""

    @property
    def name(self) -> str:
        """The name of the method."""

    @property
    def epsilon(self) -> Fraction:
        """Of the whole question."""

    @property
    def delta(self) -> Fraction:
        """Of the whole question."""

    @property
    def confidence(self) -> float:
        """Of the intervals."""

    @property
    def size(self) -> int:
        """How many values each mechanism makes noisy."""

    @property
    def first(self) -> int:
        """The degree of the first row of a histogram."""

    @property
    def whole(self) -> bool:
        """Whether all numbers of the answer are whole: a matter of the question, not of the numbers."""

    @property
    def notes(self) -> tuple[str, ...]:
        """The errors that the intervals do not cover."""

    @property
    def mechanisms(self) -> Mapping[str, Any]:
        """The mechanisms by name."""

    def draw(self, graph: Graph, draw: Draw) -> Any:
        """The noisy numbers of a graph."""

    def columns(self, noisy: Any) -> dict[str, list[Interval]]:
        """The answer from those."""

    def predicted(self, width: int) -> float:
        """Half the width of the interval that is expected."""

    def see_possible(self) -> None:
        """See that it can be asked."""


def plan(
    asked: str, answering: Answering, unit: str, known: Mapping[str, str], load: Callable[[], Any],
    probe: Callable[[], object], notes: tuple[str, ...] = (),
) -> ReleasePlan[Any, Release]:  # fmt: skip
    """The plan of a question.

    Args:
        asked: its name.
        answering: the method.
        unit: `edge` or `vertex`.
        known: the facts that tell it from other questions: the source and its version, and the bounds.
        load: reads the graph; called after the charge.
        probe: sees that it could be read; reads no edge.
        notes: the errors that no interval covers, whichever the method.
    """
    question = json.dumps([
        "graph", asked, answering.name, unit, str(answering.epsilon), answering.confidence, dict(known),
        *([str(answering.delta), getattr(answering, "guess", 0)] if answering.delta else []),
    ])  # fmt: skip
    uses = {name: Use(made, "add_remove", answering.size) for name, made in answering.mechanisms.items()}

    def answer(noisy: Any) -> tuple[Release, bytes]:
        notes_of = (HIDES[unit], *answering.notes, *notes)
        release = _release(asked, answering, notes_of, answering.columns(noisy))
        return release, release.to_bytes()

    return ReleasePlan(
        question=question,
        words=f"graph: {asked}, {answering.name}",
        loss=Loss(answering.epsilon, answering.delta),
        uses=uses,
        compute=lambda draw: answering.draw(load(), draw),
        answer=answer,
        size=SIZE + 64 * answering.size,
        probe=probe,
        replay=lambda kept, free: replace(Release.from_bytes(kept), replayed=free),
    )


def _release(
    asked: str, answering: Answering, notes: tuple[str, ...], columns: Mapping[str, list[Interval]]
) -> Release:
    import pyarrow as pa

    values: dict[str, Any] = {}
    if asked == DEGREES:
        values["degree"] = [answering.first + offset for offset in range(len(next(iter(columns.values()))))]
    kind = pa.int64() if answering.whole else pa.float64()

    def ends(end: str) -> dict[str, pa.Array]:
        return {
            name: pa.array([getattr(cell, end) for cell in cells], pa.float64()).cast(kind)
            for name, cells in columns.items()
        }

    values |= ends("value")
    return Release(
        question=f"{asked} of a graph",
        values=pa.table(values),
        low=ends("low"),
        high=ends("high"),
        confidence=answering.confidence,
        epsilon=answering.epsilon,
        delta=answering.delta,
        notes=notes,
        made=charged_at(),
    )
