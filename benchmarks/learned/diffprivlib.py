"""diffprivlib: the same models, told the same bounds."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

sys.path[:1] = [str(Path(__file__).parents[2])]

from diffprivlib import models  # noqa: E402

from benchmarks.learned.common import CLUSTERS, COMPONENTS, Facts, main  # noqa: E402

BOX = (-1.0, 1.0)


def bayes(x: Any, y: Any, facts: Facts) -> Any:
    """Gaussian naive Bayes."""
    return models.GaussianNB(epsilon=facts.epsilon, bounds=BOX).fit(x, y).predict


def tree(x: Any, y: Any, facts: Facts) -> Any:
    """A random tree with labels by permute-and-flip. Its epsilon is for a row more or less, so half of it is asked."""
    fitted = models.DecisionTreeClassifier(epsilon=facts.epsilon / 2, bounds=BOX, classes=facts.classes)
    return fitted.fit(x, y).predict


def logistic(x: Any, y: Any, facts: Facts) -> Any:
    """Objective perturbation."""
    return models.LogisticRegression(epsilon=facts.epsilon, data_norm=math.sqrt(x.shape[1])).fit(x, y).predict


def linear(x: Any, y: Any, facts: Facts) -> Any:
    """The functional mechanism."""
    return models.LinearRegression(epsilon=facts.epsilon, bounds_X=BOX, bounds_y=BOX).fit(x, y).predict


def clusters(x: Any, _: Any, facts: Facts) -> Any:
    """Noisy rounds of Lloyd's."""
    return models.KMeans(CLUSTERS, epsilon=facts.epsilon, bounds=BOX).fit(x).cluster_centers_


def components(x: Any, _: Any, facts: Facts) -> Any:
    """A private covariance by its axes."""
    fitted = models.PCA(COMPONENTS, epsilon=facts.epsilon, data_norm=math.sqrt(x.shape[1]), bounds=BOX)
    return fitted.fit(x).components_


if __name__ == "__main__":
    main({"naive Bayes": bayes, "tree": tree, "logistic": logistic, "linear": linear, "line": linear,
          "k-means": clusters, "components": components})  # fmt: skip
