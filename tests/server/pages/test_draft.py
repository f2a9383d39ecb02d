"""Decisions of a form become a policy that reads back as the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.errors import DiscreetError
from discreet.policy import Policy
from discreet.server.pages.draft import Column, PolicyDraft, policy_of, proposed

COLUMNS = (
    Column("who", "INTEGER"),
    Column("age", "INTEGER", "bounds", "0, 120", "an age"),
    Column("cost", "FLOAT"),
    Column("day", "DATE"),
    Column("at", "TIMESTAMP"),
    Column("county", "TEXT"),
    Column("flag", "INTEGER", "keys", "0, 1"),
)
FIELDS = {
    "unit": "who", "max_rows": "2", "epsilon": "1/3",
    "rule1": "bounds", "values1": "0, 120", "rule2": "bounds", "values2": "0.5, 1e3",
    "rule3": "bounds", "values3": "2024-01-01, 2024-12-31",
    "rule4": "bounds", "values4": "2024-01-01T00:00:00, 2024-12-31T23:59:59",
    "rule5": "keys", "values5": "A, it's, 7", "rule6": "keys", "values6": "0, 1",
}  # fmt: skip


def test_every_kind_of_declaration_reads_back(tmp_path: Path) -> None:
    draft = PolicyDraft(tmp_path / "visits.toml", "parquet:visits.parquet", "visits", COLUMNS, ("who",))
    policy = policy_of(draft, FIELDS)
    draft.place.write_text(policy.to_toml())
    read = Policy.from_toml(draft.place)
    assert read.tables == policy.tables
    assert read.tables["visits"].columns["flag"].keys == (0, 1)
    assert read.tables["visits"].columns["county"].keys == ("A", "it's", "7")
    assert "who" not in read.tables["visits"].columns


def test_the_proposal_is_a_policy() -> None:
    draft = PolicyDraft(Path("v.toml"), "parquet:v.parquet", "v", COLUMNS, ("who",))
    assert set(policy_of(draft, proposed(draft)).tables["v"].columns) == {"age", "flag"}
    with pytest.raises(DiscreetError, match="Nobody is protected"):
        policy_of(draft, {**proposed(draft), "unit": ""})


@pytest.mark.parametrize(
    "wrong",
    [
        {"values1": "0"},
        {"values1": "0, x"},
        {"values1": "120, 0"},
        {"rule1": "x"},
        {"values5": " , "},
        {"max_rows": "many"},
        {"max_rows": "0"},
        {"epsilon": "x"},
        {"epsilon": "0"},
        {"epsilon": "-1"},
        {"unit": "missing"},
    ],
)
def test_other_decisions_are_refused(wrong: dict[str, str]) -> None:
    draft = PolicyDraft(Path("v.toml"), "parquet:v.parquet", "v", COLUMNS)
    with pytest.raises(DiscreetError):
        policy_of(draft, {**FIELDS, **wrong})
