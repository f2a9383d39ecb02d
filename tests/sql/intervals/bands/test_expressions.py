"""The ends of nested expressions take time and text by their size, and not by a power of it."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

from discreet.sql.intervals.bands.expressions import ANYWHERE, LONGEST, Arithmetic, Ends


class Counted:
    """Leaves that count how often they are asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, node: exp.Expr) -> Ends | None:
        self.asked += 1
        return Ends("low", "high", True, only="n") if isinstance(node, exp.Column) else None


def _parsed(text: str) -> exp.Expr:
    return sqlglot.parse_one(text, read="duckdb")


def test_each_part_is_worked_out_once() -> None:
    leaf = Counted()
    found = Arithmetic(leaf).ends(_parsed(" + ".join(["n"] * 18)))
    assert found.low.count("low") == found.high.count("high") == 18
    assert (found.noisy, found.bent, found.only) == (True, False, "n")
    assert leaf.asked <= 4 * 18


@pytest.mark.parametrize("text", [" * ".join(["n"] * 20), "abs(" * 12 + "n - 1" + ")" * 12])
def test_ends_that_would_be_endless_are_anywhere(text: str) -> None:
    found = Arithmetic(Counted()).ends(_parsed(text))
    assert len(found.low) + len(found.high) <= 2 * LONGEST
    assert all(end in found.low + found.high for end in ANYWHERE)
    assert found.noisy
