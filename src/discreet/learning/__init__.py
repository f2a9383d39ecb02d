"""Private learning: students of noisy teachers, and models from noisy sums.

The models need scikit-learn, of the extra `learning`, when they are named.
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
    from discreet.learning.models.bayes import CategoricalNB, GaussianNB
    from discreet.learning.models.clusters import KMeans
    from discreet.learning.models.folds import cross_validate
    from discreet.learning.models.linear import PCA, LinearRegression, LogisticRegression
    from discreet.learning.models.tables import fit_table
    from discreet.learning.models.trees import DecisionTreeClassifier

__all__ = [
    "PCA",
    "AgreedLabels",
    "CategoricalNB",
    "DecisionTreeClassifier",
    "GaussianNB",
    "KMeans",
    "Labels",
    "LearningBudget",
    "LinearRegression",
    "LogisticRegression",
    "PrivateArrays",
    "cross_validate",
    "data_independent",
    "fit_table",
    "gnmax",
    "pate",
]

_NAMES = {
    "models.linear": "LinearRegression LogisticRegression PCA",
    "models.bayes": "CategoricalNB GaussianNB",
    "models.clusters": "KMeans",
    "models.folds": "cross_validate",
    "models.tables": "fit_table",
    "models.trees": "DecisionTreeClassifier",
}
_FILE_OF = {name: file for file, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _FILE_OF:
        raise AttributeError(f"module 'discreet.learning' has no attribute {name!r}")
    see_installed()
    return getattr(importlib.import_module(f"discreet.learning.{_FILE_OF[name]}"), name)
