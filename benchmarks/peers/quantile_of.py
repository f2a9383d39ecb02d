"""One quantile by another library, many times: run inside its environment, the question as JSON on stdin.

diffprivlib draws from the gaps between values with the exponential mechanism, in floating point. OpenDP chooses among
candidates that its caller lists; it is given as many as there are rows, evenly over the bounds.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence

Ask = Callable[[Sequence[float], float, Sequence[float], float, int], list[float]]


def diffprivlib(
    values: Sequence[float], q: float, bounds: Sequence[float], epsilon: float, runs: int
) -> list[float]:
    """By its own function."""
    import numpy as np
    from diffprivlib import tools

    array = np.array(values)
    return [float(tools.quantile(array, q, epsilon=epsilon, bounds=tuple(bounds))) for _ in range(runs)]


def opendp(
    values: Sequence[float], q: float, bounds: Sequence[float], epsilon: float, runs: int
) -> list[float]:
    """By the scores of candidates and a noisy maximum."""
    import numpy as np
    import opendp.prelude as dp

    dp.enable_features("contrib")
    candidates = np.unique(np.linspace(bounds[0], bounds[1], len(values))).tolist()
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    scores = space >> dp.t.then_quantile_score_candidates(candidates, alpha=q)

    def choice(scale: float) -> dp.Measurement:
        return scores >> dp.m.then_noisy_max(dp.max_divergence(), scale=scale, negate=True)

    scale = dp.binary_search_param(choice, d_in=1, d_out=epsilon)
    chosen = choice(scale)
    return [candidates[chosen(list(values))] for _ in range(runs)]


ASKED: dict[str, Ask] = {"diffprivlib": diffprivlib, "opendp": opendp}

if __name__ == "__main__":
    asked = json.load(sys.stdin)
    given = (asked[name] for name in ("values", "q", "bounds", "epsilon", "runs"))
    print(json.dumps(ASKED[asked["library"]](*given)))
