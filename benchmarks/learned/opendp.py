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


def linear(x: Any, y: Any, facts: Facts) -> Any:
    """Theil and Sen's line through the feature that goes best with the target, which it is told."""
    import numpy as np

    best = int(np.argmax(np.abs(np.corrcoef(x.T, y)[-1, :-1])))
    scale = 2.0  # its medians, priced below
    measured = dp.sklearn.linear_model.LinearRegression(
        dp.max_divergence(), x_bounds=[(-1, 1)], y_bounds=(-1, 1), scale=scale
    )
    price = measured.measurement.map(2)  # a replaced row is one taken away and one added
    fitted = dp.sklearn.linear_model.LinearRegression(
        dp.max_divergence(), x_bounds=[(-1, 1)], y_bounds=(-1, 1), scale=scale * price / facts.epsilon
    ).fit(x[:, [best]], y)
    return lambda rows: fitted.predict(rows[:, [best]])


if __name__ == "__main__":
    dp.enable_features("contrib", "idealized-numerics", "honest-but-curious")
    main({"components": components, "linear": linear})
