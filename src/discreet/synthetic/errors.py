"""How far the marginals of a model may be from those of the data, said from released numbers alone.

The error of a marginal is half the L1 distance between its counts and those of the model, as a share of the rows: the
share of the rows that would have to change their place. Two things bound it, all of them together with 95 %.

- A marginal that was measured: the distance between the model and its noisy counts, and the L1 norm of the noise, by
  the tails of sums of absolute values of Gaussian (Lipschitz concentration) and of Laplace variables (a Gamma one).
- One that could have been chosen in the last round: its score is above that of the chosen one by the slack of the
  choice at most (McKenna, Mullins, Sheldon and Miklau 2022, theorem 4 has the expectation), and the model moved since
  by a distance that is known.

Of any other marginal nothing is said.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import numpy as np

from discreet.records import dataclass
from discreet.synthetic.adaptive import MarginalWorkload, ReleasedMarginals
from discreet.synthetic.fitting import NoisyMarginal, merged, total_of
from discreet.synthetic.inference import MarginalModel
from discreet.synthetic.junction import Clique
from discreet.synthetic.sweeps import marginals_of

NOISE: Final = 0.04
"""The chance that some noise is beyond its bound; the slack of the choice has another of 1 %."""


@dataclass(frozen=True)
class MarginalError:
    """The error of a marginal, as a share of the rows.

    Attributes:
        columns: of it.
        measured: whether it was measured itself.
        most: a bound; None where nothing is known.
    """

    columns: Clique
    measured: bool
    most: float | None


def errors_of(
    found: ReleasedMarginals, model: MarginalModel, workload: MarginalWorkload, concentrated: bool
) -> list[MarginalError]:
    """The errors of the marginals of single columns and of the workload."""
    parts = {marginal.columns: marginal for marginal in merged(found.measured)}
    rows = total_of(found.measured)
    sure = math.log((len(parts) + 1) / NOISE)
    bounds = {}
    for columns, marginal in parts.items():
        distance = float(np.abs(rows * model.marginal(columns) - marginal.counts).sum())
        bounds[columns] = distance + noise_most(marginal, sure, concentrated)
    others = _not_chosen(found, model, workload, rows, sure, concentrated)
    out = []
    for columns in [*((column,) for column in range(len(workload.sizes))), *workload.weights]:
        known = [bound[columns] for bound in (bounds, others) if columns in bound]
        most = min(1.0, min(known) / (2 * rows)) if known else None
        out.append(MarginalError(columns, columns in bounds, most))
    return out


def noise_most(marginal: NoisyMarginal, sure: float, concentrated: bool) -> float:
    """The L1 norm of the noise of a marginal is above it with a chance of e^-sure at most."""
    cells = marginal.counts.size
    if concentrated:
        return marginal.deviation * (cells * math.sqrt(2 / math.pi) + math.sqrt(2 * cells * sure))
    # Several measurements made one have noise that is no Laplace noise; its moments are no larger.
    return marginal.deviation / math.sqrt(2) * (cells + math.sqrt(2 * cells * sure) + sure)


def _not_chosen(
    found: ReleasedMarginals,
    model: MarginalModel,
    workload: MarginalWorkload,
    rows: float,
    sure: float,
    concentrated: bool,
) -> Mapping[Clique, float]:
    """Bounds of the L1 distances of all that could have been chosen in the last round."""
    last = found.last
    if last is None:
        return {}
    chosen = last.chosen
    distance = float(np.abs(last.model[chosen] - last.noisy.counts).sum())
    distance += noise_most(last.noisy, sure, concentrated)
    score = workload.weights[chosen] * (distance - last.scored[chosen])
    out = {}
    now = marginals_of(model, last.scored)
    for columns, noise in last.scored.items():
        then = noise + (score + last.slack) / workload.weights[columns]
        moved = float(np.abs(last.model[columns] - rows * now[columns]).sum())
        out[columns] = max(0.0, then) + moved
    return out
