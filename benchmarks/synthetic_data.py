"""Three data sets for synthetic tables: invented people, a census extract, and digits in bins."""

from __future__ import annotations

import csv
import itertools
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
SHARED = Path(os.environ.get("DISCREET_DATA", Path(__file__).parents[2] / "shared" / "data"))
CENSUS = SHARED / "PUMS5extract10000.csv"
INCOMES = (
    1,
    2500,
    5000,
    7500,
    10_000,
    15_000,
    20_000,
    25_000,
    30_000,
    40_000,
    50_000,
    60_000,
    80_000,
    120_000,
)


def invented(rows: int = 20_000) -> tuple[Integers, list[int]]:
    """People of ten columns that depend on each other as those of a census do."""
    random = np.random.default_rng(7)
    age = np.clip(random.gamma(4, 11, rows), 0, 99).astype(int) // 7
    sex, region = random.integers(0, 2, rows), random.choice(9, rows, p=np.arange(13, 4, -1) / 81)
    school = np.clip(random.normal(3.2 + 0.08 * age - 0.01 * age**2 + 0.2 * (region < 3), 1.4), 0, 7).astype(
        int
    )
    married = np.where(
        (age >= 3) & (random.random(rows) < 0.1 + 0.05 * age), 1 + (random.random(rows) < 0.3), 0
    )
    married = np.where((age > 9) & (random.random(rows) < 0.3), 3, married)
    busy = (age >= 3) & (age <= 9) & (random.random(rows) < 0.75 + 0.1 * sex)
    work = np.where(busy, 2 + (random.random(rows) < 0.12 * school) + (random.random(rows) < 0.2), age > 9)
    hours = np.where(work >= 2, np.clip(random.normal(5 - 1.2 * (1 - sex), 1.5), 0, 9), 0).astype(int)
    pay = np.where(
        work >= 2, random.lognormal(1 + 0.18 * school + 0.024 * hours, 0.5), random.exponential(1, rows)
    )
    income = np.digitize(pay, (0.5, 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 30))
    home = np.where(
        random.random(rows) < 0.15 + 0.02 * income + 0.03 * age, 1, 2 * (random.random(rows) < 0.2)
    )
    cars = np.minimum(random.poisson(0.4 + 0.1 * income + 0.3 * (married == 1)), 4)
    columns = [age, sex, region, school, married, work, hours, income, home, cars]
    return np.column_stack(columns).astype(np.int64), [15, 2, 9, 8, 4, 5, 10, 15, 3, 5]


def census() -> tuple[Integers, list[int]]:
    """10,000 people of California.

    Raises:
        FileNotFoundError: the extract is not beside the project.
    """
    text = CENSUS.read_text("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    found = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(text.splitlines())]
    of = {name: np.array([row[name] for row in found]) for name in found[0]}
    place = np.unique(of["puma"] % 10_000 // 500, return_inverse=True)[1]
    age = np.clip(of["age"] // 6 - 3, 0, 12)
    columns = [of["sex"], age, of["educ"] - 1, np.digitize(of["income"], INCOMES), of["latino"], of["black"],
               of["asian"], of["married"], place]  # fmt: skip
    return np.column_stack(columns).astype(np.int64), [2, 13, 16, 15, 2, 2, 2, 2, int(place.max()) + 1]


def digits() -> tuple[Integers, list[int]]:
    """1,797 handwritten digits: twelve blocks of their images in five shades, and the digit."""
    from sklearn.datasets import load_digits

    found: Any = load_digits()
    blocks = [
        found.images[:, 2 * down : 2 * down + 2, 2 * across : 2 * across + 2].mean((1, 2))
        for down in range(4)
        for across in range(1, 4)
    ]
    shades = [np.minimum(block / 16 * 5, 4).astype(int) for block in blocks]
    return np.column_stack([*shades, found.target]).astype(np.int64), [5] * 12 + [10]


SETS: dict[str, Callable[[], tuple[Integers, list[int]]]] = {
    "invented people": invented,
    "census extract": census,
    "digits": digits,
}

TARGETS = {"invented people": 5, "census extract": 7, "digits": 12}
"""The column that a model names by the others: work, whether somebody is married, the digit."""


def rightly(real: Integers, synthetic: Integers, target: int) -> float:
    """The share of the real rows whose column is named rightly by a random forest trained on synthetic ones."""
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(100, min_samples_leaf=3, random_state=0)
    forest.fit(np.delete(synthetic, target, 1), synthetic[:, target])
    return float((forest.predict(np.delete(real, target, 1)) == real[:, target]).mean())


def distance(one: Integers, other: Integers, sizes: Sequence[int], order: int) -> float:
    """The mean total variation distance between all marginals of so many columns."""
    found = []
    for columns in itertools.combinations(range(len(sizes)), order):
        shape = [sizes[column] for column in columns]
        shares = [
            np.bincount(np.ravel_multi_index(tuple(rows[:, columns].T), shape), minlength=int(np.prod(shape)))
            / max(1, len(rows))
            for rows in (one, other)
        ]
        found.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return float(np.mean(found))
