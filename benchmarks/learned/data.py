"""The data sets, once, as files that NumPy reads: those that scikit-learn brings, a census extract, and made ones.

Bounds are the least and the greatest of each feature, which everybody is told: none is measured for its own.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets

CENSUS = Path(os.environ.get("CENSUS", "../shared/data/PUMS5extract10000.csv"))


def between(values: Any) -> Any:
    """Columns moved to -1 to 1; constant ones are 0."""
    least, most = values.min(axis=0), values.max(axis=0)
    return np.where(most > least, (2 * values - least - most) / np.where(most > least, most - least, 1), 0.0)


def classes(x: Any, label: Any, one: int) -> dict[str, Any]:
    """A data set with labels; `one` is the class that logistic regression tells from the rest."""
    return {"x": between(x), "label": label, "one": np.array(one)}


def regression(inputs: Any, target: Any) -> dict[str, Any]:
    """A data set with a number to foretell."""
    return {"inputs": between(inputs), "target": between(target[:, None])[:, 0]}


def made() -> dict[str, dict[str, Any]]:
    """All data sets, by name."""
    iris, wine, cancer = datasets.load_iris(), datasets.load_wine(), datasets.load_breast_cancer()
    digits, diabetes = datasets.load_digits(), datasets.load_diabetes()
    x, label = datasets.make_classification(5000, 8, n_informative=6, n_redundant=0, random_state=3)
    line, target = datasets.make_regression(5000, 6, noise=60.0, random_state=3)
    out = {
        "iris": classes(iris.data, iris.target, 2) | regression(iris.data[:, :3], iris.data[:, 3]),
        "wine": classes(wine.data, wine.target, 1) | regression(wine.data[:, 1:], wine.data[:, 0]),
        "cancer": classes(cancer.data, cancer.target, 1)
        | regression(cancer.data[:, 1:10], cancer.data[:, 0]),
        "digits": classes(digits.data, digits.target, 0),
        "diabetes": regression(diabetes.data, diabetes.target),
        "made": classes(x, label, 1) | regression(line, target),
    }
    if CENSUS.exists():
        rows = np.genfromtxt(CENSUS, delimiter=",", names=True)
        x = np.column_stack([rows[name] for name in ("age", "educ", "sex", "latino", "black", "asian")])
        x = np.column_stack([x, np.log10(np.clip(rows["income"], 0, None) + 100)])
        out["census"] = classes(x, rows["married"].astype(int), 1)
        out["census"] |= regression(np.column_stack([x[:, :3], rows["married"]]), x[:, -1])
    return out


def write(folder: Path) -> None:
    """Write a file for each."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, arrays in made().items():
        np.savez(folder / f"{name}.npz", **arrays)
