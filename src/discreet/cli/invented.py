"""Hospital visits that nobody made: the data of the demo."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

PATIENTS = 93_000
MAX_VISITS = 4
COUNTIES = ("Alder", "Birch", "Cedar", "Elm", "Hazel", "Juniper", "Maple", "Rowan")
DEPARTMENTS = (
    "Cardiology",
    "Emergency",
    "Geriatrics",
    "Maternity",
    "Oncology",
    "Orthopaedics",
    "Paediatrics",
)

POLICY = f"""\
[budget]
epsilon = 2                      # all that may ever be spent
[source]
url = "parquet:visits.parquet"
[tables.visits]
privacy_unit = "patient_id"      # the unit hidden: a patient, with every visit
max_rows = {MAX_VISITS}                     # at most {MAX_VISITS} visits of a patient count
[tables.visits.columns]
age        = {{ bounds = [0, 104] }}
cost       = {{ bounds = [0, 20_000] }}
nights     = {{ bounds = [0, 30] }}
date       = {{ bounds = [2025-01-01, 2025-12-31] }}
county     = {{ keys = {list(COUNTIES)} }}
department = {{ keys = [
  {", ".join(f'"{d}"' for d in DEPARTMENTS)}
] }}
""".replace("'", '"')

CLAMPED = """\
SELECT patient_id, county, department, least(greatest(age, 0), 104) AS age, least(greatest(cost, 0), 20000) AS cost,
  least(greatest(nights, 0), 30) AS nights, date"""
"""The columns as the policy's bounds leave them."""


def visits(patients: int = PATIENTS) -> pa.Table:
    """Invent the visits of a year: patient_id, county, department, age, cost, nights, date.

    They are the same every time. This generator has nothing to do with noise.

    Example:
        >>> visits(patients=10).column_names
        ['patient_id', 'county', 'department', 'age', 'cost', 'nights', 'date']
    """
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng(2025)
    number = rng.permutation(patients).astype(np.int64) + 100_000
    county = rng.choice(len(COUNTIES), patients, p=_shares([9, 3, 5, 2, 1, 6, 4, 2]))
    old = rng.random(patients) < 0.45
    age = (
        np.where(old, rng.normal(71, 11, patients), rng.gamma(2.2, 16, patients))
        .clip(0, 104)
        .astype(np.int64)
    )
    who = np.repeat(
        np.arange(patients), rng.choice(np.arange(1, MAX_VISITS + 1), patients, p=[0.38, 0.27, 0.18, 0.17])
    )
    rows = len(who)

    # Columns: department; rows: child, adult, old.
    mix = np.array([[1, 30, 0, 2, 2, 8, 40], [8, 34, 0, 14, 8, 16, 0], [22, 26, 20, 0, 12, 14, 0]])
    group = np.digitize(age[who], [16, 65])
    steps = np.cumsum(mix / mix.sum(axis=1, keepdims=True), axis=1)
    department = (rng.random(rows)[:, None] > steps[group]).sum(axis=1).clip(0, len(DEPARTMENTS) - 1)
    stay = np.array([4.0, 1.2, 7.0, 2.5, 5.0, 3.5, 2.0])[department]
    nights = rng.geometric(1 / (1 + stay)) - 1
    base = np.array([900.0, 250.0, 500.0, 800.0, 1900.0, 1500.0, 350.0])[department]
    cost = np.round((base + 420 * nights) * rng.lognormal(0, 0.7, rows), 2)
    # Emergencies come more in winter; everything else over the year.
    day = rng.integers(0, 365, rows)
    winter = np.minimum(364, np.abs(rng.normal(0, 55, rows)).astype(np.int64))
    seasonal = (department == DEPARTMENTS.index("Emergency")) & (rng.random(rows) < 0.25)
    day = np.where(seasonal, np.where(rng.random(rows) < 0.6, winter, 364 - winter), day)
    first = (date(2025, 1, 1) - date(1970, 1, 1)).days

    order = np.argsort(day, kind="stable")
    return pa.table(
        {
            "patient_id": number[who][order],
            "county": np.array(COUNTIES)[county[who]][order],
            "department": np.array(DEPARTMENTS)[department][order],
            "age": age[who][order],
            "cost": cost[order],
            "nights": nights[order],
            "date": pa.array((first + day[order]).astype(np.int32)).cast(pa.date32()),
        }
    )


def make(folder: Path, patients: int = PATIENTS) -> int:
    """Write `visits.parquet` and `policy.toml` into a folder, and return the number of visits."""
    from pyarrow import parquet

    table = visits(patients)
    parquet.write_table(table, folder / "visits.parquet")
    (folder / "policy.toml").write_text(POLICY, "utf-8")
    return len(table)


def _shares(weights: list[int]) -> list[float]:
    return [weight / sum(weights) for weight in weights]
