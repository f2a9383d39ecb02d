"""Private learning: students of noisy teachers, and models from noisy sums.

The models need scikit-learn, of the extra `learning`, when they are named.
"""

from typing import TYPE_CHECKING, Any

from discreet.imports import lazy_names
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
_named, __dir__ = lazy_names(__name__, _NAMES, __all__)


def __getattr__(name: str) -> Any:
    if name in __all__:
        see_installed()
    return _named(name)
