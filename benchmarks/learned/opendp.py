"""OpenDP: principal components, and a line through one feature (its regression takes no more)."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

sys.path[:1] = [str(Path(__file__).parents[2])]

import opendp.prelude as dp  # noqa: E402

from benchmarks.learned.common import COMPONENTS, Facts, main  # noqa: E402


def components(x: Any, _: Any, facts: Facts) -> Any:
    """Its private axes; its neighbours add or remove a row, so that an epsilon for two of them is a replaced one."""
    pca = dp.sklearn.decomposition.PCA(
        epsilon=facts.epsilon,
        row_norm=math.sqrt(x.shape[1]),
        n_samples=len(x),
        n_features=x.shape[1],
        n_components=COMPONENTS,
        n_changes=1,
    )
    return pca.fit(x).components_[:COMPONENTS]


def line(x: Any, y: Any, facts: Facts) -> Any:
    """Theil and Sen's line."""
    scale = 2.0  # of its medians, priced below
    known = {"x_bounds": [(-1, 1)], "y_bounds": (-1, 1)}
    made = dp.sklearn.linear_model.LinearRegression
    measured = made(dp.max_divergence(), scale=scale, **known)
    price = measured.measurement.map(2)  # a replaced row is one taken away and one added
    fitted = made(dp.max_divergence(), scale=scale * price / facts.epsilon, **known).fit(x, y)
    return fitted.predict


if __name__ == "__main__":
    dp.enable_features("contrib", "idealized-numerics", "honest-but-curious")
    main({"components": components, "line": line})
