"""The sources that a policy names."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import discreet as dp


def test_a_policy_with_one_public_table_and_no_private_one_is_opened() -> None:
    declared: dict[str, Any] = {"budget": {"epsilon": 1}, "tables": {"counties": {"public": True}}}
    with dp.protect(pa.table({"county": ["a", "b"]}), policy=dp.Policy(**declared)) as session:
        assert session.sql("SELECT county FROM counties ORDER BY 1").to_pandas()["county"].tolist() == [
            "a",
            "b",
        ]
