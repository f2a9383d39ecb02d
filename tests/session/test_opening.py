"""What `protect` leaves behind where it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import discreet as dp
from discreet.errors import PolicyError

ROWS = pd.DataFrame({"sex": ["f", "m"], "seen": pd.to_datetime(["2024-01-01", "2024-02-01"])})


@pytest.mark.parametrize(
    "declared",
    [
        {"bounds": {"gone": (0, 1)}},
        {"bounds": {"sex": (0, 1)}},
        {"bounds": {"seen": (pd.NaT, pd.Timestamp("2025-01-01"))}},
        {"keys": {"seen": ["f"]}},
    ],
)
def test_a_policy_that_is_refused_leaves_no_ledger(declared: dict[str, Any], tmp_path: Path) -> None:
    ROWS.to_parquet(tmp_path / "visits.parquet")
    for ledger in (None, tmp_path / "budget.db"):
        with pytest.raises(PolicyError, match=r"Nothing was charged\.$"):
            dp.protect(tmp_path / "visits.parquet", privacy_unit="row", budget=1, ledger=ledger, **declared)
    assert [file.name for file in tmp_path.iterdir()] == ["visits.parquet"]


def test_a_policy_that_fits_has_a_ledger(tmp_path: Path) -> None:
    ROWS.to_parquet(tmp_path / "visits.parquet")
    bounds = {"seen": (pd.Timestamp("2024-01-01"), pd.Timestamp("2025-01-01"))}
    dp.protect(tmp_path / "visits.parquet", privacy_unit="row", budget=1, bounds=bounds).close()
    assert (tmp_path / "visits.parquet.ledger.db").exists()
