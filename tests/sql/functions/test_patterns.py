"""Patterns that all engines read alike are rewritten, and others are refused."""

from __future__ import annotations

import pytest

from discreet.sql.functions.patterns import portable, problem


@pytest.mark.parametrize(
    ("pattern", "read"),
    [("a.b", "a[^\n]b"), (r"\w+\s", "[0-9A-Za-z_]+[ \t\n\f\r]"), ("[]a]", "[\\]a]"), (r"[^\d.]", "[^0-9.]"),
     (r"\D", "[^0-9]"), ("(?:a|b){2,3}$", "(?:a|b){2,3}$")],
)  # fmt: skip
def test_patterns_are_rewritten(pattern: str, read: str) -> None:
    assert portable(pattern) == read
    assert problem(pattern) == ""


@pytest.mark.parametrize(
    "pattern",
    [
        r"\b",
        "(?i)a",
        "(?=a)",
        "(",
        "a**b**",
        "[a",
        "[[:alpha:]]",
        "a{2000}",
        "x" * 201,
        "\\",
        r"\1",
        "[a&&b]",
    ],
)
def test_patterns_that_engines_read_differently_are_refused(pattern: str) -> None:
    assert problem(pattern)
