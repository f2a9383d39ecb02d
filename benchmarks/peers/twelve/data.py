"""The tables that are asked about."""

# mypy: disable-error-code="arg-type,type-var,call-overload"
from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.peers.environments import ROOT
from benchmarks.peers.twelve.asked import Case

PEOPLE, KEPT = 27_000, 3
PLACES, DAYS, CODES = 80, 365, 1_200
MANY_PEOPLE, MANY_PLACES, GROUPS = 2_000, 200, 50
LOW, HIGH = 0.0, 1_000.0
EPSILON, DELTA = 1.0, 1e-6
CENSUS = "shared/data/PUMS5extract10000.csv"
"""Beside the checkout, or further up."""


def cases(folder: Path) -> dict[str, Path]:
    """Write the tables, and by name a JSON file that describes each."""
    folder = folder / f"twelve-{PEOPLE}-{PLACES}-{CODES}"
    folder.mkdir(parents=True, exist_ok=True)
    visits, many = folder / "twelve.parquet", folder / "many.parquet"
    rng = np.random.default_rng(11)
    if not many.exists():  # else another process may be reading it
        _visits(visits, rng)
        _several(many, rng)
    public = {"places": list(range(1, PLACES + 1)), "sexes": [1, 2], "days": list(range(1, DAYS + 1))}
    privacy = {"epsilon": EPSILON, "delta": DELTA, "longest": 4_000}
    bounds = {"low": LOW, "high": HIGH}
    found = {
        "row": Case(str(visits), "row", 1, **public, **bounds, **privacy),
        "user": Case(
            str(visits), "user", KEPT, **public, **bounds, **privacy,
            many=str(many), groups=GROUPS, many_places=MANY_PLACES,
        ),
    }  # fmt: skip
    if (source := _census()) is not None:
        path = folder / "census.parquet"
        if not path.exists():
            _write_census(source, path)
        found["census"] = Case(
            str(path), "row", 1, places=list(range(1, 17)), sexes=[0, 1], days=list(range(18, 96)),
            low=0.0, high=500_000.0, **privacy,
        )  # fmt: skip
    for name, case in found.items():
        (folder / f"{name}.json").write_text(json.dumps(asdict(case)), "utf-8")
    return {name: folder / f"{name}.json" for name in found}


def _visits(path: Path, rng: np.random.Generator) -> None:
    """People with one to three visits, in different places, on different days, with different codes.

    So every way to bound the rows of a person keeps all of them, and an error is noise and nothing else. Places have
    some 350 to 1,050 rows, codes a few to some thousands, days follow a season, and amounts are lognormal.
    """
    held = rng.integers(1, KEPT + 1, PEOPLE)
    person = np.repeat(np.arange(PEOPLE), held)
    seasons = 1 + 0.4 * np.sin(np.arange(DAYS) / DAYS * 2 * np.pi)
    order = rng.permutation(person.size)
    columns = {
        "person": person,
        "place": _different(held, np.linspace(1, 3, PLACES), rng) + 1,
        "sex": np.repeat(rng.integers(1, 3, PEOPLE), held),
        "day": _different(held, seasons, rng) + 1,
        "code": 10_000 + 7 * _different(held, 1 / np.arange(3, CODES + 3), rng),
        "amount": np.round(rng.lognormal(5, 0.8, person.size).clip(LOW, HIGH), 2),
    }
    pq.write_table(pa.table({name: column[order] for name, column in columns.items()}), path)


def _different(held: np.ndarray, weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """For each person as many different choices as there are rows, drawn by weight."""
    gumbel = np.log(weights) + rng.gumbel(size=(held.size, weights.size))
    chosen = np.argsort(-gumbel, axis=1)[:, : held.max()]
    return chosen[np.arange(held.max()) < held[:, None]]


def _several(path: Path, rng: np.random.Generator) -> None:
    """People with one row in each of fifty places of two hundred."""
    places = np.argsort(rng.random((MANY_PEOPLE, MANY_PLACES)), axis=1)[:, :GROUPS] + 1
    person = np.repeat(np.arange(MANY_PEOPLE), GROUPS)
    pq.write_table(pa.table({"person": person, "place": places.ravel()}), path)


def _census() -> Path | None:
    return next((path for folder in ROOT.parents if (path := folder / CENSUS).exists()), None)


def _write_census(source: Path, path: Path) -> None:
    """Schooling as the place, age as the day, and the area as the code."""
    rows = list(csv.DictReader(io.StringIO(source.read_text("utf-8"), newline=None)))
    names = {"place": "educ", "sex": "sex", "day": "age", "code": "puma"}
    columns = {
        "person": np.arange(len(rows)),
        **{name: np.array([int(float(row[of])) for row in rows]) for name, of in names.items()},
        "amount": np.array([float(row["income"]) for row in rows]).clip(0, 500_000),
    }
    pq.write_table(pa.table(columns), path)
