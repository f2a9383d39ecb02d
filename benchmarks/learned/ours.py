"""discreet: the same models."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path[:1] = [str(Path(__file__).parents[2])]

from benchmarks.learned.common import CLUSTERS, COMPONENTS, Facts, main  # noqa: E402
from discreet import learning  # noqa: E402


def _box(facts: Facts) -> list[tuple[int, int]]:
    return [(-1, 1)] * facts.width


def bayes(x: Any, y: Any, facts: Facts) -> Any:
    """Gaussian naive Bayes."""
    return learning.GaussianNB(facts.epsilon, bounds=_box(facts), classes=facts.classes).fit(x, y).predict


def tree(x: Any, y: Any, facts: Facts) -> Any:
    """A private tree."""
    made = learning.DecisionTreeClassifier(facts.epsilon, bounds=_box(facts), classes=facts.classes)
    return made.fit(x, y).predict


def logistic(x: Any, y: Any, facts: Facts) -> Any:
    """Logistic regression."""
    return learning.LogisticRegression(facts.epsilon, bounds=_box(facts)).fit(x, y).predict


def linear(x: Any, y: Any, facts: Facts) -> Any:
    """Linear regression."""
    made = learning.LinearRegression(facts.epsilon, bounds=_box(facts), target_bounds=(-1, 1))
    return made.fit(x, y).predict


def clusters(x: Any, _: Any, facts: Facts) -> Any:
    """k-means."""
    return learning.KMeans(CLUSTERS, epsilon=facts.epsilon, bounds=_box(facts)).fit(x).cluster_centers_


def components(x: Any, _: Any, facts: Facts) -> Any:
    """Principal components."""
    return learning.PCA(COMPONENTS, epsilon=facts.epsilon, bounds=_box(facts)).fit(x).components_


if __name__ == "__main__":
    main({"naive Bayes": bayes, "tree": tree, "logistic": logistic, "linear": linear, "line": linear,
          "k-means": clusters, "components": components})  # fmt: skip
