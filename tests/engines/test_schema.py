"""Columns by name."""

from __future__ import annotations

from discreet.engines.schema import ColumnSchema, Type, find


def test_find_ignores_case_and_prefers_the_exact_name() -> None:
    schema = {name: ColumnSchema(name, Type.TEXT) for name in ("Age", "age")}
    assert find(schema, "age") == schema["age"]
    assert find(schema, "AGE") == schema["Age"]
    assert find(schema, "none") is None
