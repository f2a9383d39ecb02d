"""The one charge of a stream: the noise of its whole horizon is bought at its start, through the gate.

The plan draws the noise of every node on zeros. Adding the exact value later is the same as adding it before the draw,
for the noise does not depend on the data: f(D) + Z. The ledger settles with the hash of the noise, so that a stream
that starts again has the noise that was bought or none.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.ledger import Ledger
from discreet.release import gate
from discreet.release.draw import Draw, Use
from discreet.release.plan import ReleasePlan

if TYPE_CHECKING:
    from discreet.streams.spec import StreamSpec
    from discreet.streams.state import StreamFolder

Noise: TypeAlias = "dict[str, npt.NDArray[np.int64]]"

MOST_NODES: Final = 1 << 24
"""So many numbers get noise in one stream at most: 128 MB."""


def noise_of(spec: StreamSpec, state: StreamFolder, ledger: Ledger, payer: gate.Payer) -> Noise:
    """The noise of a stream: bought now, or the noise that was bought before.

    Raises:
        InvalidParameter: the stream has too many numbers, or there is no such noise. Nothing was charged.
        StreamError: it was bought, and the state no longer has it. Nothing was charged.
        Every error of `gate.release` is raised too.
    """
    return gate.release(_plan(spec, state), ledger, payer)


def _plan(spec: StreamSpec, state: StreamFolder) -> ReleasePlan[Noise, Noise]:
    nodes = spec.strategy.nodes(spec.periods.count)
    shapes = {measure.name: (nodes, measure.parts * len(spec.keys)) for measure in spec.measures}
    size = sum(math.prod(shape) for shape in shapes.values())
    if size > MOST_NODES:
        raise InvalidParameter(
            f"The stream has {size:,} noisy numbers, more than {MOST_NODES:,}.",
            "Take longer periods, an earlier end or fewer keys.",
        )
    uses = {
        measure.name: Use(spec.mechanism(measure), spec.neighbours, math.prod(shapes[measure.name]))
        for measure in spec.measures
    }

    def compute(draw: Draw) -> Noise:
        return {name: draw(name, np.zeros(shapes[name], np.int64)) for name in uses}

    def answer(noise: Noise) -> tuple[Noise, bytes]:
        state.forget_progress()
        return noise, json.dumps({"noise": state.keep_noise(noise, spec.question)}).encode()

    return ReleasePlan(
        question=spec.question,
        words=spec.words,
        loss=spec.loss,
        uses=uses,
        compute=compute,
        answer=answer,
        caps=(spec.rows,),
        size=1 << 12,
        probe=lambda: state.see_free(spec.question),
        replay=lambda kept, _: state.noise(json.loads(kept)["noise"]),
    )
