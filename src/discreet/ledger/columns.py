"""The columns of an entry and of a posting, in every database."""

from __future__ import annotations

LOSSES = tuple(f"{what}_{part}" for what in ("loss", "total", "limit") for part in ("epsilon", "delta"))
"""The columns of a posting that hold rationals. They are text such as 1/10: no database rounds a text."""

POSTING = ("account", "number", "position", *LOSSES, "rule", "squares", "charges")
"""The columns of a posting, in order."""

ENTRY = (
    "number",
    "time",
    "kind",
    "question",
    "question_key",
    "settles",
    "digest",
    "guarantee",
    "event",
    "description",
    "totals",
    "previous",
    "hash",
)
"""The columns of an entry, in order; the answer, which may be large, is read alone."""
