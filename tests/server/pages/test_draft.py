"""Decisions of a form become a policy that reads back as the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.errors import DiscreetError
from discreet.policy import Policy
from discreet.server.pages.draft import DraftColumn, PolicyDraft, policy_of, proposed

COLUMNS = (
    DraftColumn("who", "INTEGER"),
    DraftColumn("age", "INTEGER", "bounds", "0, 120", "an age"),
    DraftColumn("cost", "FLOAT"),
    DraftColumn("day", "DATE"),
    DraftColumn("at", "TIMESTAMP"),
    DraftColumn("county", "TEXT"),
    DraftColumn("flag", "INTEGER", "keys", "0, 1"),
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


def test_nothing_decided_is_no_policy() -> None:
    draft = PolicyDraft(Path("v.toml"), "parquet:v.parquet", "v", COLUMNS, ("who",))
    decided = {"unit": "who", "max_rows": "1", "epsilon": "1"}
    for missing, said in (
        ("unit", "Nobody is protected yet"),
        ("max_rows", "How many rows of one person count is not decided"),
        ("epsilon", "How much may ever be spent is not decided"),
    ):
        with pytest.raises(DiscreetError, match=said):
            policy_of(draft, {**proposed(draft), **decided, missing: ""})
    with pytest.raises(DiscreetError):
        policy_of(draft, proposed(draft))
    made = policy_of(draft, {**proposed(draft), **decided}).tables["v"]
    assert set(made.columns) == {"age", "flag"}
    rows = policy_of(draft, {**proposed(draft), **decided, "unit": "row", "max_rows": ""})
    assert rows.tables["v"].privacy_unit == "row"


def test_values_beside_a_column_that_is_left_out_are_not_dropped_without_a_word() -> None:
    draft = PolicyDraft(Path("v.toml"), "parquet:v.parquet", "v", COLUMNS)
    with pytest.raises(DiscreetError, match="Values of day are given"):
        policy_of(draft, {**FIELDS, "rule3": ""})
    left = policy_of(draft, {**FIELDS, "rule1": ""})  # the proposal itself, left out
    assert "age" not in left.tables["v"].columns


@pytest.mark.parametrize("written", ['"", north', ", north", 'north, ""'])
def test_an_empty_text_can_be_a_key(written: str) -> None:
    draft = PolicyDraft(Path("v.toml"), "parquet:v.parquet", "v", COLUMNS)
    keys = policy_of(draft, {**FIELDS, "values5": written}).tables["v"].columns["county"].keys
    assert isinstance(keys, tuple)
    assert set(keys) == {"", "north"}


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
