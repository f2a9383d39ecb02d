"""A text is cut at its semicolons, and at no others."""

from __future__ import annotations

import pytest

from discreet.dbapi.named_statements import statements


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("SELECT 1", {"1": "SELECT 1"}),
        ("SELECT 1;", {"1": "SELECT 1"}),
        ("SELECT ';' AS a; SELECT 2 -- ; last", {"1": "SELECT ';' AS a", "2": "SELECT 2"}),
        ('-- a\nSELECT 1;\n/* b */ SELECT "x;y" FROM t;;', {"a": "SELECT 1", "b": 'SELECT "x;y" FROM t'}),
        ("-- a\nSELECT 1; -- a\nSELECT 2", {"a": "SELECT 1", "2": "SELECT 2"}),
        ("-- 2\nSELECT 1; SELECT 2; SELECT 3", {"2": "SELECT 1", "3": "SELECT 2", "4": "SELECT 3"}),
        ("SELECT a, -- inside\n b; /* c */ SELECT 2", {"1": "SELECT a, -- inside\n b", "c": "SELECT 2"}),
        ("-- a\nSELECT -- inside\n 1; -- of a\nSELECT 2", {"a": "SELECT -- inside\n 1", "2": "SELECT 2"}),
        ("SELECT 1; -- of 1\n-- b, in\n-- two lines\nSELECT 2", {"1": "SELECT 1", "two lines": "SELECT 2"}),
        ("SELECT 'open", {"1": "SELECT 'open"}),
        ("", {"1": ""}),
    ],
)
def test_each_statement_by_name(text: str, named: dict[str, str]) -> None:
    assert statements(text) == named
