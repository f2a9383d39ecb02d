"""Data sets in plain words, and the sessions of their analysts."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from discreet.ledger.terms import Terms
from discreet.server.dataset import open_dataset
from tests.server.conftest import make_hospital


def test_a_data_set_is_told_in_words_and_columns(tmp_path: Path) -> None:
    found = open_dataset(make_hospital(tmp_path / "hospital"))
    assert found.name == "hospital"
    said = dict(found.words())
    assert said["visits"].startswith("Protected is each patient_id, with all of its rows")
    assert "epsilon 50" in said["budget"]
    (table,) = found.schema()
    assert {one["column_name"]: one["values"] for one in table["columns"]}["county"] == ["A", "B", "C"]
    found.session.close()


def test_an_analyst_keeps_a_session_until_the_budget_changes(tmp_path: Path) -> None:
    found = open_dataset(make_hospital(tmp_path / "hospital"))
    first = found.analyst("ana", Terms(Fraction(1)))
    assert found.analyst("ana", Terms(Fraction(1))) is first
    first.sql("SELECT COUNT(*) AS n FROM visits", epsilon="0.5")
    assert found.analyst("ana", Terms(Fraction(2))).budget.left == Fraction(3, 2)
    assert found.analyst("ana", Terms(Fraction(1, 4))).budget.left == 0
    found.session.close()
