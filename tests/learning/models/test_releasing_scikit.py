"""The checks of scikit-learn for estimators, but for those that privacy forbids; each has its reason."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from discreet.learning import (
    PCA,
    DecisionTreeClassifier,
    GaussianNB,
    KMeans,
    LearningBudget,
    LinearRegression,
    LogisticRegression,
)
from tests.depth import few

NO_VALUE = "no value of private rows is an error: NaN and infinities have a place in the bounds"
NOISE = "two fits differ by their noise, and few rows are noise"
CLASSES = "classes are public: they are parameters, and no label of a row is an error or a class of its own"
WORDS = "the refusal has words of its own"
EXEMPT = {
    "check_estimators_nan_inf": NO_VALUE,
    "check_supervised_y_no_nan": NO_VALUE,
    "check_supervised_y_2d": "a warning would tell nothing: a column is read as the labels",
    "check_classifiers_regression_target": CLASSES,
    "check_classifiers_classes": CLASSES,
    "check_classifiers_one_label": CLASSES,
    "check_classifiers_train": CLASSES,
    "check_fit_idempotent": NOISE,
    "check_regressors_train": NOISE,
    "check_regressors_int": NOISE,
    "check_regressor_data_not_an_array": NOISE,
    "check_classifier_data_not_an_array": NOISE,
    "check_transformer_general": NOISE,
    "check_transformer_data_not_an_array": NOISE,
    "check_transformer_preserve_dtypes": "components are float64 for all",
    "check_clustering": NOISE + "; labels of rows would be data",
    "check_clusterer_compute_labels_predict": "labels of rows would be data",
    "check_pipeline_consistency": NOISE,
    "check_complex_data": WORDS,
    "check_dtype_object": "an array of objects is refused whatever it holds: no value decides",
    "check_estimator_sparse_tag": WORDS,
    "check_estimator_sparse_array": WORDS,
    "check_estimator_sparse_matrix": WORDS,
    "check_fit2d_1sample": "one row is fitted as any other number of rows",
}
BOX = (-10, 10)
MODELS: list[Any] = [
    LinearRegression(100, bounds=BOX, target_bounds=(-100, 100)),
    LogisticRegression(100, bounds=BOX, classes=(0, 1)),
    GaussianNB(100, bounds=BOX, classes=(0, 1)),
    DecisionTreeClassifier(100, bounds=BOX, classes=(0, 1), max_depth=2),
    KMeans(3, epsilon=100, bounds=BOX, rounds=2),
    PCA(1, epsilon=100, bounds=BOX),
]


@pytest.mark.filterwarnings("ignore")
# A regressor, a classifier and a transformer, which share a base; a deep run checks all.
@pytest.mark.parametrize("model", few(MODELS, 3), ids=lambda one: type(one).__name__)
def test_the_checks_of_scikit_learn(model: Any) -> None:
    # Half a second of each process that collects tests, and one runs them.
    from sklearn.utils.estimator_checks import check_estimator

    found = check_estimator(model, expected_failed_checks=EXEMPT, on_skip=None, on_fail=None)
    failed = {one["check_name"]: str(one["exception"]) for one in found if one["status"] == "failed"}
    assert failed == {}
    assert sum(one["status"] == "passed" for one in found) > 30


def test_pipelines_frames_copies_and_scores() -> None:
    frame = pd.DataFrame({"a": [0.0, 5.0] * 300, "b": [1.0, 2.0] * 300})
    budget = LearningBudget(20)
    model = GaussianNB(1, bounds=BOX, classes=(0.0, 5.0), budget=budget)
    line = make_pipeline(FunctionTransformer(), model)
    assert line.fit(frame, frame["a"]).predict(frame).shape == (600,)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert clone(model).budget is budget
    assert len(cross_val_score(line, frame, frame["a"], cv=4, error_score="raise")) == 4
    assert budget.state.spent == 5
