"""A stream and the questions to a session share one budget."""

from __future__ import annotations

from pathlib import Path

import pytest

import discreet as dp
from discreet.errors import BudgetExceeded, InvalidParameter, PolicyError

POLICY = """\
budget = { epsilon = 1 }
[tables.visits]
privacy_unit = "patient"
max_rows = 2
[tables.visits.columns]
ward = { keys = ["North", "South"] }
"""


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.toml"
    path.write_text(POLICY)
    (tmp_path / "visits.csv").write_text("patient,ward\n1,North\n")
    return path


def test_one_ledger(policy: Path) -> None:
    for charged in ("epsilon 0.75", "None"):
        with dp.stream(policy, "visits", start="2026-01-01", periods=3, epsilon=0.75, by="ward") as stream:
            assert str(stream.charged) == charged
    with dp.protect(policy=policy, source=f"csv:{policy.with_name('visits.csv')}") as session:
        assert session.budget.left == dp.Budget(epsilon=0.25).epsilon
        with pytest.raises(BudgetExceeded):
            session.sql("SELECT COUNT(*) AS n FROM visits", epsilon=0.5)
    with pytest.raises(BudgetExceeded) as caught, dp.stream(policy, "visits", start="2026-01-01", periods=3,
                                                            epsilon=0.5, name="b"):  # fmt: skip
        pass
    assert "Nothing was charged." in str(caught.value)


def test_declarations_that_do_not_fit(policy: Path) -> None:
    with (
        pytest.raises(InvalidParameter, match="no time"),
        dp.stream(policy, "visits", start="soon", periods=3, epsilon=1),
    ):
        pass
    with pytest.raises(PolicyError), dp.stream(policy, "wards", start="2026-01-01", periods=3, epsilon=1):
        pass
