"""Private learning: students of noisy teachers, and models from noisy sums.

`LinearRegression`, `LogisticRegression` and `PCA` need scikit-learn, of the extra `learning`, when they are named.
"""

import importlib
from typing import TYPE_CHECKING, Any

from discreet.learning.arrays import PrivateArrays
from discreet.learning.budget import LearningBudget
from discreet.learning.gnmax import AgreedLabels, gnmax
from discreet.learning.moments import data_independent
from discreet.learning.pate import Labels, pate
from discreet.learning.teachers import see_installed

if TYPE_CHECKING:
    from discreet.learning.linear import PCA, LinearRegression, LogisticRegression

__all__ = [
    "PCA",
    "AgreedLabels",
    "Labels",
    "LearningBudget",
    "LinearRegression",
    "LogisticRegression",
    "PrivateArrays",
    "data_independent",
    "gnmax",
    "pate",
]


def __getattr__(name: str) -> Any:
    if name in ("LinearRegression", "LogisticRegression", "PCA"):
        see_installed()
        return getattr(importlib.import_module("discreet.learning.linear"), name)
    raise AttributeError(f"module 'discreet.learning' has no attribute {name!r}")
