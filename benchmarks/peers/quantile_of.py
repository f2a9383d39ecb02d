"""Quantiles by another library, many times: run inside its environment, the questions as JSON on stdin.

diffprivlib draws from the gaps between values with the exponential mechanism, in floating point. OpenDP chooses among
candidates that its caller lists; it is given as many as there are rows, evenly over the bounds. Tumult answers all runs
in one query: each run is a public group with a copy of the rows, so a row is in one of them as it would be in its own.
"""

# mypy: ignore-errors
from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from functools import cache

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


def tumult(
    values: Sequence[float], q: float, bounds: Sequence[float], epsilon: float, runs: int
) -> list[float]:
    """By a query of its sessions, each run a group of its own."""
    from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session

    budget = PureDPBudget(epsilon)
    rows = copies(tuple(values), runs)
    session = Session.from_dataframe(budget, "copies", rows, protected_change=AddOneRow())
    groups = QueryBuilder("copies").groupby(KeySet.from_dict({"run": list(range(runs))}))
    told = session.evaluate(groups.quantile("x", q, bounds[0], bounds[1], "found"), budget)
    return [float(found) for found in told.toPandas()["found"]]


@cache
def copies(values: tuple[float, ...], runs: int) -> object:
    """A cached Spark frame with the rows once for each run."""
    import numpy as np
    import pandas as pd

    from benchmarks.peers.spark import spark_session

    table = pd.DataFrame({"run": np.repeat(np.arange(runs), len(values)), "x": np.tile(values, runs)})
    rows = spark_session().createDataFrame(table).cache()
    rows.count()
    return rows


ASKED: dict[str, Ask] = {"diffprivlib": diffprivlib, "opendp": opendp, "tumult": tumult}

if __name__ == "__main__":
    asked = json.load(sys.stdin)
    values, bounds, runs = (asked[name] for name in ("values", "bounds", "runs"))
    ask = ASKED[asked["library"]]
    told = [
        [ask(values, q, bounds, epsilon / len(wanted), runs) for q in wanted]
        for epsilon, wanted in asked["questions"]
    ]
    # By question, run and quantile.
    print("\n" + json.dumps([list(zip(*columns, strict=True)) for columns in told]))
