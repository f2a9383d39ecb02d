"""The preview of a synthetic table: its price, the marginals that may be measured, and their noise. It reads no data.

Which marginals are measured depends on noisy answers, so that a preview says which may be chosen, and how far one is
off by its noise if it is, in a table of so many rows. A marginal that is not measured follows from the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.escaping import name as one_line
from discreet.rational import show
from discreet.records import dataclass
from discreet.synthetic.adaptive import CHOICE, FIRST, first_part, l1_of_noise
from discreet.synthetic.junction import cells_of

if TYPE_CHECKING:
    from discreet.mechanisms.adaptive import AdaptiveRounds
    from discreet.synthetic.adaptive import MarginalWorkload
    from discreet.synthetic.axes import Axis


@dataclass(frozen=True)
class MarginalPreview:
    """A marginal that may be measured.

    Attributes:
        columns: the names.
        cells: how many counts it has, with those of NULL.
        error: about which share of the rows stands in a wrong place by its noise, before counts are made consistent;
            at most 1. Of several columns it is that of one that is chosen in the first rounds.
    """

    columns: tuple[str, ...]
    cells: int
    error: float

    def to_dict(self) -> dict[str, Any]:
        """The same for machines."""
        return {"columns": list(self.columns), "cells": self.cells, "error": self.error}


@dataclass(frozen=True)
class SynthesisPreview:
    """The cost of a synthetic table, and the marginals that may be measured for it.

    Attributes:
        table: the private one.
        epsilon, delta: of the release.
        cost: by how much the budget would shrink.
        available: the budget before.
        gaussian: whether the noise is Gaussian, else Laplace.
        columns: that are taken, with their numbers of classes; NULL is one where a column may have it.
        classes: the same in words: how many values, or intervals of which numbers.
        left_out: the others, with the reason of each.
        marginals: single columns, all of which are measured, and those that may be chosen.
        too_large: how many marginals of the workload have more counts than a model can hold.
        table_rows: how many rows the table was taken to have.
    """

    table: str
    epsilon: Fraction
    delta: Fraction
    cost: Fraction
    available: Fraction
    gaussian: bool
    columns: Mapping[str, int]
    classes: Mapping[str, str]
    left_out: Mapping[str, str]
    marginals: tuple[MarginalPreview, ...]
    too_large: int
    table_rows: int

    @property
    def left(self) -> Fraction:
        """The budget after it."""
        return max(Fraction(0), self.available - self.cost)

    def to_dict(self) -> dict[str, Any]:
        """The same for machines."""
        return {
            "table": self.table,
            "epsilon": show(self.epsilon, 12),
            "delta": show(self.delta, 12),
            "cost": show(self.cost, 12),
            "available": show(self.available, 12),
            "left": show(self.left, 12),
            "noise": "gaussian" if self.gaussian else "laplace",
            "columns": dict(self.columns),
            "classes": dict(self.classes),
            "left_out": dict(self.left_out),
            "marginals": [marginal.to_dict() for marginal in self.marginals],
            "too_large": self.too_large,
            "table_rows": self.table_rows,
        }

    def __repr__(self) -> str:
        cost = f"epsilon {show(self.epsilon)}" + (f", delta {show(self.delta)}" if self.delta else "")
        kind = "Gaussian" if self.gaussian else "Laplace"
        head = f"{cost}, of {show(self.available)} left · {kind} noise · nothing was read"
        lines = [head, f"errors by noise in a table of {self.table_rows:,} rows, as shares of the rows:"]
        single = [marginal for marginal in self.marginals if len(marginal.columns) == 1]
        lines += [
            f"  {one_line(marginal.columns[0])}: {self.classes[marginal.columns[0]]}: about {marginal.error:.2g}"
            for marginal in single
        ]
        for order, count in sorted(Counter(len(marginal.columns) for marginal in self.marginals).items()):
            errors = [marginal.error for marginal in self.marginals if len(marginal.columns) == order]
            if order > 1:
                least, most = f"{min(errors):.2g}", f"{max(errors):.2g}"
                said = f"about {least if least == most else f'{least} to {most}'} each, if measured"
                sets = "set" if count == 1 else "sets"
                lines.append(f"  {count} {sets} of {order} columns may be chosen: {said}")
        if self.too_large:
            lines.append(f"  {self.too_large} have too many cells, and are not measured")
        lines += [f"without {one_line(name)}: {reason}" for name, reason in self.left_out.items()]
        return "\n".join(lines)


def marginals_of(
    mechanism: AdaptiveRounds, axes: Sequence[Axis], workload: MarginalWorkload, rows: int
) -> tuple[MarginalPreview, ...]:
    """All marginals that may be measured, with their errors in a table of so many rows."""
    parts = {1: FIRST * mechanism.amount / len(axes)}
    later = (1 - CHOICE) * first_part(mechanism, workload, rows)
    found = []
    for columns in [*((column,) for column in range(len(axes))), *workload.weights]:
        cells = cells_of(workload.sizes, columns)
        noise = l1_of_noise(mechanism.deviation(parts.get(len(columns), later)), cells)
        names = tuple(axes[column].name for column in columns)
        found.append(MarginalPreview(names, cells, min(1.0, noise / (2 * rows))))
    return tuple(found)
